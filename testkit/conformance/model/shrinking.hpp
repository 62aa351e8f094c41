// Shrinking: a program that shows a difference becomes a short one that still shows one.
#pragma once

#include "testkit/conformance/model/operations.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace holdfast::testing::model {

/// How many steps it takes until a program shows a difference; nothing when it shows none.
using Fails = std::function<std::optional<std::size_t>(const Program& program)>;

/// The same with one member nearer to its default, or one item of a list less.
std::vector<Operation> simpler(const Operation& operation);

/// Takes steps away, in large pieces first, and makes those that are left simpler, until nothing more can go
/// or `fails` was asked `runs` times.
Program shrink(Program program, const Fails& fails, std::size_t runs);

}  // namespace holdfast::testing::model
