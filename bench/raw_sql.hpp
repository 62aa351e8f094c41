// The ceiling for a store on SQLite: the fewest rows with which an orchestration survives a crash and its
// activities are handed to the process that scheduled them.
#pragma once

#include "bench/lockstep.hpp"
#include "bench/workload.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>

namespace holdfast::bench {

/// One thread, one connection, prepared statements, one transaction for whatever all instances have to
/// commit. Rows: the instance, by its id; a segment for each turn; each activity from its schedule, inserted
/// already locked, to its completion. What is ready is known in memory alone. Nothing else that a store has
/// to do: no messages, no locks of instances, no requests, no clocks, no other processes.
std::unique_ptr<Contender> raw_sql(const std::filesystem::path& path, Shape shape, std::size_t in_flight,
                                   Start start);

}  // namespace holdfast::bench
