// Which worker may end an instance that is to be terminated: none of its code is needed for that.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(terminating);

namespace holdfast::testing::conformance {
namespace {

/// One that has none of the code that the instances of these tests need.
Worker join_without_code(World& world) {
  NewWorker info = worker_info("stranger");
  info.code.orchestrations = {{"letter", "1"}};
  return world.join(info);
}

STORE_TEST(Terminating, IsUpToAnyWorker) {
  const Worker stranger = join_without_code(*this);
  start("order-1");
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{});
  EXPECT_EQ(describe("order-1").workers, 0U);
  tell("order-1", "terminate");
  EXPECT_EQ(describe("order-1").workers, 1U);
  Turn turn = stranger.fetch_turn();
  EXPECT_EQ(turn.messages(), (Texts{"start: order-1 input", "control: terminate"}));
  stranger.commit(turn.ends(InstanceStatus::terminated));
  EXPECT_EQ(find("order-1").status, InstanceStatus::terminated);
  EXPECT_EQ(find("order-1").code, (CodeVersion{"order", "1"}));
}

STORE_TEST(Terminating, IsAnnounced) {
  const Worker stranger = join_without_code(*this);
  start("order-1");
  const Turns none = stranger.fetch_turns();
  EXPECT_EQ(names(none), Texts{});
  ClientMessage later = message_to("order-1", control("terminate"));
  later.delay = 1min;
  send(later);
  EXPECT_LE(stranger.fetch_turns().next_due, Duration(1min));
  pass(1min);
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Terminating, AWishThatWasPutAwayLeavesTheInstanceToItsCode) {
  const Worker a = join("a");
  const Worker stranger = join_without_code(*this);
  start("order-1");
  tell("order-1", "terminate");
  Turn turn = stranger.fetch_turn();
  stranger.commit(turn.consumes_nothing().consumes(1));
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{});
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(Terminating, OneOfTwoWishesIsEnough) {
  const Worker stranger = join_without_code(*this);
  start("order-1");
  tell("order-1", "first");
  tell("order-1", "second");
  Turn turn = stranger.fetch_turn();
  stranger.commit(turn.consumes_nothing().consumes(1));
  EXPECT_EQ(stranger.fetch_turn().messages(), (Texts{"start: order-1 input", "control: second"}));
}

STORE_TEST(Terminating, WaitsForTheTurnUnderWay) {
  const Worker a = join("a");
  const Worker stranger = join_without_code(*this);
  Turn turn = a.begin("order-1");
  tell("order-1", "terminate");
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{});
  EXPECT_TRUE(a.commit(turn).ready);
  EXPECT_EQ(stranger.fetch_turn().messages(), Texts{"control: terminate"});
}

STORE_TEST(Terminating, IsPossibleWhenTheWorkerThatHasTheCodeIsGone) {
  const Worker a = join("a");
  const Worker stranger = join_without_code(*this);
  a.begin("order-1");
  tell("order-1", "terminate");
  pass(a.turn_lease);
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Terminating, BeginsNoLaterThanTheDelayOfARelease) {
  const Worker a = join("a");
  const Worker stranger = join_without_code(*this);
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .delay = 1h}));
  tell("order-1", "terminate");
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Terminating, SuspendedAndParkedInstancesIsUpToAnyWorkerToo) {
  const Worker a = join("a");
  const Worker stranger = join_without_code(*this);
  const Turn turn = a.begin("parked");
  must(a.release({.key = turn.key(), .token = turn->token, .park = "it does not fit"}));
  start("suspended");
  suspend("suspended");
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{});
  tell("parked", "terminate");
  tell("suspended", "terminate");
  EXPECT_EQ(names(stranger.fetch_turns()), (Texts{"parked", "suspended"}));
}

STORE_TEST(Terminating, CancellingIsNot) {
  const Worker stranger = join_without_code(*this);
  start("order-1");
  ClientMessage request = message_to("order-1", control("stop"));
  request.message.kind = MessageKind::cancel;
  send(request);
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{});
}

STORE_TEST(Terminating, AnIdThatIsUsedAgainNeedsItsCodeAgain) {
  const Worker stranger = join_without_code(*this);
  start("order-1");
  tell("order-1", "terminate");
  Turn turn = stranger.fetch_turn();
  stranger.commit(turn.consumes_all().ends(InstanceStatus::terminated));
  const Worker a = join("a");
  Turn sender = a.begin("sender");
  a.commit(sender.starts_detached("order-1"));
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{}) << "it has ended, and somebody else wants its id";
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Terminating, AWishOutlivesTheExecution) {
  const Worker a = join("a");
  const Worker stranger = join_without_code(*this);
  Turn turn = a.begin("order-1");
  tell("order-1", "terminate");
  a.commit(turn.continues_as_new("again"));
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Terminating, IsUpToAnyBuild) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.commit.build = 7;
  a.commit(turn);
  NewWorker info = worker_info("old");
  info.code.oldest_build = 1;
  info.code.newest_build = 6;
  const Worker old = join(info);
  tell("order-1", "terminate");
  EXPECT_EQ(names(old.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Terminating, AWishThatCameByAnotherHandleIsFound) {
  const Worker a = join("a");
  const Worker stranger = join_without_code(*this);
  Turn turn = a.begin("order-1");
  const auto other = another_handle();
  must(only(other->send(one(message_to("order-1", control("terminate"))))));
  EXPECT_TRUE(a.commit(turn).ready);
  EXPECT_EQ(names(stranger.fetch_turns()), Texts{"order-1"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
