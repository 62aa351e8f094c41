// What holds in every state of every store, whoever is the model: two stores may make the same mistake.
#pragma once

#include <holdfast/store.hpp>

#include <set>
#include <string>
#include <vector>

namespace holdfast::testing::model {

/// What contradicts itself in a state, in words.
std::vector<std::string> contradictions(const store::StoreState& state);

/// Activities that are gone from one state to the next while their instance still waits for them: it was not
/// told, and did not take them away itself. `committed`: instances whose turns were committed in between.
std::vector<std::string> silently_gone(const store::StoreState& before, const store::StoreState& after,
                                       const std::set<InstanceKey>& committed);

}  // namespace holdfast::testing::model
