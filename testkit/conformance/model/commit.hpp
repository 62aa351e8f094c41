// The turns of a commit step, with all that is symbolic replaced by what the model said.
#pragma once

#include "testkit/conformance/model/operations.hpp"
#include "testkit/conformance/model/world.hpp"

#include <cstdint>
#include <vector>

namespace holdfast::testing::model {

/// At most one turn for each instance: a second one is left out.
std::vector<store::TurnCommit> commits_of(const Space& space, CalendarTime now, std::uint32_t step,
                                          const std::vector<TurnSpec>& turns);

/// Activities and timers of a commit that happened can be named from now on.
void remember_made(Space& space, std::uint32_t step, const store::TurnCommit& commit);

}  // namespace holdfast::testing::model
