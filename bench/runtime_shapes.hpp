// Runtimes in particular circumstances: with nothing to do, with few slots, with more work than slots.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <memory>

namespace holdfast::bench {

/// Of one core, in percent: what the process uses for `length` while some instances sleep and nothing is due.
double idle_cpu_percent(std::shared_ptr<Store> store, Duration length);

/// Orchestrations per second with 20 in flight, each with five activities at once that take 10 ms, in two
/// turn threads and two activity slots: the stress test of duroxide.
double few_slots_per_s(std::shared_ptr<Store> store, Duration length);
/// What two slots allow.
inline constexpr double kFewSlotsCeiling = 2 / (5 * 0.010);

struct Ages {
  double p50_ms = 0;
  double p99_ms = 0;
};
/// How long the activity that waited longest in the queue has waited, looked at again and again while more
/// instances want activities than there are slots, and most slots could be handed to the turns that want
/// them.
Ages oldest_ready_row(std::shared_ptr<Store> store, Duration length);

}  // namespace holdfast::bench
