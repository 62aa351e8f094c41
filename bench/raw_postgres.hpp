// Ceilings for a store on PostgreSQL: the fewest rows with which an orchestration survives a crash, in three
// ways of getting its activities to a worker.
#pragma once

#include "bench/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

enum class Way : std::uint8_t {
  hand_off,   ///< inserted already locked by who scheduled them; one transaction for a turn of all instances
  shared,     ///< queued; fetched and answered in batches of all instances, a transaction each
  one_by_one  ///< queued; each schedule, fetch and answer of each activity is a transaction
};

/// One thread, one connection, prepared statements, arrays, pipelines; rows as in raw_sql.hpp. `schema` is
/// made anew.
std::unique_ptr<Contender> raw_postgres(const std::string& uri, const std::string& schema, Way way,
                                        Shape shape, std::size_t in_flight);

}  // namespace holdfast::bench
