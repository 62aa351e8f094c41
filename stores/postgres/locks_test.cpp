// Rows that others have locked: who waits for them, in which order everybody locks, and who is told to come
// again.
#include "calls_test.hpp"
#include "statements.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>

namespace holdfast::postgres_store::locks_test {
namespace {

using namespace std::chrono_literals;
using store::ActivityId;
using store::TurnCommit;

// ---- a row that stays locked ---------------------------------------------------------------------

TEST(PostgresLocks, ALockedRowHoldsUpOnlyTheCallThatNeedsIt) {
  const TestSchema schema;
  const auto store = schema.open({.timeout = 5s});
  TestWorker worker(store, "a");
  ASSERT_TRUE(start(*store, start_of("other")));
  const store::LockedTurn other = worker.fetch_turns()->turns.at(0);
  ASSERT_TRUE(start(*store, start_of("locked")));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'locked' FOR UPDATE");
  auto sent = std::async(std::launch::async, [&] { return send(*store, tell("locked")); });
  until_blocked(schema);
  const std::array renewals{store::TurnRenewal{.key = other.key, .token = other.token}};
  const auto renewed = store->renew_turns(worker.key, 1h, renewals).front();
  const auto started = start(*store, start_of("new"));
  EXPECT_EQ(sent.wait_for(0s), std::future_status::timeout) << "the others waited for it";
  EXPECT_TRUE(renewed) << renewed.error().message;
  EXPECT_TRUE(started) << started.error().message;
  intruder.leave();
  EXPECT_TRUE(sent.get());
  EXPECT_EQ(message_count(*store, "locked"), 2U);
}

TEST(PostgresLocks, ItemsOfOneCallAreAnsweredWithoutTheOneWhoseRowIsLocked) {
  const TestSchema schema;
  const auto store = schema.open({.timeout = 500ms});
  for (const char* const id : {"a", "b", "c"}) ASSERT_TRUE(start(*store, start_of(id)));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'b' FOR UPDATE");
  const std::array messages{tell("b"), tell("a"), tell("b"), tell("c")};
  const auto answers = store->send(messages);
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().kind, StoreError::Kind::unavailable);
  EXPECT_NE(answers[0].error().message.find("locked"), std::string::npos) << answers[0].error().message;
  EXPECT_FALSE(answers[2]);
  ASSERT_TRUE(answers[1]) << answers[1].error().message;
  ASSERT_TRUE(answers[3]) << answers[3].error().message;
  intruder.leave();
  EXPECT_EQ(*answers[1], store->find("a")->key) << "each item has its own answer";
  EXPECT_EQ(*answers[3], store->find("c")->key);
}

// Both deployments have a namespace 1, and advisory locks belong to the whole database.
TEST(PostgresLocks, ANameIsReservedInItsOwnSchemaOnly) {
  const TestSchema theirs;
  const TestSchema ours;
  const auto other = theirs.open();
  const auto store = ours.open({.timeout = 500ms});
  TestWorker worker(store, "a");
  Intruder intruder(theirs);
  for (const auto& [name, reserve] :
       {std::pair{"names", sql::kReserve}, std::pair{"sessions", sql::kReserveSessions}}) {
    intruder.run("PREPARE " + std::string(name) + "(integer, text[]) AS " + reserve.sql());
    intruder.run("EXECUTE " + std::string(name) + "(1, ARRAY['chat'])");
  }
  const auto started = start(*store, start_of("chat"));
  EXPECT_TRUE(started) << started.error().message;
  const auto acquired = store->acquire_session(worker.key, worker.abilities, "chat", {});
  EXPECT_TRUE(acquired) << acquired.error().message;
  EXPECT_FALSE(start(*theirs.open({.timeout = 500ms}), start_of("chat"))) << "it is reserved there";
}

TEST(PostgresLocks, ARenewalWaitsForNoOtherRenewal) {
  const TestSchema schema;
  const auto store = schema.open({.timeout = 500ms});
  TestWorker worker(store, "a");
  for (const char* const id : {"a", "b"}) ASSERT_TRUE(start(*store, start_of(id)));
  std::vector<store::TurnRenewal> renewals;
  const auto fetched = worker.fetch_turns();
  for (const auto& turn : fetched->turns) renewals.push_back({.key = turn.key, .token = turn.token});
  ASSERT_EQ(renewals.size(), 2U);
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'a' FOR UPDATE");
  const auto answers = store->renew_turns(worker.key, 1h, renewals);
  EXPECT_FALSE(answers[0]);
  EXPECT_TRUE(answers[1]) << answers[1].error().message;
}

// A lock that is asked for while the call runs: nobody could say beforehand whom it concerns.
TEST(PostgresLocks, ALockThatACallFindsOnItsWayHoldsUpNobodyElse) {
  const TestSchema schema;
  const auto store = schema.open({.timeout = 5s});
  TestWorker worker(store, "a");
  ASSERT_TRUE(store->acquire_session(worker.key, worker.abilities, "chat", {}));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM sessions FOR UPDATE");
  auto closed = std::async(std::launch::async,
                           [&] { return store->close_session("chat", store::SessionReason::operated); });
  until_blocked(schema);
  const auto started = start(*store, start_of("new"));
  EXPECT_EQ(closed.wait_for(0s), std::future_status::timeout) << "the other waited for it";
  EXPECT_TRUE(started) << started.error().message;
  intruder.leave();
  EXPECT_TRUE(closed.get());
}

/// All that a worker does for one instance, each call answered.
void live_through_a_day(TestWorker& worker, const std::string& instance) {
  const auto expect = [](const auto& answer, const char* call) {
    EXPECT_TRUE(answer) << call << ": " << answer.error().message;
  };
  const std::string session = "session of " + instance;
  const store::LockedTurn turn = worker.schedule(instance, {"", session}, true);
  const std::array turns{store::TurnRenewal{.key = turn.key, .token = turn.token}};
  expect(worker.store->renew_turns(worker.key, 1h, turns).front(), "renew_turns");
  const auto fetched = worker.fetch();
  expect(fetched, "fetch_activities");
  for (const auto& activity : fetched->activities) {
    const std::array renewals{store::ActivityRenewal{.id = activity.id, .token = worker.token}};
    expect(worker.store->renew_activities(worker.key, 1h, renewals).front(), "renew_activities");
    expect(worker.finish(activity.id, worker.token), "finish_activities");
  }
  EXPECT_EQ(fetched->activities.size(), 2U);
  TurnCommit end = TestWorker::end_of(turn);
  end.end = store::InstanceEnd{};
  expect(worker.commit(end), "commit_turns");
  expect(worker.store->close_session(session, store::SessionReason::operated), "close_session");
  expect(worker.store->refresh(worker.key, false), "refresh");
}

// As if its machine had been suspended, with all locks of a call in its hands. One call of another needs what
// that was about.
TEST(PostgresLocks, AProcessThatIsStoppedInAnyOfItsCallsHoldsUpNobodyElsesWork) {
  const TestSchema schema;
  Pause pause("postgres.commit");
  TestWorker stops(schema.open({.faults = &pause}), "stops");
  TestWorker healthy(schema.open({.timeout = 3s}), "healthy", 10, "other", "do");
  bool stopped = true;
  for (int nth = 1; stopped; ++nth) {
    const std::string name = std::to_string(nth);
    SCOPED_TRACE("stopped in call " + name);
    pause.arm(nth);
    auto day = std::async(std::launch::async, [&] { live_through_a_day(stops, "stopped " + name); });
    while (!pause.is_reached() && day.wait_for(1ms) == std::future_status::timeout) {
    }
    stopped = pause.is_reached();
    auto sent = std::async(std::launch::async, [&] { return send(*healthy.store, tell("stopped " + name)); });
    live_through_a_day(healthy, "healthy " + name);
    pause.release();
    day.get();
    sent.wait();
    if (testing::Test::HasFailure()) return;
  }
}

// ---- one order -----------------------------------------------------------------------------------

/// A session of this worker with two activities, one of which runs.
struct SessionAtWork {
  explicit SessionAtWork(const TestSchema& schema)
      : store(postgres(schema.uri() + " options='-c deadlock_timeout=60s'", {.schema = schema.name()})),
        worker(store, "a"),
        turn(worker.schedule("order-1", {"chat", "chat"}, true)) {
    const auto fetched = worker.fetch(1);
    running = fetched->activities.at(0).id;
    hold = fetched->activities.at(0).session->hold;
  }
  [[nodiscard]] TurnCommit next_turn() const { return TestWorker::end_of(turn); }

