// A store under load, driven straight at its contract: what a runtime would ask of it, without an engine, and
// with activities that take no time.
#pragma once

#include "bench/workload.hpp"

#include <holdfast/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast::bench {

struct LoadOptions {
  Shape shape = Shape::p5;
  std::size_t in_flight = 64;
  /// Activities are handed to the process that schedules them, which keeps its instances locked between
  /// turns. Otherwise they go through the queue, and their outcomes come back as messages.
  bool hand_off = true;
  unsigned turn_threads = 2;
  std::uint64_t first_id = 0;  ///< where the numbers in the ids of its instances begin
};

/// Threads: one client that starts an instance for each that ended; some that fetch and commit turns; without
/// hand-off one that fetches and finishes activities. Each takes as many as there are at once.
std::unique_ptr<Contender> store_load(std::shared_ptr<Store> store, const LoadOptions& options);

}  // namespace holdfast::bench
