// Invariants notice states that contradict themselves.
#include "testkit/conformance/model/invariants.hpp"

#include "testkit/conformance/model/answered_requests.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::testing::model {
namespace {

using namespace std::chrono_literals;

constexpr store::ActivityId kActivity{InstanceKey{1}, ExecutionNumber{1}, EventId{7}};

// An instance that waits for one activity, which runs in a session.
store::StoreState sane() {
  store::StoreState state;
  store::InstanceRow& instance = state.instances.emplace_back();
  instance.view = {.key = {1}, .instance = "a", .execution = {1}};
  store::ActivityRow& activity = state.activities.emplace_back();
  activity.view = {.id = kActivity, .session = "s", .running = true, .owner = "ada"};
  activity.token = {1, 1};
  activity.lease_left = 5s;
  state.sessions.push_back({.id = "s",
                            .state = store::SessionStatus::active,
                            .owner = "ada",
                            .worker = {1},
                            .generation = {1},
                            .held_since = {1},
                            .lease_left = 5s,
                            .in_flight = 1});
  state.workers.push_back({.key = {1}, .info = {.node = "ada"}, .sessions_owned = 1});
  state.counts = {{store::InstanceStatus::running, 1}};
  return state;
}

TEST(Invariants, FindNothingInASaneState) { EXPECT_EQ(contradictions(sane()), std::vector<std::string>{}); }

TEST(Invariants, CountWhatASessionHas) {
  store::StoreState state = sane();
  state.sessions[0].queued = 1;
  EXPECT_EQ(contradictions(state),
            std::vector<std::string>{"session s: its count of queued items is not what is queued"});
}

TEST(Invariants, KnowThatNothingRunsAfterTheEnd) {
  store::StoreState state = sane();
  state.instances[0].view.status = store::InstanceStatus::completed;
  state.counts = {{store::InstanceStatus::completed, 1}};
  EXPECT_EQ(contradictions(state),
            std::vector<std::string>{"activity 1/1/7: its execution is over, or its instance is not there"});
}

TEST(Invariants, KnowHowManyHaveEachStatus) {
  store::StoreState state = sane();
  state.counts[store::InstanceStatus::failed] = 1;
  EXPECT_EQ(contradictions(state), std::vector<std::string>{"instances are not counted by their status"});
}

TEST(Invariants, NoticeAnActivityThatIsGoneWithoutAWord) {
  store::StoreState after = sane();
  after.activities.clear();
  EXPECT_EQ(silently_gone(sane(), after, {}),
            std::vector<std::string>{"activity 1/1/7 is gone, and its instance was not told"});
  EXPECT_TRUE(silently_gone(sane(), after, {InstanceKey{1}}).empty()) << "its own turn took it away";
  after.instances[0].messages.push_back(
      {.id = {1}, .kind = store::MessageKind::taken, .execution = {1}, .source = {7}});
  EXPECT_TRUE(silently_gone(sane(), after, {}).empty()) << "it was told";
}

TEST(Invariants, NoticeARequestThatTakesEffectAgain) {
  AnsweredRequests answered;
  const BootTime now = ManualClock::kBootStart;
  EXPECT_EQ(answered.note("left", {0, 1}, {7}, true, now), std::nullopt);
  EXPECT_EQ(answered.note("left", {0, 1}, {7}, false, now), std::nullopt);
  EXPECT_EQ(answered.note("other", {0, 1}, {8}, true, now), std::nullopt);
  EXPECT_EQ(answered.note("left", {0, 1}, {9}, true, now),
            "a request that was answered with key 7 took effect again");
  answered.forget("left", now + 10s, 10s);
  EXPECT_EQ(answered.note("left", {0, 1}, {9}, true, now), std::nullopt) << "nobody has to remember it";
}

}  // namespace
}  // namespace holdfast::testing::model
