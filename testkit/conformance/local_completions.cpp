// Activities that end in the process that runs the next turn: the commit itself answers them.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(local_completions);

namespace holdfast::testing::conformance {
namespace {

/// An instance whose lock is kept, with two activities that were handed off.
struct Kept {
  Turn turn;
  std::vector<Work> works;
};
Kept keep(const Worker& worker) {
  Turn turn = worker.begin("order-1");
  turn.schedules({.name = "charge", .hand_off = true})
      .schedules({.name = "ship", .hand_off = true})
      .keeps_lock();
  std::vector<Work> works = worker.commit_and_run(turn);
  return {std::move(turn), std::move(works)};
}

STORE_TEST(LocalCompletions, TheRowGoesWithTheTurn) {
  const Worker a = join("a");
  Kept kept = keep(a);
  a.commit(kept.turn.completes(kept.works.at(0)));
  const auto left = activities();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].view.name, "ship");
  EXPECT_TRUE(row("order-1").messages.empty());
  EXPECT_EQ(answer(a.finish(kept.works.at(0))), "gone(dropped)");
}

STORE_TEST(LocalCompletions, AFetchedActivityMayEndThatWayToo) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules("charge").keeps_lock());
  a.commit(turn.completes(a.fetch_activity()));
  EXPECT_TRUE(activities().empty());
}

STORE_TEST(LocalCompletions, AWrongTokenLosesTheWholeTurn) {
  const Worker a = join("a");
  Kept kept = keep(a);
  Work forged = kept.works.at(1);
  forged.token = token<LockToken>();
  kept.turn.completes(kept.works.at(0)).completes(forged).shows("done");
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(kept.turn)), "lost"); });
}

STORE_TEST(LocalCompletions, AStolenRowLosesTheWholeTurn) {
  Worker a = join("a");
  a.turn_lease = 1h;
  const Worker b = join("b");
  Kept kept = keep(a);
  pass(a.activity_lease);
  b.fetch_activities(1);
  kept.turn.completes(kept.works.at(0)).completes(kept.works.at(1));
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(kept.turn)), "lost"); });
}

STORE_TEST(LocalCompletions, ATokenPastItsLeaseCountsWhileNobodyTookTheRow) {
  Worker a = join("a");
  Kept kept = keep(a);
  pass(1h);
  EXPECT_EQ(answer(a.try_commit(kept.turn.completes(kept.works.at(0)))), "ok");
}

STORE_TEST(LocalCompletions, ARowThatWasAnsweredAlreadyLosesTheTurn) {
  const Worker a = join("a");
  Kept kept = keep(a);
  must(a.finish(kept.works.at(0)));
  kept.turn.completes(kept.works.at(0));
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(kept.turn)), "lost"); });
}

STORE_TEST(LocalCompletions, ARowThatWasPutBackLosesTheTurn) {
  const Worker a = join("a");
  Kept kept = keep(a);
  must(a.retry(kept.works.at(0), 1min));
  kept.turn.completes(kept.works.at(0));
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(kept.turn)), "lost"); });
}

STORE_TEST(LocalCompletions, InABatchOnlyTheTurnWithTheStolenRowIsLost) {
  const Worker a = join("a");
  Kept kept = keep(a);
  Turn other = a.begin("order-2");
  kept.works.at(0).token = token<LockToken>();
  const std::vector<TurnCommit> commits{kept.turn.completes(kept.works.at(0)).commit,
                                        other.shows("done").commit};
  EXPECT_EQ(answers(a.try_commit(commits)), (Texts{"lost", "ok"}));
}

STORE_TEST(LocalCompletions, TheTurnMayEndTheInstance) {
  const Worker a = join("a");
  Kept kept = keep(a);
  a.commit(kept.turn.completes(kept.works.at(0)).completes(kept.works.at(1)).ends());
  EXPECT_TRUE(activities().empty());
  EXPECT_TRUE(a.cancel_records().empty());
}

STORE_TEST(LocalCompletions, ASessionMaySaveWithIt) {
  const Worker a = join("a");
  a.acquire("gpu");
  Turn turn = a.begin("order-1");
  turn.schedules({.name = "charge", .session = SessionUse{.id = "gpu"}, .hand_off = true}).keeps_lock();
  const Work work = a.commit_and_run(turn).at(0);
  turn.completes(work).commit.completed[0].save = SessionSave{"state"};
  a.commit(turn);
  EXPECT_EQ(session("gpu").saved, "state");
  EXPECT_EQ(session("gpu").in_flight, 0U);
}

STORE_TEST(LocalCompletions, ASessionMayBeAbortedWithIt) {
  const Worker a = join("a");
  a.acquire("gpu");
  Turn turn = a.begin("order-1");
  turn.schedules({.name = "charge", .session = SessionUse{.id = "gpu"}, .hand_off = true}).keeps_lock();
  const Work work = a.commit_and_run(turn).at(0);
  turn.completes(work).commit.completed[0].abort_session = "the device is on fire";
  a.commit(turn);
  EXPECT_EQ(session("gpu").state, SessionStatus::failed);
  EXPECT_EQ(session("gpu").reason, SessionReason::aborted);
  EXPECT_EQ(session("gpu").note, "the device is on fire");
}

}  // namespace
}  // namespace holdfast::testing::conformance
