// Cancelling an activity is deleting its row; whoever ran it is told.
#include "testkit/conformance/story.hpp"

#include <functional>
#include <string>
#include <vector>

HOLDFAST_CONFORMANCE_FILE(cancellation);

namespace holdfast::testing::conformance {
namespace {

/// An instance that stays locked, and its activity charge (event 5) in the hands of the worker.
struct Running {
  Turn turn;
  Work work;
};
Running with_one_running(const Worker& worker) {
  Turn turn = worker.begin("order-1");
  turn.schedules({.event = EventId{5}, .name = "charge", .hand_off = true}).keeps_lock();
  Work work = worker.commit_and_run(turn).at(0);
  return {std::move(turn), std::move(work)};
}

STORE_TEST(Cancellation, WhatIsQueuedNeverStarts) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules({.event = EventId{5}, .name = "charge"}).schedules("ship").keeps_lock());
  a.commit(turn.cancels(EventId{5}));
  EXPECT_EQ(names(a.fetch_activities()), Texts{"ship"});
  EXPECT_TRUE(state().cancels.empty());
  EXPECT_TRUE(row("order-1").messages.empty());
}

STORE_TEST(Cancellation, WhatBacksOffNeverStartsAgain) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  must(a.retry(running.work, 1min));
  a.commit(running.turn.cancels(EventId{5}));
  pass(1min);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_TRUE(state().cancels.empty());
}

STORE_TEST(Cancellation, ARunningOneIsTakenAwayAndItsWorkerTold) {
  const Worker a = join("a");
  const Worker b = join("b");
  Running running = with_one_running(a);
  a.commit(running.turn.cancels(EventId{5}, CancelReason::cancel_requested));
  EXPECT_TRUE(activities().empty());
  EXPECT_TRUE(b.cancel_records().empty());
  pass(2s);
  const CancelRecord expected{.id = running.work.id(),
                              .token = running.work.token,
                              .name = "charge",
                              .reason = CancelReason::cancel_requested,
                              .state = CancelRecord::State::requested,
                              .owner = "a",
                              .age = 2s};
  EXPECT_EQ(a.cancel_records(), std::vector{expected});
}

STORE_TEST(Cancellation, TheInstanceShowsWhatWasTakenAwayInEachState) {
  using State = CancelRecord::State;
  const Worker a = join("a");
  Running running = with_one_running(a);
  EXPECT_TRUE(describe("order-1").cancels.empty());
  a.commit(running.turn.cancels(EventId{5}, CancelReason::cancel_requested).keeps_lock());
  const CancelRecord record = a.cancel_records().at(0);
  EXPECT_EQ(describe("order-1").cancels, std::vector{record});
  for (const State state : {State::abandoned, State::acknowledged}) {
    must(a.acknowledge(record, state));
    EXPECT_EQ(describe("order-1").cancels.at(0).state, state);
  }
  pass(a.activity_lease);
  sweep();
  EXPECT_TRUE(describe("order-1").cancels.empty());
}

// ---- every way in which an execution stops to want its activities ---------------------------------

struct Trigger {
  std::string name{};
  CancelReason reason{};
  std::function<void(World&, const Worker&, Turn&)> pull{};
};

std::vector<Trigger> triggers() {
  const auto ending = [](InstanceStatus status) {
    return [status](World&, const Worker& worker, Turn& turn) { worker.commit(turn.ends(status)); };
  };
  return {
      {"completed", CancelReason::execution_completed, ending(InstanceStatus::completed)},
      {"failed", CancelReason::execution_failed, ending(InstanceStatus::failed)},
      {"cancelled", CancelReason::execution_cancelled, ending(InstanceStatus::cancelled)},
      {"terminated", CancelReason::execution_terminated, ending(InstanceStatus::terminated)},
      {"continued as new", CancelReason::continued_as_new,
       [](World&, const Worker& worker, Turn& turn) { worker.commit(turn.continues_as_new("again")); }},
      {"instance deleted", CancelReason::instance_deleted,
       [](World& world, const Worker&, Turn&) { must(world.store().delete_instance("order-1", true)); }},
      {"execution deleted", CancelReason::continued_as_new,
       [](World& world, const Worker& worker, Turn& turn) {
         worker.commit(turn.continues_as_new("again"));
         must(world.store().prune_execution("order-1", ExecutionNumber{1}));
       }},
  };
}

STORE_TEST(Cancellation, AtAFetchTheRowOfAnEndedExecutionIsGone) {
  for (const Trigger& trigger : triggers()) {
    SCOPED_TRACE(trigger.name);
    World world(under_test());
    const Worker a = world.join("a");
    Turn turn = a.begin("order-1");
    a.commit(turn.schedules("charge").keeps_lock());
    EXPECT_EQ(world.activities().size(), 1U);
    trigger.pull(world, a, turn);
    EXPECT_EQ(names(a.fetch_activities()), Texts{});
    EXPECT_TRUE(world.activities().empty());
    EXPECT_TRUE(world.state().cancels.empty());  // it never ran: nobody has to be told
  }
}

