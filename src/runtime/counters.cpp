#include "runtime/counters.hpp"

#include <string>

namespace holdfast::runtime {

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
      queries(metrics.counter("holdfast_queries_total", "Queries that were answered, failures included.")),
      queries_failed(
          metrics.counter("holdfast_queries_failed_total", "Queries that were answered with a failure.")),
      queries_refused(metrics.counter("holdfast_queries_refused_total",
                                      "Queries that were refused because too many waited.")),
      queries_slow(metrics.counter("holdfast_queries_slow_total",
                                   "Queries that were given up because their handler took too long.")),
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

}  // namespace holdfast::runtime
