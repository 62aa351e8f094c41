#include "runtime/worker.hpp"

#include "base/check_options.hpp"

#include <holdfast/detail/names.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::runtime {
namespace {

using namespace std::chrono_literals;

std::string in_ms(Duration duration) {
  if (duration == never) return "never";
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

void require(bool fine, const std::string& message) {
  if (!fine) throw std::invalid_argument("holdfast: " + message);
}

void require_positive(const char* name, Duration value) {
  require(value > Duration::zero(), std::string(name) + " is " + in_ms(value) + ", and must be above zero");
}

void require_not_negative(const char* name, Duration value) {
  require(value >= Duration::zero(),
          std::string(name) + " is " + in_ms(value) + ", and must be zero or more");
}

// Others wait for its end when a worker dies.
void require_lease(const char* name, Duration value) {
  require(value > Duration::zero() && value != never,
          std::string(name) + " is " + in_ms(value) +
              ", and must be above zero and not `never`: when a worker dies, " +
              "others take over its work at the end of its leases");
}

std::size_t slots_of(const RuntimeOptions& options) {
  if (options.activity_slots != 0) return options.activity_slots;
  return std::max<std::size_t>(4, std::thread::hardware_concurrency());
}

store::Abilities abilities_of(const RuntimeOptions& options, const Registry& registry) {
  store::Abilities abilities{.handlers = registry.activity_names(),
                             .queues = {.any = false, .names = {}},
                             .capabilities = {options.capabilities.begin(), options.capabilities.end()},
                             .session_limit = options.session_limit,
                             .session_lease = options.session_lease,
                             .session_idle = options.session_idle_timeout};
  for (const std::string& queue : options.queues) {
    if (queue == "*") {
      abilities.queues.any = true;
    } else {
      abilities.queues.names.insert(queue);
    }
  }
  return abilities;
}

std::string node_of(const RuntimeOptions& options, Random& random) {
  if (!options.node_id.empty()) return detail::checked_name("a node", options.node_id);
  return to_string(random_token<NodeToken>(random));
}

}  // namespace

void check_options(const RuntimeOptions& options) {
  detail::check_options("RuntimeOptions", options.retry);
  require_lease("activity_lease", options.activity_lease);
  require_lease("instance_lease", options.instance_lease);
  require_lease("session_lease", options.session_lease);
  require(
      options.session_lease >= kLeastSessionLease,
      "session_lease is " + in_ms(options.session_lease) + ", and must be " + in_ms(kLeastSessionLease) +
          " or more: it is renewed every third of it, and a worker that is late for that loses the session");
  require_lease("worker_stale_after", options.worker_stale_after);
  require_positive("turn_time_limit", options.turn_time_limit);
  require_not_negative("hold_instances", options.hold_instances);
  require_not_negative("cancel_grace", options.cancel_grace);
  require_not_negative("cache_idle", options.cache_idle);
  require_not_negative("session_state_retention", options.session_state_retention);
  require_not_negative("session_record_retention", options.session_record_retention);
  require_not_negative("session_log_retention", options.session_log_retention);
  require_not_negative("session_take_back", options.session_take_back);
  require_not_negative("request_retention", options.request_retention);
  require(options.turn_threads >= 1, "turn_threads is 0, and must be at least 1");
  require(options.cached_instances >= 1, "cached_instances is 0, and must be at least 1");
  require(options.max_abandoned >= 1, "max_abandoned is 0, and must be at least 1");
  require(options.poison_after >= 1, "poison_after is 0, and must be at least 1");
  require(options.hold_instances < options.instance_lease,
          "hold_instances (" + in_ms(options.hold_instances) + ") must be below instance_lease (" +
              in_ms(options.instance_lease) + "): a lock can't be kept for longer than its lease");
  require(options.session_idle_timeout > options.activity_lease / 3,
          "session_idle_timeout (" + in_ms(options.session_idle_timeout) +
              ") must be above the renewal interval of activities, a third of activity_lease (" +
              in_ms(options.activity_lease / 3) + "): otherwise a running activity could lose its session");
  require(options.worker_stale_after > options.instance_lease,
          "worker_stale_after (" + in_ms(options.worker_stale_after) + ") must be above instance_lease (" +
              in_ms(options.instance_lease) + ")");
  for (const std::string& queue : options.queues) {
    if (!queue.empty()) static_cast<void>(detail::checked_name("a queue", queue));
  }
  for (const std::string& capability : options.capabilities) {
    static_cast<void>(detail::checked_name("a capability", capability));
  }
}

std::optional<std::string> problem_of(const store::SessionPolicy& policy, const RuntimeOptions& options) {
  if (!policy.idle_timeout || *policy.idle_timeout > options.activity_lease / 3) return std::nullopt;
  return "its idle timeout (" + in_ms(*policy.idle_timeout) +
         ") must be above the renewal interval of activities, a third of activity_lease (" +
         in_ms(options.activity_lease / 3) + "): otherwise a running activity could lose its session";
}

Counter& sessions_left(Metrics& metrics, store::SessionReason reason) {
  return metrics.counter("holdfast_sessions_left_total", "Sessions that have left a worker, by the reason.",
                         {{"reason", std::string(to_string(reason))}});
}

namespace {

Counter& sessions_swept(Metrics& metrics, const char* end) {
  return metrics.counter(
      "holdfast_sessions_swept_total",
      "Sessions of the store that sweeps ended or removed: expired, lost with their worker, or "
      "not used any more.",
      {{"end", end}});
}

Gauge& sessions_in_state(Metrics& metrics, const char* state) {
  return metrics.gauge("holdfast_sessions",
                       "Sessions that workers hold, by their state: active, about to leave, or with a lease "
                       "that is over.",
                       {{"state", state}});
}

}  // namespace

Counters::Counters(Metrics& metrics)
    : turns(metrics.counter("holdfast_turns_total", "Turns that were committed.")),
      turns_lost(metrics.counter("holdfast_turns_lost_total", "Turns whose commit was refused or in doubt.")),
      replays(metrics.counter("holdfast_replays_total", "Instances that were rebuilt from their history.")),
      activities_started(metrics.counter("holdfast_activities_started_total", "Attempts that were begun.")),
      activities_handed_off(metrics.counter("holdfast_activities_handed_off_total",
                                            "Attempts that began in the process that scheduled them.")),
      activities_completed(
          metrics.counter("holdfast_activities_completed_total", "Activities that succeeded.")),
      activities_failed(
          metrics.counter("holdfast_activities_failed_total", "Activities that failed for good.")),
      activities_retried(
          metrics.counter("holdfast_activities_retried_total", "Attempts that failed and are retried.")),
      answers_refused(metrics.counter("holdfast_answers_refused_total",
                                      "Results of activities that nobody wanted any more.")),
      store_errors(metrics.counter("holdfast_store_errors_total", "Calls that the store could not answer.")),
      store_busy(metrics.counter("holdfast_store_busy_total",
                                 "Calls that were put off because another transaction had locked a row.")),
      ignored_messages(
          metrics.counter("holdfast_messages_ignored_total", "Messages that came late or twice.")),
      asked_to_stop(metrics.counter("holdfast_activities_asked_to_stop_total",
                                    "Activities whose stop token fired, for whatever reason.")),
      stopped(metrics.counter("holdfast_activities_stopped_total",
                              "Activities that were asked to stop and ended within their grace.")),
      abandoned(metrics.counter("holdfast_activities_abandoned_total",
                                "Activities that went on after their grace.")),
      abandoned_now(
          metrics.gauge("holdfast_abandoned_activities", "Activities that go on after their grace.")),
      refusing(metrics.gauge("holdfast_refusing_workers",
                             "Workers that begin no activities, because they have abandoned too many.")),
      poisoned(metrics.counter("holdfast_poison_total",
                               "Activities and instances that were ended because they crash their workers.")),
      near_limits(metrics.counter("holdfast_near_limits_total", "Warnings that a limit is near.")),
      slow_turns(metrics.counter("holdfast_slow_turns_total", "Turns that took longer than their limit.")),
      superseded(metrics.gauge("holdfast_superseded_workers",
                               "Workers that do nothing any more, because another process has started under "
                               "their node id.")),
      sessions_claimed(metrics.counter("holdfast_sessions_claimed_total",
                                       "Sessions that nobody had held before, claimed by a worker.")),
      sessions_moved(
          metrics.counter("holdfast_sessions_moved_total", "Sessions that came to a worker from another.")),
      sessions_reclaimed(metrics.counter(
          "holdfast_sessions_reclaimed_total",
          "Sessions whose lease was over, claimed again by the worker that has them in memory.")),
      sessions_lapsed(
          metrics.counter("holdfast_sessions_lapsed_total", "Sessions whose lease could not be kept.")),
      session_saves_failed(metrics.counter(
          "holdfast_session_saves_failed_total",
          "States of sessions that the code of the program could not save: with an activity, or to leave.")),
      sessions_swept_expired(sessions_swept(metrics, "expired")),
      sessions_swept_lost(sessions_swept(metrics, "lost")),
      sessions_swept_removed(sessions_swept(metrics, "removed")),
      sessions_held(metrics.gauge("holdfast_sessions_held", "Sessions that workers hold.")),
      session_limit(metrics.gauge("holdfast_session_limit", "Sessions that workers may hold.")),
      sessions_active(sessions_in_state(metrics, "active")),
      sessions_leaving(sessions_in_state(metrics, "leaving")),
      sessions_lapsed_now(sessions_in_state(metrics, "lapsed")),
      turn_seconds(metrics.histogram("holdfast_turn_seconds", "Time to run and commit a batch of turns.",
                                     latency_buckets())),
      cancel_seconds(metrics.histogram("holdfast_cancel_seconds",
                                       "From the commit that cancels a running activity to its stop token.",
                                       latency_buckets())) {
  // Those that all workers may have are there from the beginning, so that a rate can be taken of them.
  using store::SessionReason;
  for (const SessionReason reason :
       {SessionReason::idle, SessionReason::drained, SessionReason::displaced, SessionReason::handed_over,
        SessionReason::operated, SessionReason::owner_lost, SessionReason::owner_restarted,
        SessionReason::drain_deadline, SessionReason::ttl, SessionReason::closed_by_code,
        SessionReason::opener_ended, SessionReason::aborted, SessionReason::lapsed}) {
    static_cast<void>(sessions_left(metrics, reason));
  }
}

namespace {

// As many as the code writes: they are its own.
void write_line(Logger& logger, const std::string& node, const engine::CodeLine& line) {
  if (!logger.enabled(line.level)) return;
  std::vector<LogField> fields{{"instance", line.instance},
                               {"orchestration", line.orchestration},
                               {"execution", line.execution.value}};
  fields.insert(fields.end(), line.fields.begin(), line.fields.end());
  cut_texts(fields);
  fields.push_back({"worker", node});
  logger.write({line.level, logger.clock().calendar_now(), line.message, fields});
}

}  // namespace

Worker::Worker(std::shared_ptr<Store> store_, RuntimeOptions options_, Registry registry_, Random& random_,
               Poke poke_)
    : store(std::make_shared<StoreGate>(std::move(store_))),
      options(std::move(options_)),
      node(node_of(options, random_)),
      slots(slots_of(options)),
      registry(std::move(registry_)),
      abilities(abilities_of(options, registry)),
      code{.orchestrations = registry.orchestrations(), .newest_build = options.build},
      metrics(options.metrics ? options.metrics : std::make_shared<Metrics>()),
      counters(*metrics),
      user_logger(options.logger ? options.logger : stderr_logger()),
      logger(std::make_shared<WorkerLog>(user_logger, node, store->clock())),
      code_log([this](const engine::CodeLine& line) { write_line(*user_logger, node, line); }),
      poke(std::move(poke_)),
      random(random_) {}

void Worker::note_damage(std::string_view what, const StoreError& error) const {
  if (error.kind != StoreError::Kind::damaged) return;
  counters.store_errors.add();
  log(*logger, LogLevel::error, "the store is damaged; what it concerns is given up, the rest goes on",
      {{"what", what}, {"error", error.message}});
}

void Worker::note_standing(const StoreError& error, WorkerKey asked_as) {
  if (asked_as.value != key) return;
  const bool news = (error.kind == StoreError::Kind::superseded && !superseded.exchange(true)) ||
                    (error.kind == StoreError::Kind::not_found && !forgotten.exchange(true));
  if (news) poke(Step::keep);
}

Duration BackOff::next(Duration first) noexcept {
  pause_ = std::clamp<Duration>(pause_ * 2, first, 1s);
  return pause_;
}

BootTime StoreTrouble::failed(std::string_view what, const StoreError& error) {
  const MutexLock lock(mutex_);
  const BootTime now = worker_.now();
  if (error.kind == StoreError::Kind::busy) {
    worker_.counters.store_busy.add();
    if (now >= say_locked_from_) {
      say_locked_from_ = after(now, 10s);
      log(*worker_.logger, LogLevel::warn,
          "another transaction has locked rows that this worker needs; trying again",
          {{"what", what}, {"error", error.message}});
    }
    return after(now, kLockedPause);
  }
  if (now >= due_) due_ = after(now, back_off_.next());
  // It did answer: that this worker has no standing there, or that something is gone. Whoever acts on it says
  // so.
  const bool answered =
      error.kind == StoreError::Kind::superseded || error.kind == StoreError::Kind::not_found;
  if (answered) return due_;
  worker_.counters.store_errors.add();
  if (worker_.store->is_shut()) return due_;  // whoever leaves says so, once
  if (!said_ || now - last_said_ >= 1s) {
    said_ = true;
    last_said_ = now;
    log(*worker_.logger, LogLevel::warn, "the store could not answer; trying again",
        {{"what", what}, {"kind", to_string(error.kind)}, {"error", error.message}});
  }
  return due_;
}

void StoreTrouble::worked() {
  const MutexLock lock(mutex_);
  if (!back_off_.began()) return;
  back_off_ = {};
  due_ = BootTime::min();
  if (std::exchange(said_, false)) log(*worker_.logger, LogLevel::info, "the store answers again");
}

}  // namespace holdfast::runtime