STORE_TEST(Cancellation, AtARenewalTheLockOfAnEndedExecutionIsGoneAndNothingIsExtended) {
  for (const Trigger& trigger : triggers()) {
    SCOPED_TRACE(trigger.name);
    World world(under_test());
    const Worker a = world.join("a");
    Running running = with_one_running(a);
    EXPECT_EQ(answer(a.renew(running.work)), "ok");
    trigger.pull(world, a, running.turn);
    world.changes_nothing([&] {
      EXPECT_EQ(answer(a.renew(running.work)), "gone(" + std::string(to_string(trigger.reason)) + ")");
    });
  }
}

STORE_TEST(Cancellation, AnAnswerForAnEndedExecutionIsGoneAndNothingIsEnqueued) {
  for (const Trigger& trigger : triggers()) {
    SCOPED_TRACE(trigger.name);
    World world(under_test());
    const Worker a = world.join("a");
    Running running = with_one_running(a);
    trigger.pull(world, a, running.turn);
    const std::string gone = "gone(" + std::string(to_string(trigger.reason)) + ")";
    world.changes_nothing([&] {
      EXPECT_EQ(answer(a.finish(running.work)), gone);
      EXPECT_EQ(answer(a.retry(running.work)), gone);
    });
  }
}

STORE_TEST(Cancellation, AnAnswerForARunningExecutionEnqueuesExactlyOneMessage) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  must(a.finish(running.work));
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(texts(row("order-1").messages), Texts{"outcome 1/5: result"});
  changes_nothing([&] { EXPECT_EQ(answer(a.finish(running.work)), "gone(dropped)"); });
}

STORE_TEST(Cancellation, EveryLaterAnswerIsGoneWithTheReason) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  a.commit(running.turn.cancels(EventId{5}, CancelReason::cancel_requested));
  changes_nothing([&] {
    EXPECT_EQ(answer(a.renew(running.work)), "gone(cancel_requested)");
    EXPECT_EQ(answer(a.heartbeat(running.work, "half")), "gone(cancel_requested)");
    EXPECT_EQ(answer(a.finish(running.work)), "gone(cancel_requested)");
    EXPECT_EQ(answer(a.retry(running.work)), "gone(cancel_requested)");
    EXPECT_EQ(answer(a.put_back(running.work)), "gone(cancel_requested)");
  });
}

STORE_TEST(Cancellation, AnotherWorkersActivityIsTakenFromIt) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules({.event = EventId{5}, .name = "charge"}).keeps_lock());
  const Work work = b.fetch_activity();
  a.commit(turn.cancels(EventId{5}));
  EXPECT_TRUE(a.cancel_records().empty());
  ASSERT_EQ(b.cancel_records().size(), 1U);
  EXPECT_EQ(answer(b.finish(work)), "gone(dropped)");
}

STORE_TEST(Cancellation, OneWhoseLockLapsedMayStillRun) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  pass(a.activity_lease);
  a.commit(running.turn.cancels(EventId{5}, CancelReason::cancel_requested));
  EXPECT_EQ(a.cancel_records().size(), 1U);
  EXPECT_EQ(answer(a.finish(running.work)), "gone(cancel_requested)");
}

STORE_TEST(Cancellation, AnOutcomeThatCameFirstWins) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  must(a.finish(running.work));
  a.commit(running.turn.cancels(EventId{5}));
  EXPECT_TRUE(state().cancels.empty());
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/5: result"});
}

STORE_TEST(Cancellation, AnActivityThatIsNotThereIsNoMistake) {
  const Worker a = join("a");
  EXPECT_EQ(answer(a.try_commit(a.begin("order-1").cancels(EventId{999}))), "ok");
  EXPECT_TRUE(state().cancels.empty());
}

STORE_TEST(Cancellation, ARefusedTurnCancelsNothing) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  running.turn.cancels(EventId{5}).commit.expected = token<TurnStamp>();
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(running.turn)), "lost"); });
  EXPECT_EQ(answer(a.finish(running.work)), "ok");
}

STORE_TEST(Cancellation, OnceAcknowledgedItIsToldNoMore) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  a.commit(running.turn.cancels(EventId{5}, CancelReason::cancel_requested));
  EXPECT_EQ(answer(a.acknowledge(a.cancel_records().at(0))), "ok");
  EXPECT_TRUE(a.cancel_records().empty());
  ASSERT_EQ(state().cancels.size(), 1U);
  EXPECT_EQ(state().cancels[0].state, CancelRecord::State::acknowledged);
  EXPECT_EQ(answer(a.finish(running.work)), "gone(cancel_requested)");
}

