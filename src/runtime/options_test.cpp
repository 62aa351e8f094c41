#include "codec/operation.hpp"
#include "runtime/settings.hpp"

#include <holdfast/detail/describe.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::runtime::options_test {
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

// As the reference says.
TEST(RuntimeOptions, SessionsHaveTheseDefaults) {
  const RuntimeOptions options;
  EXPECT_EQ(options.session_limit, 10U);
  EXPECT_EQ(options.session_lease, 30s);
  EXPECT_EQ(options.session_idle_timeout, 5min);
  EXPECT_EQ(options.session_state_retention, 24h);
  EXPECT_EQ(options.session_record_retention, 24h);
  EXPECT_EQ(options.session_log_retention, 7 * 24h);
  EXPECT_EQ(options.session_take_back, 5s);
  EXPECT_EQ(options.worker_stale_after, 60s);
  EXPECT_EQ(options.node_id, "");
}

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

/// One of the durations.
struct Option {
  const char* name;
  Duration RuntimeOptions::* member;
};

TEST(RuntimeOptions, LeasesAreAboveZeroAndEnd) {
  constexpr std::array kLeases{Option{"activity_lease", &RuntimeOptions::activity_lease},
                               Option{"instance_lease", &RuntimeOptions::instance_lease},
                               Option{"session_lease", &RuntimeOptions::session_lease},
                               Option{"worker_stale_after", &RuntimeOptions::worker_stale_after}};
  for (const auto& [name, member] : kLeases) {
    for (const auto& [value, text] :
         {std::pair<Duration, std::string>{0s, "0 ms"}, {-1s, "-1000 ms"}, {never, "never"}}) {
      RuntimeOptions options;
      options.*member = value;
      EXPECT_EQ(complaint(options), "holdfast: " + std::string(name) + " is " + text +
                                        ", and must be above zero and not `never`: when a worker dies, "
                                        "others take over its work at the end of its leases");
    }
  }
}

TEST(RuntimeOptions, TheLeaseOfSessionsHasALeastLength) {
  EXPECT_EQ(complaint({.session_lease = 100ms}), "fine");
  EXPECT_EQ(
      complaint({.session_lease = 1ms}),
      "holdfast: session_lease is 1 ms, and must be 100 ms or more: it is renewed every third of it, and "
      "a worker that is late for that loses the session");
}

TEST(RuntimeOptions, OtherDurationsAreZeroOrMore) {
  constexpr std::array kDurations{
      Option{"hold_instances", &RuntimeOptions::hold_instances},
      Option{"cancel_grace", &RuntimeOptions::cancel_grace},
      Option{"cache_idle", &RuntimeOptions::cache_idle},
      Option{"session_state_retention", &RuntimeOptions::session_state_retention},
      Option{"session_record_retention", &RuntimeOptions::session_record_retention},
      Option{"session_log_retention", &RuntimeOptions::session_log_retention},
      Option{"session_take_back", &RuntimeOptions::session_take_back},
      Option{"request_retention", &RuntimeOptions::request_retention}};
  for (const auto& [name, member] : kDurations) {
    RuntimeOptions options;
    options.*member = -1s;
    EXPECT_EQ(complaint(options),
              "holdfast: " + std::string(name) + " is -1000 ms, and must be zero or more");
    options.*member = 0s;
    EXPECT_EQ(complaint(options), "fine") << name;
    options.*member = never;
    EXPECT_EQ(complaint(options) == "fine", member != &RuntimeOptions::hold_instances) << name;
  }
}

TEST(RuntimeOptions, ZeroIsRefusedWhereItMakesNoSense) {
  EXPECT_EQ(complaint({.turn_threads = 0}), "holdfast: turn_threads is 0, and must be at least 1");
  EXPECT_EQ(complaint({.turn_time_limit = 0s}), "holdfast: turn_time_limit is 0 ms, and must be above zero");
  EXPECT_EQ(complaint({.turn_time_limit = -1s}),
            "holdfast: turn_time_limit is -1000 ms, and must be above zero");
  EXPECT_EQ(complaint({.turn_time_limit = never}), "fine");
}

TEST(RuntimeOptions, QueuesAndCapabilitiesAreNames) {
  EXPECT_NE(complaint({.queues = {"a\tb"}}), "fine");
  EXPECT_NE(complaint({.capabilities = {""}}), "fine");
}

TEST(SessionOptions, OfAWorkerSessionHaveDefaultsOfTheirOwn) {
  const detail::SessionSettings settings = *detail::worker_session_settings("gpu", {});
  EXPECT_EQ(settings.lease, 120s);
  EXPECT_EQ(settings.idle_timeout, never);
  EXPECT_EQ(settings.ttl, 1800s);
  EXPECT_EQ(settings.max_concurrent_activities, 1);
  EXPECT_TRUE(settings.requirements.empty());
}

TEST(SessionOptions, ThatNeverEndAreRefused) {
  const auto refused = [](const SessionOptions& options) {
    try {
      detail::describe_session_opening(options);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused({}));
  EXPECT_TRUE(refused({.lease = never}));
  EXPECT_TRUE(refused({.lease = 0s}));
  EXPECT_TRUE(refused({.ttl = 0s}));
  EXPECT_TRUE(refused({.max_concurrent_activities = -1}));
  EXPECT_TRUE(refused({.outlives_opener = true}));
  EXPECT_TRUE(refused({.ttl = never, .outlives_opener = true}));
  EXPECT_FALSE(refused({.ttl = 1h, .outlives_opener = true}));
  EXPECT_FALSE(refused({.idle_timeout = 1h, .outlives_opener = true}));
}

}  // namespace
}  // namespace holdfast::runtime::options_test
