// What the conformance suite of the test kit doesn't see: the namespaces and faults of this store, and one
// story from beginning to end.
#include <holdfast/fault.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace store;

template <class T>
T only(std::vector<StoreResult<T>> results) {
  EXPECT_EQ(results.size(), 1U);
  return std::move(results.front()).value();
}

template <class T>
std::span<const T> one(const T& item) {
  return {&item, 1};
}

class MemoryStoreTest : public ::testing::Test {
 protected:
  MemoryStoreTest() {
    info_.node = "a";
    info_.abilities.handlers = {"charge", "ship"};
    info_.code.orchestrations = {{"order", "1"}};
  }

  std::shared_ptr<Store> open(const std::string& ns) {
    return memory({.ns = ns, .database = database_, .clock = &clock_, .faults = &faults_});
  }

  static StartRequest order(const std::string& id) {
    return {.instance = id, .code = {"order", "1"}, .body = "input", .fingerprint = {1, 1}};
  }

  LockToken token() { return {1, ++tokens_}; }
  TurnStamp stamp() { return {2, ++tokens_}; }

  LockedTurn fetch(Store& store, WorkerKey worker, std::span<const HeldInstance> held = {}) {
    auto fetched = store.fetch_turns(
        {.worker = worker, .code = &info_.code, .token = token(), .lease = 5s, .max = 10, .held = held});
    EXPECT_EQ(fetched->turns.size(), 1U);
    return fetched->turns.empty() ? LockedTurn{} : fetched->turns.front();
  }

  Committed commit(Store& store, WorkerKey worker, const TurnCommit& turn) {
    return only(store.commit_turns({.worker = worker, .abilities = &info_.abilities, .activity_lease = 30s},
                                   one(turn)));
  }

  ManualClock clock_;
  FaultScript faults_;
  std::shared_ptr<MemoryDatabase> database_ = memory_database();
  store::NewWorker info_;
  std::uint64_t tokens_ = 0;
};

TEST_F(MemoryStoreTest, AnOrderRunsFromItsStartToItsEnd) {
  const auto store = open("default");
  const WorkerKey worker = *store->join(info_);
  const StartAnswer started = only(store->start(one(order("order-1"))));
  EXPECT_TRUE(started.is_new);

  const LockedTurn turn = fetch(*store, worker);
  ASSERT_EQ(turn.messages.size(), 1U);
  TurnCommit first{.key = turn.key,
                   .token = turn.token,
                   .expected = turn.stamp,
                   .stamp = stamp(),
                   .execution = turn.execution,
                   .first_event = EventId{1},
                   .segment = "first",
                   .seen = turn.messages.back().id,
                   .consumed = {turn.messages.back().id},
                   .activity_token = token(),
                   .activities = {{.event = EventId{2}, .name = "charge", .hand_off = true},
                                  {.event = EventId{3}, .name = "ship", .hand_off = true}},
                   .keep_lock = true};
  const Committed scheduled = commit(*store, worker, first);
  EXPECT_FALSE(scheduled.ready);
  ASSERT_EQ(scheduled.handed_off.size(), 2U);
  ASSERT_TRUE(scheduled.handed_off[0] && scheduled.handed_off[1]);
  EXPECT_EQ(scheduled.handed_off[0]->id.event, EventId{2});
  EXPECT_EQ(scheduled.handed_off[0]->delivery, 1U);

  TurnCommit last{.key = turn.key,
                  .token = turn.token,
                  .expected = first.stamp,
                  .stamp = stamp(),
                  .execution = turn.execution,
                  .first_event = EventId{4},
                  .segment = "last",
                  .seen = first.seen,
                  .completed = {{.event = EventId{2}, .token = first.activity_token},
                                {.event = EventId{3}, .token = first.activity_token}},
                  .end = InstanceEnd{.output = "done"}};
  commit(*store, worker, last);

  const StoreState state = *store->state();
  ASSERT_EQ(state.instances.size(), 1U);
  EXPECT_EQ(state.instances[0].view.status, InstanceStatus::completed);
  EXPECT_EQ(state.instances[0].view.output, "done");
  EXPECT_FALSE(state.instances[0].locked_by);
  EXPECT_FALSE(state.instances[0].ready);
  EXPECT_EQ(state.instances[0].history.at(1).size(), 2U);
  EXPECT_TRUE(state.activities.empty());
  EXPECT_TRUE(state.cancels.empty());
}