  std::shared_ptr<Store> store;
  TestWorker worker;
  store::LockedTurn turn;
  ActivityId running{};
  store::SessionHold hold{};
};

using CallInSession = std::function<bool(SessionAtWork&)>;

const std::map<std::string, CallInSession>& calls_in_session() {
  static const std::map<std::string, CallInSession> calls{
      {"an activity is finished",
       [](SessionAtWork& at) {
         return bool(patiently([&] { return at.worker.finish(at.running, at.worker.token); }));
       }},
      {"an activity is renewed",
       [](SessionAtWork& at) {
         const std::array renewals{store::ActivityRenewal{.id = at.running, .token = at.worker.token}};
         return bool(
             patiently([&] { return at.store->renew_activities(at.worker.key, 1h, renewals).front(); }));
       }},
      {"a turn schedules one more",
       [](SessionAtWork& at) {
         TurnCommit turn = at.next_turn();
         turn.activities = {{.event = {3}, .name = "say", .session = store::SessionUse{.id = "chat"}}};
         return bool(patiently([&] { return at.worker.commit(turn); }));
       }},
      {"a turn cancels one",
       [](SessionAtWork& at) {
         TurnCommit turn = at.next_turn();
         turn.cancelled = {{.event = at.running.event}};
         return bool(patiently([&] { return at.worker.commit(turn); }));
       }},
      {"the instance ends",
       [](SessionAtWork& at) {
         TurnCommit turn = at.next_turn();
         turn.end = store::InstanceEnd{};
         return bool(patiently([&] { return at.worker.commit(turn); }));
       }},
      {"the session is closed",
       [](SessionAtWork& at) {
         return bool(at.store->close_session("chat", store::SessionReason::operated));
       }},
      {"the session is renewed",
       [](SessionAtWork& at) {
         const std::array renewals{store::SessionRenewal{.hold = at.hold}};
         return bool(patiently([&] { return at.store->renew_sessions(at.worker.key, renewals).front(); }));
       }},
  };
  return calls;
}

// Whoever goes the same way must not find that somebody who waits for the session holds what comes after it.
TEST(PostgresLocks, WhoWaitsForASessionHoldsNothingThatOthersLockAfterIt) {
  for (const auto& [what, call] : calls_in_session()) {
    SCOPED_TRACE(what);
    const TestSchema schema;
    SessionAtWork at(schema);
    Intruder intruder(schema);
    intruder.run("SELECT 1 FROM sessions FOR UPDATE");
    auto done = std::async(std::launch::async, [&] { return call(at); });
    until_blocked(schema);
    EXPECT_NO_THROW(intruder.run("SELECT 1 FROM instances FOR UPDATE NOWAIT"));
    EXPECT_NO_THROW(intruder.run("SELECT 1 FROM activities FOR UPDATE NOWAIT"));
    intruder.leave();
    EXPECT_TRUE(done.get());
  }
}

TEST(PostgresLocks, WhoWaitsForAnInstanceHoldsNoActivity) {
  const TestSchema schema;
  const auto store = schema.open();
  TestWorker worker(store, "a");
  worker.schedule("order-1", {""});
  const ActivityId id = worker.fetch()->activities.at(0).id;
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  auto done = std::async(std::launch::async,
                         [&] { return patiently([&] { return worker.finish(id, worker.token); }); });
  until_blocked(schema);
  EXPECT_NO_THROW(intruder.run("SELECT 1 FROM activities FOR UPDATE NOWAIT"));
  intruder.leave();
  EXPECT_TRUE(done.get());
}

// Which sessions an instance has to do with is known when its row is locked. Whoever goes the usual way, the
// session first, must not have to wait until the server finds a deadlock.
TEST(PostgresLocks, WhoHasToWaitForALockLetsGoOfWhatOthersLockAfterIt) {
  const TestSchema schema;
  SessionAtWork at(schema);
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM sessions FOR UPDATE");
  auto deleted =
      std::async(std::launch::async, [&] { return at.store->delete_instance("order-1", true, {}); });
  until_blocked(schema);
  EXPECT_NO_THROW(intruder.run("SELECT 1 FROM instances FOR UPDATE"));
  intruder.leave();
  const auto answer = deleted.get();
  EXPECT_TRUE(answer) << answer.error().message;
}

/// How often the server found that transactions waited for each other, when all of them are over.
std::int64_t deadlocks(const TestSchema& schema) {
  while (schema.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'"
                       " AND pid <> pg_backend_pid()") > 0) {
  }
  return schema.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
}

