// What the processes do that get killed. Each returns the exit status of its process, and ends in peace at a
// SIGTERM, which is blocked when it begins.
#pragma once

#include "place.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::torture {

/// How an engine ends that could not begin, because the store does not answer.
constexpr int kNoStore = 75;

/// Runs what is there to run. `node` may be empty.
int run_engine(const Place& place, const std::string& node);

/// Makes calls by plan and looks at what comes of them. After the SIGTERM it begins no more plans, and ends
/// when all have ended. On a server it deletes what has ended as it should. 2 when something was lost or
/// wrong; stderr says what.
int run_client(const Place& place, std::uint64_t seed, std::uint64_t client);

/// What Crew starts processes with. Nothing when the arguments name no role.
std::optional<int> run_role(const std::vector<std::string>& arguments);

}  // namespace holdfast::torture
