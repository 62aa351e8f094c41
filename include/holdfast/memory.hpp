// The memory store: keeps everything in this process, for tests and for the simulator.
#pragma once

#include <memory>
#include <string>

namespace holdfast {

class Clock;
class FaultPlan;
class MemoryDatabase;
class Store;

struct MemoryOptions {
  std::string ns = "default";
  /// The database that several stores share, as several processes share a file; empty: a new one.
  std::shared_ptr<MemoryDatabase> database{};
  const Clock* clock = nullptr;  ///< real_clock() when empty
  FaultPlan* faults = nullptr;
};

/// A new, empty database for MemoryOptions::database.
std::shared_ptr<MemoryDatabase> memory_database();
/// Opens a store in memory. Nothing survives the process; otherwise it keeps the store contract.
std::shared_ptr<Store> memory(MemoryOptions options = {});

}  // namespace holdfast