/// One process schedules activities of several instances in one session, another does them.
void work_in_one_session(const TestSchema& schema) {
  constexpr std::uint64_t kInstances = 4;
  constexpr std::uint64_t kActivities = 30;
  // The server looks before those who wait have lost their patience.
  const auto open = [&] {
    return postgres(schema.uri() + " options='-c deadlock_timeout=10ms'", {.schema = schema.name()});
  };
  TestWorker turns(open(), "turns", 0);
  TestWorker activities(open(), "activities");
  std::vector<store::LockedTurn> begun;
  for (std::uint64_t i = 0; i < kInstances; ++i) {
    begun.push_back(turns.schedule("order-" + std::to_string(i), {"chat"}, true));
  }
  std::atomic<bool> failed{false};
  const std::jthread schedules([&] {
    for (std::uint64_t event = 2; event <= kActivities; ++event) {
      for (store::LockedTurn& turn : begun) {
        TurnCommit commit = TestWorker::end_of(turn);
        commit.keep_lock = true;
        commit.activities = {{.event = {event}, .name = "say", .session = store::SessionUse{.id = "chat"}}};
        auto committed = turns.commit(commit);
        // On a loaded machine the other one may keep the session for long, and nothing has happened.
        while (!committed && committed.error().kind == StoreError::Kind::busy)
          committed = turns.commit(commit);
        failed = !committed;
        ASSERT_TRUE(committed) << committed.error().message;
        turn.stamp = commit.stamp;
      }
    }
  });
  for (std::uint64_t finished = 0; finished < kInstances * kActivities && !failed;) {
    const auto fetched = activities.fetch(2);
    ASSERT_TRUE(fetched) << fetched.error().message;
    for (const auto& activity : fetched->activities) {
      const auto answer = activities.finish(activity.id, activities.token);
      ASSERT_TRUE(answer) << answer.error().message;
      ++finished;
    }
  }
}

