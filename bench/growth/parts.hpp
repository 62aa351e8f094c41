// The parts of the suite `growth`. Each measures how one cost grows, and leaves its figures and curves.
// docs/benchmarks.md says what each figure means.
#pragma once

#include "bench/growth/workbench.hpp"

namespace holdfast::bench {

/// A turn of an instance whose history is long.
void history_length(Workbench& bench);
/// A step, and a commit of the store, beside instances that sleep or have ended.
void population(Workbench& bench);
/// Latency and memory over a minute or an hour of the same load.
void steady_load(Workbench& bench);
/// A fast type of activity beside a slow one.
void slow_neighbour(Workbench& bench);
/// Clients that start more than the worker can do.
void overload(Workbench& bench);

}  // namespace holdfast::bench
