// A runtime under load through the public API: real orchestrations, real activities, blocking clients.
#pragma once

#include "bench/workload.hpp"

#include <holdfast/metrics.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <memory>

namespace holdfast::bench {

/// As many client threads as instances are in flight: each starts one, waits for its result, and starts the
/// next. Activities have as many slots as can be wanted at once. `metrics`, when given, is where the runtime
/// counts. With `sessions`, each instance has its activities in one of so many, all of which the runtime
/// holds before the load begins.
std::unique_ptr<Contender> runtime_load(std::shared_ptr<Store> store, Shape shape, std::size_t in_flight,
                                        std::shared_ptr<Metrics> metrics = {}, std::size_t sessions = 0);

}  // namespace holdfast::bench