TEST_F(MemoryStoreTest, AnAttemptAnsweredAfterItsLockAndItsSessionAreOverIsTakenAway) {
  const auto store = open("default");
  const WorkerKey worker = *store->join(info_);
  only(store->start(one(order("order-1"))));
  const LockedTurn turn = fetch(*store, worker);
  commit(
      *store, worker,
      {.key = turn.key,
       .token = turn.token,
       .stamp = stamp(),
       .execution = turn.execution,
       .seen = turn.messages.back().id,
       .consumed = {turn.messages.back().id},
       .activities = {{.event = EventId{2}, .name = "charge", .session = SessionUse{"gpu", {.ttl = 10s}}}}});
  const LockToken lock = token();
  const auto fetched = store->fetch_activities(
      {.worker = worker, .abilities = &info_.abilities, .token = lock, .lease = 5s, .max = 1});
  ASSERT_EQ(fetched->activities.size(), 1U);

  clock_.advance(10s);
  const ActivityResult retry{
      .id = fetched->activities[0].id, .token = lock, .result = Retry{.failure = "why"}};
  only(store->finish_activities(one(retry)));
  EXPECT_TRUE(store->state()->activities.empty());
  EXPECT_TRUE(store->state()->cancels.empty());
  EXPECT_EQ(store->session("gpu")->state, store::SessionStatus::expired);
  const LockedTurn told = fetch(*store, worker);
  ASSERT_EQ(told.messages.size(), 1U);
  EXPECT_EQ(std::get<ActivityTaken>(told.messages[0].body),
            (ActivityTaken{CancelReason::session_expired, "gpu", "why", 1, info_.node,
                           store::SessionReason::ttl, ""}));
}

TEST_F(MemoryStoreTest, NamespacesShareNothingButTheNumbers) {
  const auto first = open("first");
  const auto second = open("second");
  EXPECT_EQ(only(first->start(one(order("order-1")))).key, InstanceKey{1});
  EXPECT_EQ(only(second->start(one(order("order-1")))).key, InstanceKey{2});
  EXPECT_EQ(first->list({})->instances.size(), 1U);
  EXPECT_EQ(second->join(info_), WorkerKey{1});
  EXPECT_EQ(first->join(info_), WorkerKey{2});
  EXPECT_EQ(first->workers()->size(), 1U);
}

TEST_F(MemoryStoreTest, StoresOfOneDatabaseWakeEachOther) {
  const auto one_process = open("default");
  const auto another = open("default");
  const auto elsewhere = open("elsewhere");
  const auto listener = another->listen(kAllWork, {});
  const auto stranger = elsewhere->listen(kAllWork, {});
  only(one_process->start(one(order("order-1"))));
  EXPECT_EQ(listener->wait(BootTime{}).work, kTurns);
  EXPECT_TRUE(stranger->wait(BootTime{}).work.empty());
}

TEST_F(MemoryStoreTest, AFaultBeforeACallLeavesNothingAndALostAnswerAll) {
  const auto store = open("default");
  const std::vector requests{order("order-1"), order("order-2")};
  const StoreError unavailable{.kind = StoreError::Kind::unavailable};

  faults_.inject("memory.start", 1, Fault::fail_before);
  const auto failed = store->start(requests);
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[1].error(), unavailable);
  EXPECT_TRUE(store->state()->instances.empty());

  faults_.inject("memory.start", 1, Fault::lose_answer);
  EXPECT_EQ(store->start(requests)[1].error(), unavailable);
  EXPECT_EQ(store->state()->instances.size(), 2U);
}

TEST_F(MemoryStoreTest, LeaseTimeNeverStepsBetweenStoresWithClocksOfTheirOwn) {
  const ManualClock late(ManualClock::kCalendarStart, ManualClock::kBootStart - 30min);
  const auto ahead = open("default");
  const auto behind = memory({.database = database_, .clock = &late});
  const WorkerKey worker = *ahead->join(info_);
  EXPECT_EQ(behind->workers()->front().last_seen, 0s);
  clock_.advance(3s);
  EXPECT_EQ(behind->workers()->front().last_seen, 0s);
  EXPECT_TRUE(ahead->refresh(worker, false));
  clock_.advance(1s);
  EXPECT_EQ(behind->workers()->front().last_seen, 0s);
  EXPECT_EQ(ahead->workers()->front().last_seen, 1s);
}

}  // namespace
}  // namespace holdfast