TEST(PostgresLocks, ProcessesThatWorkInOneSessionNeverWaitForEachOther) {
  TestServer server;
  const TestSchema schema(server);
  work_in_one_session(schema);
  EXPECT_EQ(deadlocks(schema), 0);
}

// ---- who comes second ----------------------------------------------------------------------------

/// Two workers of two processes; the first is stopped in its fetch, with all that it has looked at in its
/// hands.
struct TwoWorkers {
  explicit TwoWorkers(const TestSchema& schema)
      : first(schema.open({.faults = &pause}), "a"), second(schema.open(), "b") {}
  ~TwoWorkers() { pause.release(); }
  TwoWorkers(const TwoWorkers&) = delete;
  TwoWorkers& operator=(const TwoWorkers&) = delete;

  Pause pause{"postgres.commit"};
  TestWorker first;
  TestWorker second;
};

TEST(PostgresLocks, WhoComesSecondForTurnsLooksAgainSoon) {
  const TestSchema schema;
  TwoWorkers workers(schema);
  for (const char* const id : {"a", "b"}) ASSERT_TRUE(start(*workers.second.store, start_of(id)));
  workers.pause.arm();
  auto fetched = std::async(std::launch::async, [&] { return workers.first.fetch_turns(1)->turns.size(); });
  workers.pause.until_reached();
  const auto second = workers.second.fetch_turns(1);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->turns.empty());
  EXPECT_LE(second->next_due, 100ms);
  workers.pause.release();
  EXPECT_EQ(fetched.get(), 1U);
  EXPECT_EQ(workers.second.fetch_turns(1)->turns.size(), 1U);
}

