// A runtime under load through the public API: real orchestrations, real activities, real clients.
#pragma once

#include "bench/workload.hpp"

#include <holdfast/metrics.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

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
};

/// As many client threads as instances are in flight, or none: each starts one, waits for its result, and
/// starts the next. Activities have as many slots as can be wanted at once.
std::unique_ptr<Contender> runtime_load(std::shared_ptr<Store> store, Shape shape, std::size_t in_flight,
                                        RuntimeLoadOptions options = {});

}  // namespace holdfast::bench
