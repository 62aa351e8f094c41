#include "runtime/worker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::runtime {
namespace {

using namespace std::chrono_literals;

std::string complaint(const RuntimeOptions& options) {
  try {
    check_options(options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  } catch (const Error& e) {
    return e.what();
  }
  return "fine";
}

TEST(RuntimeOptions, DefaultsAreFine) { EXPECT_EQ(complaint({}), "fine"); }

TEST(RuntimeOptions, ValuesThatDontGoTogetherAreBothNamed) {
  EXPECT_EQ(complaint({.instance_lease = 80ms, .hold_instances = 100ms}),
            "holdfast: hold_instances (100 ms) must be below instance_lease (80 ms): a lock can't be kept "
            "for longer than "
            "its lease");
  EXPECT_EQ(complaint({.activity_lease = 30s, .session_idle_timeout = 10s}),
            "holdfast: session_idle_timeout (10000 ms) must be above the renewal interval of activities, a "
            "third of "
            "activity_lease (10000 ms): otherwise a running activity could lose its session");
}

TEST(RuntimeOptions, ZeroIsRefusedWhereItMakesNoSense) {
  EXPECT_EQ(complaint({.activity_lease = 0s}), "holdfast: activity_lease is 0 ms, and must be above zero");
  EXPECT_EQ(complaint({.turn_threads = 0}), "holdfast: turn_threads is 0, and must be at least 1");
}

TEST(RuntimeOptions, QueuesAndCapabilitiesAreNames) {
  EXPECT_NE(complaint({.queues = {"a\tb"}}), "fine");
  EXPECT_NE(complaint({.capabilities = {""}}), "fine");
}

}  // namespace
}  // namespace holdfast::runtime
