#include "base/check_options.hpp"

#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

std::string complaint(const std::function<void()>& check) {
  try {
    check();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "fine";
}

TEST(CheckOptions, OfRetryPolicies) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    RetryPolicy policy;
    std::string expected;
  };
  const std::vector<Case> cases{
      {{}, "fine"},
      {{.max_attempts = 1}, "fine"},
      {{.max_attempts = 0}, "holdfast: x: retry.max_attempts is 0, and must be 1, for no retry, or more"},
      {{.max_attempts = -1}, "holdfast: x: retry.max_attempts is -1, and must be 1, for no retry, or more"},
      {{.backoff = Backoff::fixed}, "fine"},
      {{.backoff = static_cast<Backoff>(9)},
       "holdfast: x: retry.backoff is 9, which is none of the values of its type"},
      {{.first_delay = 0s}, "fine"},
      {{.first_delay = never}, "fine"},
      {{.first_delay = -1us}, "holdfast: x: retry.first_delay is -1 us, and must be zero or more"},
      {{.factor = 1.0}, "fine"},
      {{.factor = nan}, "holdfast: x: retry.factor is not a number, and must be a number from 1 on"},
      {{.factor = infinity}, "holdfast: x: retry.factor is inf, and must be a number from 1 on"},
      {{.factor = 0.5}, "holdfast: x: retry.factor is 0.5, and must be a number from 1 on"},
      {{.factor = -2.0}, "holdfast: x: retry.factor is -2, and must be a number from 1 on"},
      {{.max_delay = 0s}, "fine"},
      {{.max_delay = never}, "fine"},
      {{.max_delay = -3ms}, "holdfast: x: retry.max_delay is -3 ms, and must be zero or more"},
      {{.jitter = 0.0}, "fine"},
      {{.jitter = 1.0}, "fine"},
      {{.jitter = 7.0}, "holdfast: x: retry.jitter is 7, and must be a number from 0 to 1"},
      {{.jitter = -0.1}, "holdfast: x: retry.jitter is -0.1, and must be a number from 0 to 1"},
      {{.jitter = nan}, "holdfast: x: retry.jitter is not a number, and must be a number from 0 to 1"},
      {{.total_deadline = never}, "fine"},
      {{.total_deadline = 0s}, "holdfast: x: retry.total_deadline is 0 ms, and must be above zero"},
      {{.total_deadline = -1s}, "holdfast: x: retry.total_deadline is -1000 ms, and must be above zero"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(complaint([&] { check_options("x", one.policy); }), one.expected);
    EXPECT_EQ(complaint([&] { check_options("x", ChildOptions{.retry = one.policy}); }), one.expected);
    EXPECT_EQ(complaint([&] { check_options("x", ActivityOptions{.retry = one.policy}); }), one.expected);
  }
}

TEST(CheckOptions, OfActivities) {
  struct Case {
    ActivityOptions options;
    std::string expected;
  };
  const std::vector<Case> cases{
      {{.session = "talk-1"}, "fine"},
      {{.session = ""},
       "holdfast: x: session is empty, and must be the id of a session; leave it out for an activity that "
       "has "
       "none"},
      {{.timeout = 1us}, "fine"},
      {{.timeout = never}, "fine"},
      {{.timeout = 0s}, "holdfast: x: timeout is 0 ms, and must be above zero"},
      {{.timeout = -5s}, "holdfast: x: timeout is -5000 ms, and must be above zero"},
      {{.schedule_to_start = 1us}, "fine"},
      {{.schedule_to_start = -1us}, "holdfast: x: schedule_to_start is -1 us, and must be above zero"},
      {{.priority = -1'000'000}, "fine"},
      {{.priority = 1'000'001}, "holdfast: x: priority is 1000001, and must be between -1000000 and 1000000"},
      {{.priority = std::numeric_limits<int>::min()},
       "holdfast: x: priority is -2147483648, and must be between -1000000 and 1000000"},
  };
  for (const Case& one : cases) EXPECT_EQ(complaint([&] { check_options("x", one.options); }), one.expected);
}

TEST(CheckOptions, OfLeasesOfSessions) {
  const auto complaint_of = [](Duration lease) {
    return complaint([&] { check_options("x", SessionOptions{.lease = lease}); });
  };
  EXPECT_EQ(complaint_of(100ms), "fine");
  EXPECT_EQ(complaint_of(1ms),
            "holdfast: x: lease is 1 ms, and must be 100 ms or more: it is renewed every third of it, and a "
            "worker that is late for that loses the session");
  EXPECT_NE(complaint_of(0s), "fine");
  EXPECT_EQ(
      complaint_of(never),
      "holdfast: x: its lease can't be `never`: when a worker dies, others take over its work at the end of "
      "its leases");
}

TEST(CheckOptions, OfDelaysAndReasons) {
  EXPECT_EQ(complaint([] { check_delay("x", "delay", 0s); }), "fine");
  EXPECT_EQ(complaint([] { check_delay("x", "delay", -1s); }),
            "holdfast: x: delay is -1000 ms, and must be zero or more");
  EXPECT_EQ(checked_reason("x", "because"), "because");
  EXPECT_EQ(checked_reason("x", std::string(4096, 'r')).size(), 4096U);
  EXPECT_EQ(complaint([] { checked_reason("x", std::string(5U << 20U, 'r')); }),
            "holdfast: x: the reason has 5242880 bytes, and may have 4096; put what is longer into an event "
            "or a value");
}

}  // namespace
}  // namespace holdfast::detail
