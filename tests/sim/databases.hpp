// Databases that simulated processes share.
#pragma once

#include <holdfast/testing/simulator.hpp>

#include <functional>
#include <string_view>

namespace holdfast::sim {

/// "memory": the memory store. "sqlite": SQLite in memory, through one store. "file": a SQLite file that each
/// process opens for itself, so that each has its own idea of what the file holds.
bool is_database(std::string_view name);
/// For SimulationOptions::database.
std::function<testing::StoreOpener(const Clock&)> database(std::string_view name);

}  // namespace holdfast::sim
