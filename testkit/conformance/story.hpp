// What every part of the suite includes.
#pragma once

#include "testkit/conformance/registry.hpp"
#include "testkit/conformance/text.hpp"
#include "testkit/conformance/turn.hpp"
#include "testkit/conformance/worker.hpp"
#include "testkit/conformance/world.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::testing::conformance {

using namespace std::chrono_literals;
using namespace holdfast::store;

}  // namespace holdfast::testing::conformance
