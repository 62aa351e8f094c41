// Random cases, and simpler ones made from a case that fails.
#pragma once

#include "engine/world_test.hpp"

#include <cstdint>
#include <vector>

namespace holdfast::engine {

/// What a case is mostly about.
enum class Theme : std::uint8_t { anything, cancellation, messages, tasks, patches };

/// The case that follows from a seed, the same on every compiler. Programs and scripts grow with `size`, from
/// 0 to 100.
Case generate(std::uint64_t seed, int size, Theme theme);

/// Cases that are simpler by one thing: a turn, a step or a node less, a node replaced by a part of it, a
/// number made zero. The greatest simplifications come first.
std::vector<Case> simpler(const Case& what);

}  // namespace holdfast::engine
