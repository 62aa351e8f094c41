// A long search for cases in which something does not hold, also for those that kill the process.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::exchange {

/// Runs `count` random cases from `seed` on, in child processes. The first that fails is made as simple as it
/// can be, and printed. True when none failed.
bool search(std::uint64_t seed, std::uint64_t count);

}  // namespace holdfast::exchange
