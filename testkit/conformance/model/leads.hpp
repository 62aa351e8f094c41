// Leads: states in which few steps go on to something that rarely happens by chance. Whoever makes a program
// follows them now and then.
#pragma once

#include "testkit/conformance/model/chooser.hpp"

#include <cstddef>
#include <vector>

namespace holdfast::testing::model {

/// A step that the state suggests, and how likely it is to be taken.
struct Lead {
  std::size_t weight = 0;
  Operation operation{};
};

std::vector<Lead> leads(Chooser& choose, On on);

}  // namespace holdfast::testing::model