TEST(PostgresLocks, ATimerOfALockedInstanceIsLookedForAgainSoon) {
  const TestSchema schema;
  TestWorker worker(schema.open(), "a");
  ASSERT_TRUE(start(*worker.store, start_of("order-1")));
  const store::LockedTurn turn = worker.fetch_turns()->turns.at(0);
  TurnCommit commit = TestWorker::end_of(turn);
  for (const store::Message& message : turn.messages) commit.consumed.push_back(message.id);
  commit.timers = {{.event = {1}, .due = CalendarTime{}}};
  ASSERT_TRUE(worker.commit(commit));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  const auto fetched = worker.fetch_turns();
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_TRUE(fetched->turns.empty());
  EXPECT_LE(fetched->next_due, 100ms);
  intruder.leave();
  EXPECT_EQ(worker.fetch_turns()->turns.size(), 1U);
}

// Three processes with one slot each come only when they are told to, or when something is due. Each keeps
// what it has until all have something: an item that nobody is told of stays where it is.
class OneItemForEach {
 public:
  explicit OneItemForEach(const TestSchema& schema) : turns_(schema.open(), "turns", 0) {
    for (const char* const node : {"a", "b", "c"}) {
      workers_.push_back(std::make_unique<TestWorker>(schema.open(), node, 1));
      ears_.push_back(workers_.back()->store->listen(store::kActivities, workers_.back()->key));
    }
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      threads_.emplace_back([this, i] { run(*workers_[i], *ears_[i]); });
    }
  }
  ~OneItemForEach() {
    stop_ = true;
    for (const auto& ear : ears_) ear->interrupt();
  }
  OneItemForEach(const OneItemForEach&) = delete;
  OneItemForEach& operator=(const OneItemForEach&) = delete;

  /// False when one of them was told of nothing.
  bool round(const std::string& name, const std::vector<std::string>& sessions) {
    wanted_ += static_cast<int>(sessions.size());
    turns_.schedule(name, sessions);
    while (given_back_ < wanted_ && !forgotten_) std::this_thread::sleep_for(1ms);
    return !forgotten_;
  }

 private:
  void run(TestWorker& worker, store::Listener& ear) {
    constexpr Duration kNobodyCame = 10s;
    while (!stop_ && !forgotten_) {
      const auto fetched = worker.fetch(1);
      ASSERT_TRUE(fetched) << fetched.error().message;
      for (const auto& activity : fetched->activities) keep_until_all_have_one(worker, activity);
      if (!fetched->activities.empty()) continue;
      const Duration patience = std::min<Duration>(fetched->next_due, kNobodyCame);
      const bool told = !ear.wait(real_clock().boot_now() + patience).work.empty();
      if (!told && patience == kNobodyCame && taken_ < wanted_) forgotten_ = true;
    }
  }
  void keep_until_all_have_one(TestWorker& worker, const store::LockedActivity& activity) {
    ++taken_;
    while (taken_ < wanted_ && !forgotten_) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(worker.finish(activity.id, worker.token));
    if (activity.session) {
      const std::array releases{store::SessionRelease{.hold = activity.session->hold}};
      EXPECT_TRUE(worker.store->release_sessions(worker.key, releases).front());
    }
    ++given_back_;
  }

  std::atomic<int> wanted_{0};
  std::atomic<int> taken_{0};
  std::atomic<int> given_back_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> forgotten_{false};
  TestWorker turns_;
  std::vector<std::unique_ptr<TestWorker>> workers_{};
  std::vector<std::unique_ptr<store::Listener>> ears_{};
  std::vector<std::jthread> threads_{};
};

TEST(PostgresLocks, NoItemIsLeftThatNobodyIsToldOf) {
  const TestSchema schema;
  OneItemForEach workers(schema);
  for (int i = 0; i < 15; ++i) {
    const std::string name = std::to_string(i);
    ASSERT_TRUE(workers.round("free-" + name, {"", "", ""})) << i;
    ASSERT_TRUE(workers.round("bound-" + name, {"one-" + name, "two-" + name, "three-" + name})) << i;
  }
}

}  // namespace
}  // namespace holdfast::postgres_store::locks_test
