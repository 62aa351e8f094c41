#include "engine/checked_test.hpp"

#include "engine/record_test.hpp"

#include <holdfast/codec.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::engine {

CheckedExecution::CheckedExecution(Identity identity, std::shared_ptr<const detail::OrchestrationCode> code,
                                   Probe probe)
    : identity_(std::move(identity)),
      code_(std::move(code)),
      probe_(std::move(probe)),
      books_(identity_),
      warm_(fresh(false)) {}

void CheckedExecution::inherit(const std::list<Message>& unread) {
  books_.note_messages({unread.begin(), unread.end()});
}

Outcome CheckedExecution::run(CalendarTime time, const std::vector<Message>& messages) {
  cold_ = replayed(false);
  const Outcome warm = run_in(warm_, time, messages);
  const Outcome cold = run_in(cold_, time, messages);
  books_.note_messages(messages);
  conclude(warm, cold);
  return warm;
}

Outcome CheckedExecution::terminate(CalendarTime time, const std::string& reason) {
  cold_ = replayed(false);
  const Outcome warm = warm_.execution->terminate(time, reason);
  const Outcome cold = cold_.execution->terminate(time, reason);
  books_.note_messages({});
  conclude(warm, cold);
  return warm;
}

void CheckedExecution::conclude(const Outcome& warm, const Outcome& cold) {
  if (warm != cold) {
    problems.push_back("the frames in memory and the replay differ:\n  " + to_text(record_of(warm)) + "\n  " +
                       to_text(record_of(cold)));
  }
  if (!warm.segment.empty()) segments.push_back(warm.segment);
  for (std::string& problem : books_.enter(warm, warm_.execution->open_operations())) {
    problems.push_back(std::move(problem));
  }
  replay_ = replayed(true);
  compare(cold_, "what was replayed and run");
  compare(replay_, "what was replayed");
}

void CheckedExecution::go_on_with(Frames frames) {
  if (frames == Frames::replayed_and_run) warm_ = std::move(cold_);
  if (frames == Frames::replayed) warm_ = std::move(replay_);
  cold_ = Lane{};
  replay_ = Lane{};
}

CheckedExecution::Lane CheckedExecution::fresh(bool strict) const {
  Identity identity = identity_;
  identity.strict = strict;
  return {.execution = std::make_unique<Execution>(std::move(identity), code_)};
}

CheckedExecution::Lane CheckedExecution::replayed(bool strict) {
  Lane lane = fresh(strict);
  if (const auto problem = replay_all(*lane.execution, segments)) {
    problems.push_back("history does not replay: " + describe(*problem));
  }
  find_trace(lane);
  return lane;
}

std::optional<Problem> CheckedExecution::replay_all(Execution& execution,
                                                    const std::vector<std::string>& segments) {
  for (const std::string& segment : segments) {
    if (const auto outcome = execution.replay(segment); !outcome) return outcome.error();
  }
  return std::nullopt;
}

// What was not received so far is handed out again to an execution that does not have it.
Outcome CheckedExecution::run_in(Lane& lane, CalendarTime time, const std::vector<Message>& messages) {
  std::vector<Message> all;
  for (const Message& message : books_.unread()) {
    if (!lane.holds.contains(message.id)) all.push_back(message);
  }
  all.insert(all.end(), messages.begin(), messages.end());
  for (const Message& message : all) lane.holds.insert(message.id);
  Outcome outcome = lane.execution->run({time, std::move(all)});
  find_trace(lane);
  return outcome;
}

void CheckedExecution::find_trace(Lane& lane) const {
  const bool began = lane.execution->next_event() > EventId{1};
  if (probe_ && began && !lane.trace) lane.trace = probe_();
}

void CheckedExecution::compare(const Lane& lane, const std::string& name) {
  const auto differs = [&](const std::string& what) { problems.push_back(name + " has " + what); };
  const Execution& other = *lane.execution;
  if (other.next_event() != warm().next_event()) differs("another next event");
  if (other.ended() != warm().ended()) differs("another end");
  const auto same = [](const OpenOperation& a, const OpenOperation& b) {
    return a.id == b.id && a.kind == b.kind && a.label == b.label;
  };
  if (!std::ranges::equal(other.open_operations(), warm().open_operations(), same)) {
    differs("other open operations");
  }
  // The first of them asked twice: the answer to one question does not depend on another.
  for (const char* const query :
       {"holdfast.waits", "holdfast.stack", "holdfast.status", "holdfast.queries", "holdfast.waits"}) {
    const Asked one = warm().ask(query, encode_args());
    const Asked two = lane.execution->ask(query, encode_args());
    if (one.answer != two.answer) differs(std::string("another answer to ") + query);
  }
  if (!warm_.trace || !lane.trace) return;
  if (lane.trace->text != warm_.trace->text) {
    differs("another trace:\n" + lane.trace->text + "instead of:\n" + warm_.trace->text);
  }
}

}  // namespace holdfast::engine
