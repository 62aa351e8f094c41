// One database, several namespaces: none sees anything of another. And several stores on one namespace: all
// see the same.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(namespaces);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Namespaces, TheSameIdMeansTwoInstances) {
  const World other(*this, "other");
  const InstanceKey here = start("order-1");
  const InstanceKey there = other.start("order-1");
  EXPECT_NE(here, there);
  EXPECT_EQ(find("order-1").key, here);
  EXPECT_EQ(other.find("order-1").key, there);
  EXPECT_EQ(other.store().ns(), "other");
  EXPECT_EQ(list(), Texts{"order-1"});
}

STORE_TEST(Namespaces, NothingOfOneIsSeenInAnother) {
  World other(*this, "other");
  const std::string empty = text(other.state());
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules("charge").schedules("ship").opens_session("gpu", {.on_record = true}).keeps_lock());
  a.fetch_activities(1);
  raise("later", "decision", "early");
  other.expect_state(empty);
  EXPECT_EQ(answer(other.store().find("order-1")), "not_found");
  EXPECT_EQ(must(other.store().look(std::vector{turn.key()})).at(0), std::nullopt);
  EXPECT_EQ(answer(other.store().read_history(turn.key(), ExecutionNumber{1}, {}, 1000)), "not_found");
  EXPECT_EQ(answer(other.store().session("gpu")), "not_found");
  EXPECT_TRUE(must(other.store().queue_depths()).empty());
  EXPECT_TRUE(must(other.store().workers()).empty());
  EXPECT_TRUE(must(other.store().session_log("", 0, 10)).empty());
}

STORE_TEST(Namespaces, WorkersFetchOnlyFromTheirOwn) {
  World other(*this, "other");
  const Worker here = join("a");
  const Worker there = other.join("a");
  here.commit(here.begin("order-1").schedules("charge"));
  start("order-2");
  EXPECT_EQ(names(there.fetch_turns()), Texts{});
  EXPECT_EQ(names(there.fetch_activities()), Texts{});
  EXPECT_EQ(names(here.fetch_turns()), Texts{"order-2"});
  EXPECT_EQ(names(here.fetch_activities()), Texts{"charge"});
}

STORE_TEST(Namespaces, ANodeOfTheSameNameSupersedesNobodyThere) {
  World other(*this, "other");
  const Worker here = join("a");
  other.join("a");
  EXPECT_EQ(answer(here.try_fetch_turns()), "ok");
}

STORE_TEST(Namespaces, LocksOfOneAreUnknownInAnother) {
  World other(*this, "other");
  const Worker here = join("a");
  const Worker there = other.join("b");
  Turn turn = here.begin("order-1");
  here.commit(turn.schedules("charge").keeps_lock());
  const Work work = here.fetch_activity();
  changes_nothing([&] {
    EXPECT_EQ(answer(there.try_commit(turn)), "lost");
    EXPECT_EQ(answer(there.release(turn)), "lost");
    EXPECT_EQ(answer(there.finish(work)), "gone(dropped)");
  });
}

STORE_TEST(Namespaces, MessagesStayInTheirOwn) {
  World other(*this, "other");
  const Worker here = join("a");
  const Worker there = other.join("b");
  Turn receiver = there.begin("receiver");
  there.commit(receiver);
  const Committed committed = here.commit(
      here.begin("sender").sends("receiver", control("by id")).sends(receiver.key(), control("by key")));
  EXPECT_EQ(committed.dropped.size(), 2U);
  EXPECT_EQ(names(there.fetch_turns()), Texts{});
}

STORE_TEST(Namespaces, EarlyDeliveriesAndRequestsAreTheirOwn) {
  World other(*this, "other");
  const ClientMessage message = message_to("order-1", delivery(event("decision"), "early"));
  send(message);
  other.send(message);
  const StartRequest request = start_of("order-1");
  EXPECT_TRUE(start(request).is_new);
  EXPECT_TRUE(other.start(request).is_new);
  const Worker there = other.join("a");
  EXPECT_EQ(there.fetch_turn()->messages.size(), 2U);
}

STORE_TEST(Namespaces, DeletionStaysInItsOwn) {
  World other(*this, "other");
  start("order-1");
  const InstanceKey there = other.start("order-1");
  must(store().delete_instance("order-1", true));
  EXPECT_EQ(other.find("order-1").key, there);
}

STORE_TEST(Namespaces, SweepsStayInTheirOwn) {
  World other(*this, "other");
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "fly", .start_within = 1s}));
  pass(1h);
  changes_nothing([&] { EXPECT_EQ(other.sweep().activities_timed_out, 0U); });
}

STORE_TEST(Handles, OfOneNamespaceSeeTheSame) {
  const std::shared_ptr<Store> second = another_handle();
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").shows("half done"));
  EXPECT_EQ(must(second->find("order-1")), find("order-1"));
  EXPECT_EQ(text(must(second->state())), text(state()));
}

STORE_TEST(Handles, LocksTakenByOneHoldForTheOther) {
  const std::shared_ptr<Store> second = another_handle();
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  const LockToken token_of_b = token<LockToken>();
  const auto fetched = must(second->fetch_turns(
      {.worker = a.key, .code = &a.info.code, .token = token_of_b, .lease = 5s, .max = 10}));
  EXPECT_TRUE(fetched.turns.empty());
  const TurnRelease release{turn.key(), turn->token};
  EXPECT_EQ(answers(second->release_turns(one(release))), Texts{"ok"});
}

STORE_TEST(Handles, ClosingOneLeavesTheOthers) {
  std::shared_ptr<Store> second = another_handle();
  start("order-1");
  second.reset();
  start("order-2");
  EXPECT_EQ(must(another_handle()->list({})).instances.size(), 2U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