STORE_TEST(Cancellation, AnAbandonedOneIsShownAsThat) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  a.commit(running.turn.cancels(EventId{5}));
  must(a.acknowledge(a.cancel_records().at(0), CancelRecord::State::abandoned));
  EXPECT_TRUE(a.cancel_records().empty());
  ASSERT_EQ(state().cancels.size(), 1U);
  EXPECT_EQ(state().cancels[0].state, CancelRecord::State::abandoned);
}

// The code ends in one thread of its worker while another tells that it goes on after its grace.
STORE_TEST(Cancellation, ThatItsCodeHasEndedIsTheLastWord) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  a.commit(running.turn.cancels(EventId{5}));
  const CancelRecord record = a.cancel_records().at(0);
  must(a.acknowledge(record, CancelRecord::State::acknowledged));
  must(a.acknowledge(record, CancelRecord::State::abandoned));
  ASSERT_EQ(state().cancels.size(), 1U);
  EXPECT_EQ(state().cancels[0].state, CancelRecord::State::acknowledged);
}

STORE_TEST(Cancellation, AcknowledgingWhatIsNotThereIsNoMistake) {
  const Worker a = join("a");
  const CancelRecord unknown{.id = {InstanceKey{999}, ExecutionNumber{1}, EventId{1}},
                             .token = token<LockToken>()};
  changes_nothing([&] { EXPECT_EQ(answer(a.acknowledge(unknown)), "ok"); });
}

STORE_TEST(Cancellation, TheRecordGoesOnceTheLeaseOfTheActivityIsOver) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  a.commit(running.turn.cancels(EventId{5}, CancelReason::cancel_requested));
  pass(a.activity_lease - 1s);
  sweep();
  EXPECT_EQ(state().cancels.size(), 1U);
  pass(1s);
  EXPECT_EQ(sweep().remains_removed, 1U);
  EXPECT_TRUE(state().cancels.empty());
  EXPECT_EQ(answer(a.finish(running.work)), "gone(dropped)");
}

STORE_TEST(Cancellation, TheEndOfTheInstanceCancelsWhatIsLeft) {
  const std::vector<std::pair<InstanceStatus, CancelReason>> ends{
      {InstanceStatus::completed, CancelReason::execution_completed},
      {InstanceStatus::failed, CancelReason::execution_failed},
      {InstanceStatus::cancelled, CancelReason::execution_cancelled},
      {InstanceStatus::terminated, CancelReason::execution_terminated}};
  for (const auto& [status, reason] : ends) {
    SCOPED_TRACE(to_string(status));
    World world(under_test());
    const Worker a = world.join("a");
    Running running = with_one_running(a);
    a.commit(running.turn.schedules("ship").ends(status));
    EXPECT_TRUE(world.activities().empty());
    ASSERT_EQ(a.cancel_records().size(), 1U);
    EXPECT_EQ(a.cancel_records()[0].reason, reason);
    EXPECT_EQ(answer(a.finish(running.work)), "gone(" + std::string(to_string(reason)) + ")");
    EXPECT_EQ(names(a.fetch_activities()), Texts{});
  }
}

STORE_TEST(Cancellation, ContinuingAsNewCancelsWhatIsLeft) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  a.commit(running.turn.continues_as_new("again"));
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(a.cancel_records().at(0).reason, CancelReason::continued_as_new);
  EXPECT_EQ(answer(a.finish(running.work)), "gone(continued_as_new)");
}

STORE_TEST(Cancellation, DeletingTheInstanceCancelsWhatRuns) {
  const Worker a = join("a");
  const Running running = with_one_running(a);
  must(store().delete_instance("order-1", true));
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(a.cancel_records().at(0).reason, CancelReason::instance_deleted);
  EXPECT_EQ(answer(a.finish(running.work)), "gone(instance_deleted)");
  EXPECT_EQ(answer(a.renew(running.work)), "gone(instance_deleted)");
}

STORE_TEST(Cancellation, ReasonsGivenByTheTurnStand) {
  const Worker a = join("a");
  Running running = with_one_running(a);
  a.commit(running.turn.cancels(EventId{5}, CancelReason::cancel_requested).ends(InstanceStatus::cancelled));
  EXPECT_EQ(a.cancel_records().at(0).reason, CancelReason::cancel_requested);
}

STORE_TEST(Cancellation, CancellingAndSchedulingMayShareATurn) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules({.event = EventId{5}, .name = "charge"}).keeps_lock());
  a.commit(turn.cancels(EventId{5}).schedules({.event = EventId{6}, .name = "ship"}));
  EXPECT_EQ(names(a.fetch_activities()), Texts{"ship"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
