#include "runtime/outgoing.hpp"

#include "client/bodies.hpp"

#include <holdfast/codec.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::runtime::outgoing_test {
namespace {

using namespace std::chrono_literals;
using detail::kind_of_operation;
using store::InstanceStatus;
using store::MessageKind;

class OutgoingTest : public ::testing::Test {
 protected:
  OutgoingTest() {
    instance.id = "order-1";
    instance.key = InstanceKey{9};
    instance.execution = ExecutionNumber{2};
  }

  void start(std::uint64_t event, detail::Operation operation) {
    outcome.actions.push_back({.id = {event}, .operation = std::move(operation), .key = {3, 4}});
  }
  template <class Operation>
  void drop(std::uint64_t source, std::string label = {},
            ParentClosePolicy on_close = ParentClosePolicy::cancel) {
    outcome.cancels.push_back({.source = {source},
                               .kind = kind_of_operation<Operation>,
                               .label = std::move(label),
                               .on_close = on_close});
  }
  store::TurnCommit commit() {
    store::TurnCommit made;
    add_outcome(made, instance, std::exchange(outcome, {}), around);
    return made;
  }
  template <class Body>
  static Body body_of(const store::Outgoing& message) {
    return bodies::read<Body>(message.message.body).value();
  }

  CachedInstance instance{};
  engine::Outcome outcome{};
  history::Parent parent{.instance = "parent", .execution = {1}, .event = {6}, .key = {5}};
  Surroundings around{.activity_lease = 30s};
};

TEST_F(OutgoingTest, ActivitiesBecomeRowsWithWhatTheStoreHasToKnow) {
  detail::ActivitySettings settings{.queue = "gpu", .schedule_to_start = 5s, .priority = 2};
  settings.retry.total_deadline = 1min;
  start(7, detail::ActivityScheduled{"render", settings, encode(1)});
  start(8, detail::ActivityScheduled{"charge", {}, encode(2)});
  const store::TurnCommit made = commit();
  ASSERT_EQ(made.activities.size(), 2U);
  const store::NewActivity& row = made.activities[0];
  EXPECT_EQ(row.event, EventId{7});
  EXPECT_EQ(row.name, "render");
  EXPECT_EQ(row.queue, "gpu");
  EXPECT_EQ(row.priority, 2);
  EXPECT_EQ(row.start_within, Duration(5s));
  EXPECT_EQ(row.total, Duration(1min));
  EXPECT_FALSE(row.hand_off);
  EXPECT_EQ(made.activities[1].total, never);
  const auto body = bodies::read<bodies::Activity>(row.body).value();
  EXPECT_EQ(body.scheduled.input, encode(1));
  EXPECT_EQ(body.key, (OperationKey{3, 4}));
}

TEST_F(OutgoingTest, WhatATurnStartsAndDropsReachesNobody) {
  start(7, detail::ActivityScheduled{"render", {}, encode(1)});
  start(8, detail::TimerStarted{CalendarTime(1s)});
  drop<detail::ActivityScheduled>(7);
  drop<detail::TimerStarted>(8);
  drop<detail::ActivityScheduled>(3);
  drop<detail::TimerStarted>(4);
  const store::TurnCommit made = commit();
  EXPECT_TRUE(made.activities.empty());
  EXPECT_TRUE(made.timers.empty());
  ASSERT_EQ(made.cancelled.size(), 1U);
  EXPECT_EQ(made.cancelled[0].event, EventId{3});
  EXPECT_EQ(made.cancelled_timers, std::vector<EventId>{{4}});
}

// Its id is taken from now on, and its parent is told that it ended.
TEST_F(OutgoingTest, AChildThatATurnStartsAndDropsIsStartedAndAskedToStop) {
  start(7, detail::ChildStarted{.id = "child-1", .name = "child", .input = encode(1)});
  drop<detail::ChildStarted>(7, "child-1", ParentClosePolicy::terminate);
  const store::TurnCommit made = commit();
  ASSERT_EQ(made.starts.size(), 1U);
  EXPECT_EQ(made.starts[0].parent, instance.key);
  const auto start = bodies::read<bodies::Start>(made.starts[0].body).value();
  const history::Parent self{"order-1", {2}, {7}, {9}};
  EXPECT_EQ(start.started.parent, self);
  EXPECT_EQ(start.started.seed_high, 3U);
  ASSERT_EQ(made.messages.size(), 1U);
  EXPECT_EQ(made.messages[0].instance, "child-1");
  const auto control = body_of<bodies::Control>(made.messages[0]);
  EXPECT_EQ(control.kind, bodies::Control::Kind::terminate);
  EXPECT_EQ(control.parent, self) << "whoever else lives there by then is not meant";
}

TEST_F(OutgoingTest, DetachedOrchestrationsHaveNoParentAndOnlySomeAnswer) {
  start(7, detail::DetachedStarted{.id = "a", .name = "report", .input = encode(1)});
  start(8, detail::DetachedStarted{.id = "b", .name = "report", .input = encode(1), .launched = true});
  const store::TurnCommit made = commit();
  ASSERT_EQ(made.starts.size(), 2U);
  EXPECT_EQ(made.starts[0].parent, InstanceKey());
  const auto answers = bodies::read<bodies::Start>(made.starts[0].body).value();
  EXPECT_FALSE(answers.started.parent);
  EXPECT_EQ(answers.announce->event, EventId{7});
  const auto launched = bodies::read<bodies::Start>(made.starts[1].body).value();
  EXPECT_FALSE(launched.announce);
  EXPECT_EQ(launched.launched_by, "order-1");
}

TEST_F(OutgoingTest, OfAValueThatIsSetTwiceTheLastOneCounts) {
  start(1, detail::ValueSet{"a", encode(1)});
  start(2, detail::ValueSet{"b", encode(2)});
  start(3, detail::ValueSet{"a", encode(3)});
  start(4, detail::ValueSet{"b", std::nullopt});
  const store::TurnCommit made = commit();
  ASSERT_EQ(made.values.size(), 2U);
  EXPECT_EQ(made.values[0].key, "a");
  EXPECT_EQ(made.values[0].value, bodies::to_bytes(encode(3)));
  EXPECT_FALSE(made.values[1].value);
}

// A message to an instance that this turn starts must come after it, and before a later one of the same id.
TEST_F(OutgoingTest, MessagesKnowAfterWhichStartsTheyWereSent) {
  start(1, detail::MessageSent{.instance = "a", .name = "early", .value = encode(1)});
  start(2, detail::DetachedStarted{.id = "a", .name = "report", .input = encode(1)});
  start(3, detail::CancelSent{.instance = "a", .reason = "enough"});
  const store::TurnCommit made = commit();
  ASSERT_EQ(made.messages.size(), 2U);
  EXPECT_EQ(made.messages[0].after_starts, 0U);
  EXPECT_EQ(made.messages[1].after_starts, 1U);
  EXPECT_TRUE(made.messages[1].cancels);
}

TEST_F(OutgoingTest, OnlyMessagesOfTheStoreAreConsumedThereAndWaitsAreToldWhenTheyChange) {
  const std::vector<Address> paid{{Address::Kind::event, "paid"}};
  outcome.consumed = {{4}, {}, {5}};  // the one without an id came from this process
  outcome.unreadable.push_back({.id = {6}});
  outcome.waits = paid;
  const store::TurnCommit made = commit();
  EXPECT_EQ(made.consumed, (std::vector<MessageId>{{4}, {5}}));
  EXPECT_EQ(made.set_aside, std::vector<MessageId>{{6}});
  EXPECT_EQ(made.waits, paid);
  instance.waits = paid;
  outcome.waits = paid;
  EXPECT_FALSE(commit().waits);
}

TEST_F(OutgoingTest, AnEndIsToldToTheParentThatWaitsForIt) {
  around.parent = &parent;
  outcome.end = history::ExecutionCompleted{encode(14)};
  const store::TurnCommit made = commit();
  EXPECT_EQ(std::get<store::InstanceEnd>(made.end).status, InstanceStatus::completed);
  ASSERT_EQ(made.messages.size(), 1U);
  EXPECT_EQ(made.messages[0].key, parent.key);
  EXPECT_EQ(made.messages[0].message.kind, MessageKind::outcome);
  EXPECT_EQ(made.messages[0].message.source, parent.event);
  EXPECT_EQ(body_of<bodies::Outcome>(made.messages[0]).value, encode(14));
}

TEST_F(OutgoingTest, ToItsParentTheChildFailedAndWhatWentWrongInItIsTheCause) {
  around.parent = &parent;
  outcome.end = history::ExecutionFailed{
      Failure{.type = "declined", .message = "no money", .source = "activity charge", .retryable = false}};
  const store::TurnCommit made = commit();
  const auto own = bodies::read<bodies::Outcome>(std::get<store::InstanceEnd>(made.end).output).value();
  EXPECT_EQ(own.failure->source, "activity charge");
  const Failure told = *body_of<bodies::Outcome>(made.messages.at(0)).failure;
  EXPECT_EQ(told.source, "orchestration order-1");
  EXPECT_EQ(told.type, "declined");
  EXPECT_FALSE(told.retryable);
  ASSERT_TRUE(told.cause);
  EXPECT_EQ(told.cause->source, "activity charge");
}

TEST_F(OutgoingTest, AFailureOfTheCodeItselfIsNotWrapped) {
  around.parent = &parent;
  outcome.end = history::ExecutionTerminated{"enough"};
  const store::TurnCommit made = commit();
  const Failure told = *body_of<bodies::Outcome>(made.messages.at(0)).failure;
  EXPECT_EQ(told.category, Category::terminated);
  EXPECT_EQ(told.source, "orchestration order-1");
  EXPECT_FALSE(told.cause);
}

TEST_F(OutgoingTest, NobodyIsToldOfTheEndOfAnInstanceWithoutAParent) {
  outcome.end = history::ExecutionCompleted{encode(14)};
  EXPECT_TRUE(commit().messages.empty());
}

// Else the activity would be taken from its worker while it runs.
TEST_F(OutgoingTest, ASessionThatCouldBeLostWhileItsActivityRunsFailsInsteadOfBeingOpened) {
  detail::SessionSettings session{.id = "s"};
  session.idle_timeout = 5s;
  detail::ActivitySettings settings;
  settings.session = session;
  start(7, detail::ActivityScheduled{"render", settings, encode(1)});
  start(8, detail::SessionOpened{session});
  const store::TurnCommit made = commit();
  EXPECT_TRUE(made.activities.empty());
  EXPECT_TRUE(made.open_sessions.empty());
  ASSERT_EQ(made.messages.size(), 2U);
  EXPECT_EQ(made.messages[0].key, instance.key);
  EXPECT_EQ(made.messages[0].message.source, EventId{7});
  const Failure failure = *body_of<bodies::Outcome>(made.messages[0]).failure;
  EXPECT_EQ(failure.type, "session_policy");
  EXPECT_EQ(failure.source, "activity render");
}

TEST_F(OutgoingTest, ASessionThatIsOpenedIsOnRecordAndFailsUnlessItsCodeSaysOtherwise) {
  start(7, detail::SessionOpened{detail::SessionSettings{.id = "s"}});
  const store::TurnCommit made = commit();
  const store::SessionPolicy& policy = made.open_sessions.at(0).policy;
  EXPECT_TRUE(policy.on_record);
  EXPECT_EQ(policy.when_lost, store::SessionPolicy::WhenLost::fail);
  EXPECT_EQ(policy.idle_timeout, never);
  EXPECT_EQ(policy.lease, Duration(30s));
}

TEST(PolicyOf, ASessionOfWhichOnlyTheIdIsKnownIsNotOnRecord) {
  detail::SessionSettings settings{.id = "s"};
  EXPECT_FALSE(policy_of(settings).on_record);
  EXPECT_EQ(policy_of(settings).when_lost, store::SessionPolicy::WhenLost::reclaim);
  settings.max_concurrent_activities = -1;
  settings.allow_reacquire_after_failure = false;
  const store::SessionPolicy policy = policy_of(settings);
  EXPECT_TRUE(policy.on_record);
  EXPECT_EQ(policy.max_concurrent, 0U);
  EXPECT_EQ(policy.when_lost, store::SessionPolicy::WhenLost::fail);
}

TEST_F(OutgoingTest, WhoeverWantedToBeginSomethingUnderThisIdIsAnswered) {
  const history::Parent other{.instance = "late", .execution = {1}, .event = {2}, .key = {11}};
  Incoming incoming;
  incoming.start = bodies::Start{.announce = parent};
  incoming.refused_starts = {bodies::Start{.started = {.parent = other}}, bodies::Start{}};
  store::TurnCommit made;
  add_start_answers(made, instance, incoming);
  ASSERT_EQ(made.messages.size(), 2U);
  EXPECT_EQ(made.messages[0].key, parent.key);
  EXPECT_EQ(body_of<bodies::Outcome>(made.messages[0]).value, encode(std::string("order-1")));
  EXPECT_EQ(made.messages[1].key, other.key);
  EXPECT_EQ(body_of<bodies::Outcome>(made.messages[1]).failure->type, "id_taken");
}

}  // namespace
}  // namespace holdfast::runtime::outgoing_test
