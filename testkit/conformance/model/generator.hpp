// The generator of programs. It looks at what the model has said so far, so that most of its steps do
// something, and deep states are reached; some are wrong on purpose.
#pragma once

#include "testkit/conformance/model/operations.hpp"
#include "testkit/conformance/model/world.hpp"

#include <holdfast/random.hpp>

#include <cstdint>

namespace holdfast::testing::model {

/// Without `sessions`: nothing that has to do with them.
Step next_step(const World& world, Random& random, std::uint32_t number, bool sessions);

}  // namespace holdfast::testing::model
