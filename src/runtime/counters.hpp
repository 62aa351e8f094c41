// Counters: what a worker counts.
#pragma once

#include <holdfast/metrics.hpp>
#include <holdfast/store/sessions.hpp>

namespace holdfast::runtime {

/// One registry may serve several workers; they add up. Any thread.
struct Counters {
  explicit Counters(Metrics& metrics);
  Counter& turns;
  Counter& turns_lost;
  Counter& replays;
  Counter& activities_started;
  Counter& activities_handed_off;
  Counter& activities_completed;
  Counter& activities_failed;
  Counter& activities_retried;
  Counter& answers_refused;
  Counter& store_errors;
  Counter& store_busy;
  Counter& ignored_messages;
  Counter& asked_to_stop;
  Counter& stopped;
  Counter& abandoned;
  Gauge& abandoned_now;
  Gauge& refusing;
  Counter& poisoned;
  Counter& near_limits;
  Counter& slow_turns;
  Counter& queries;
  Counter& queries_failed;
  Counter& queries_refused;
  Counter& queries_slow;
  Gauge& superseded;
  Counter& sessions_claimed;
  Counter& sessions_moved;
  Counter& sessions_reclaimed;
  Counter& sessions_lapsed;
  Counter& session_saves_failed;
  Counter& sessions_swept_expired;  // these three are what sweeps of this worker found
  Counter& sessions_swept_lost;
  Counter& sessions_swept_removed;
  Gauge& sessions_held;
  Gauge& session_limit;
  Gauge& sessions_active;  // these three are those that are held, by their state
  Gauge& sessions_leaving;
  Gauge& sessions_lapsed_now;
  Histogram& turn_seconds;
  Histogram& cancel_seconds;
};

/// Sessions that have left a worker for this reason. One for each reason, of which there are few; never one
/// for each session.
Counter& sessions_left(Metrics& metrics, store::SessionReason reason);

}  // namespace holdfast::runtime
