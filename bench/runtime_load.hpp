// A runtime under load through the public API: real orchestrations, real activities, real clients.
#pragma once

#include "bench/workload.hpp"

#include <holdfast/metrics.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace holdfast {
class Runtime;
}

namespace holdfast::bench {

struct RuntimeLoadOptions {
  std::shared_ptr<Metrics> metrics{};  ///< where the runtime counts
  /// Each instance has its activities in one of so many sessions, all of which the runtime holds before the
  /// load begins.
  std::size_t sessions = 0;
  bool activities = true;    ///< false: another process runs them
  std::uint64_t number = 0;  ///< of this load: several may run on one database at once
  /// No thread waits for an instance: its end calls back, and the next one is started there.
  bool callbacks = false;
  /// Above 0: so many ids take turns. One that comes again begins a new life, which removes the former one,
  /// so that a load can run for hours.
  std::size_t ids = 0;
  /// Registers what else the runtime is to run.
  std::function<void(Runtime&)> also{};
  /// Gets the latency in microseconds of each instance that ended while the clock ran, instead of the round:
  /// for loads that are so long that nobody wants to keep all of them. Called by several threads.
  std::function<void(double)> ended{};
};

/// As many client threads as instances are in flight, or none: each starts one, waits for its result, and
/// starts the next. Activities have as many slots as can be wanted at once.
std::unique_ptr<Contender> runtime_load(std::shared_ptr<Store> store, Shape shape, std::size_t in_flight,
                                        RuntimeLoadOptions options = {});

}  // namespace holdfast::bench
