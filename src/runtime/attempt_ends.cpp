#include "runtime/attempt_ends.hpp"

#include "base/failure_text.hpp"
#include "base/limit_failure.hpp"
#include "client/bodies.hpp"
#include "runtime/activity_lines.hpp"

#include <utility>

namespace holdfast::runtime {

void AttemptEnds::ended(const detail::ActivityCall& call, Result<Payload> result,
                        std::optional<store::SessionSave> save) {
  conclude(call, std::move(result), std::move(save), false);
}

void AttemptEnds::timed_out(const detail::ActivityCall& call) {
  conclude(call,
           Unexpected(Failure{.category = Category::timeout,
                              .type = "attempt_timeout",
                              .message = "the attempt took longer than its timeout"}),
           std::nullopt, call.stay() != nullptr);
}

void AttemptEnds::failed_unrun(const store::LockedActivity& locked, LockToken token, Failure failure) {
  failure.source = "activity " + locked.name;
  failure.event = locked.id.event;
  failure.attempt = static_cast<int>(locked.attempt);
  log_activity(*settings_.logger, LogLevel::error, "activity failed without being run", locked,
               {{"type", failure.type}, {"failure", failure.message}});
  outbox_.answer(
      {locked.id, token, store::Finished{bodies::to_bytes(bodies::Outcome{std::move(failure), {}})}});
}

void AttemptEnds::conclude(const detail::ActivityCall& call, Result<Payload> result,
                           std::optional<store::SessionSave> save, bool still_runs) {
  std::optional<std::string> abort = call.stay() != nullptr ? call.stay()->abort_reason() : std::nullopt;
  if (!result && !abort) {
    if (const auto pause = put_back_after(call, still_runs))
      return outbox_.answer({call.id(), call.token(), store::PutBack{*pause}, call.own_progress()});
  }
  if (result && call.too_large(*result)) {
    result = Unexpected(detail::payload_too_large("the result", result->bytes.size(), call.payload_limit()));
  }
  if (result) {
    settings_.counters.activities_completed.add();
    return finish(call, std::move(result), std::move(save), std::move(abort), still_runs);
  }
  complete(call, result.error());
  const std::optional<Duration> retry_in =
      chance_.retry_delay(call.scheduled().settings->retry, settings_.options.retry, result.error(),
                          call.locked().attempt, call.locked().total_left);
  if (!retry_in || abort) {
    say_failed(settings_, call.locked(), result.error(), std::nullopt);
    return finish(call, std::move(result), std::move(save), std::move(abort), still_runs);
  }
  say_failed(settings_, call.locked(), result.error(), retry_in);
  outbox_.answer({.id = call.id(),
                  .token = call.token(),
                  .result = store::Retry{*retry_in, bodies::to_bytes(result.error())},
                  .progress = call.own_progress(),
                  .still_runs = still_runs});
}

// An attempt that was not given its time, or not what it needs, goes back, and does not count.
std::optional<Duration> AttemptEnds::put_back_after(const detail::ActivityCall& call, bool still_runs) const {
  // Code that still runs may still ask for the state of its session.
  const bool unanswered = !still_runs && call.stay() != nullptr && call.stay()->unanswered();
  if (unanswered) return kMoment;
  const bool cut_short =
      call.reason() == CancelReason::worker_stopping || call.reason() == CancelReason::lease_lost;
  return cut_short ? std::optional(Duration::zero()) : std::nullopt;
}

void AttemptEnds::complete(const detail::ActivityCall& call, Failure& failure) const {
  detail::limit_details(failure, call.payload_limit());
  failure.source = "activity " + call.locked().name;
  failure.event = call.id().event;
  failure.attempt = static_cast<int>(call.locked().attempt);
}

void AttemptEnds::finish(const detail::ActivityCall& call, Result<Payload> result,
                         std::optional<store::SessionSave> save, std::optional<std::string> abort,
                         bool still_runs) {
  bodies::Outcome outcome = bodies::outcome_of(std::move(result));
  if (still_runs) {
    return outbox_.answer({.id = call.id(),
                           .token = call.token(),
                           .result = store::Finished{bodies::to_bytes(outcome)},
                           .abort_session = std::move(abort),
                           .still_runs = true});
  }
  LocalDone done{call.id(), call.token(), std::move(outcome), std::move(save), std::move(abort)};
  if (cache_.add_done(std::move(done))) waker_.poke(Step::turns);
}

}  // namespace holdfast::runtime
