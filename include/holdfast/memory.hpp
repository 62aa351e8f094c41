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
  /// What several stores share, as if it were one file; a new one when empty.
  std::shared_ptr<MemoryDatabase> database{};
  const Clock* clock = nullptr;  ///< real_clock() when empty
  FaultPlan* faults = nullptr;
};

std::shared_ptr<MemoryDatabase> memory_database();
/// Nothing survives the process. Everything else is as in the contract.
std::shared_ptr<Store> memory(MemoryOptions options = {});

}  // namespace holdfast
