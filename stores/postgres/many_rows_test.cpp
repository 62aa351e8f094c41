// Calls read and lock what they need, however much there is beside it.
#include "calls_test.hpp"
#include "plan_test.hpp"
#include "statements.hpp"

#include <future>

namespace holdfast::postgres_store::many_rows_test {
namespace {

using namespace std::chrono_literals;

TEST(PostgresManyRows, AClaimLocksNoneOfTheSessionsThatTheWorkerHasAlready) {
  const TestSchema schema;
  const auto store = schema.open({.timeout = 1s});
  TestWorker worker(store, "a", 2);
  ASSERT_TRUE(store->acquire_session(worker.key, worker.abilities, "first", {}));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM sessions WHERE id = 'first' FOR UPDATE");
  const auto second = store->acquire_session(worker.key, worker.abilities, "second", {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->kind, store::Acquired::Kind::created);
  const auto third = store->acquire_session(worker.key, worker.abilities, "third", {});
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->kind, store::Acquired::Kind::limit_exceeded) << "those that are not read count";
}

TEST(PostgresManyRows, AFetchLocksNoSessionThatHasNothingToDo) {
  const TestSchema schema;
  Pause pause("postgres.commit");
  TestWorker worker(schema.open({.faults = &pause}), "a", 3);
  for (const char* const id : {"idle", "busy"}) {
    ASSERT_TRUE(worker.store->acquire_session(worker.key, worker.abilities, id, {}));
  }
  worker.schedule("order-1", {"busy", "new"});
  pause.arm();
  auto fetched = std::async(std::launch::async, [&] { return worker.fetch()->activities.size(); });
  pause.until_reached();
  Intruder intruder(schema);
  EXPECT_NO_THROW(intruder.run("SELECT 1 FROM sessions WHERE id = 'idle' FOR UPDATE NOWAIT"));
  EXPECT_THROW(intruder.run("SELECT 1 FROM sessions WHERE id = 'busy' FOR UPDATE NOWAIT"), SqlError);
  pause.release();
  EXPECT_EQ(fetched.get(), 2U);
}

// ---- what sessions have saved --------------------------------------------------------------------

/// Sessions of this worker with something saved in each, and nothing to do.
void hold_with_state(TestWorker& worker, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string id = "quiet-" + std::to_string(i);
    const auto acquired = worker.store->acquire_session(worker.key, worker.abilities, id, {});
    ASSERT_TRUE(acquired);
    const std::array releases{
        store::SessionRelease{.hold = {id, acquired->session.generation},
                              .reason = store::SessionReason::drained,
                              .save = store::SessionSave{.bytes = std::string(100'000, 's')}}};
    ASSERT_TRUE(worker.store->release_sessions(worker.key, releases).front());
    ASSERT_TRUE(worker.store->acquire_session(worker.key, worker.abilities, id, {}));
  }
}

TEST(PostgresManyRows, WhatSessionsHaveSavedIsReadByWhoClaimsThemOnly) {
  const TestSchema schema;
  FaultScript counts;
  TestWorker worker(schema.open({.faults = &counts}), "a", 3);
  hold_with_state(worker, 1);
  counts.clear();
  // In a session that it holds, and in none.
  worker.schedule("order-1", {"quiet-0", ""});
  const auto fetched = worker.fetch();
  ASSERT_EQ(fetched->activities.size(), 2U);
  for (const auto& activity : fetched->activities) {
    const std::array renewals{store::ActivityRenewal{.id = activity.id, .token = worker.token}};
    ASSERT_TRUE(worker.store->renew_activities(worker.key, 1h, renewals).front());
    ASSERT_TRUE(worker.finish(activity.id, worker.token));
  }
  const store::SessionHold hold{"quiet-0", worker.store->session("quiet-0")->generation};
  const std::array renewals{store::SessionRenewal{.hold = hold}};
  ASSERT_TRUE(worker.store->renew_sessions(worker.key, renewals).front());
  ASSERT_TRUE(worker.store->sweep({.worker = worker.key}));
  ASSERT_EQ(worker.store->sessions({.limit = 10})->size(), 1U);
  EXPECT_EQ(counts.passed("postgres.saved"), 0U);
  // It stays as it was through all of that.
  const std::array releases{store::SessionRelease{.hold = hold, .reason = store::SessionReason::drained}};
  ASSERT_TRUE(worker.store->release_sessions(worker.key, releases).front());
  EXPECT_EQ(counts.passed("postgres.saved"), 0U);
  worker.schedule("order-2", {"quiet-0"});
  const auto claimed = worker.fetch();
  ASSERT_EQ(claimed->activities.size(), 1U);
  EXPECT_EQ(claimed->activities[0].session->saved, std::string(100'000, 's'));
  EXPECT_EQ(counts.passed("postgres.saved"), 1U);
}

TEST(PostgresManyRows, NoStatementBringsWhatWasSavedAlong) {
  for (const Statement& statement :
       {sql::kSessions, sql::kSessionsNow, sql::kClaimableSessions, sql::kReadSessions, sql::kSessionsFor,
        sql::kDueSessions, sql::kHeldElsewhere}) {
    std::string text = statement.sql();
    for (const std::string_view harmless :
         {"octet_length(s.saved)", "s.saved_version", "s.saved IS NOT NULL"}) {
      for (auto at = text.find(harmless); at != std::string::npos; at = text.find(harmless)) {
        text.erase(at, harmless.size());
      }
    }
    EXPECT_EQ(text.find("saved"), std::string::npos) << statement.name;
    EXPECT_EQ(text.find("s.*"), std::string::npos) << statement.name;
  }
}

TEST(PostgresManyRows, AFetchLooksAtNoSessionThatHasNothingToDo) {
  constexpr int kQuiet = 50;
  const TestSchema schema;
  TestWorker worker(schema.open(), "a", 2 * kQuiet);
  hold_with_state(worker, kQuiet);
  worker.schedule("order-1", {"new"});
  const auto ns = static_cast<std::int32_t>(schema.number("SELECT id FROM namespaces"));
  Parameters wanted(ns, worker.key);
  wanted.add_all(worker.abilities.handlers).add(true).add_all(worker.abilities.queues.names);
  wanted.add(schema.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"));
  wanted.add_all(worker.abilities.capabilities).add(false);
  const auto plan = plan_of(schema, sql::kSessionsFor, wanted);
  EXPECT_LE(rows_read(plan, "sessions"), 2) << text_of(plan);
  EXPECT_LE(rows_read(plan, "activities"), 10) << text_of(plan);
}

TEST(PostgresManyRows, ADeliveryThatComesEarlyReadsNoneOfThoseBefore) {
  const TestSchema schema;
  FaultScript counts;
  const auto store = schema.open({.faults = &counts});
  const auto deliver = [&](const std::string& body) {
    store::ClientMessage message = tell("later");
    message.message = {
        .kind = store::MessageKind::delivery, .address = {Address::Kind::event, "e"}, .body = body};
    return send(*store, message);
  };
  for (const char* const body : {"1", "2", "3"}) ASSERT_TRUE(deliver(body));
  EXPECT_EQ(counts.passed("postgres.early"), 0U);
  // They are there when their instance is, in their order.
  TestWorker worker(store, "a");
  ASSERT_TRUE(start(*store, start_of("later")));
  const auto turns = worker.fetch_turns();
  std::vector<std::string> bodies;
  for (const store::Message& message : turns->turns.at(0).messages) {
    if (message.kind == store::MessageKind::delivery) bodies.push_back(std::get<std::string>(message.body));
  }
  EXPECT_EQ(bodies, (std::vector<std::string>{"1", "2", "3"}));
}

TEST(PostgresManyRows, ParkedInstancesAreWokenInSlices) {
  constexpr std::uint64_t kInstances = 450;
  const TestSchema schema;
  FaultScript counts;
  const auto store = schema.open({.faults = &counts});
  TestWorker worker(store, "a");
  std::vector<store::StartRequest> requests;
  for (std::uint64_t i = 0; i < kInstances; ++i) requests.push_back(start_of("order-" + std::to_string(i)));
  for (const auto& started : store->start(requests)) ASSERT_TRUE(started);
  schema.run("UPDATE instances SET status = 2, due_at = NULL");
  counts.clear();
  const auto woken = store->wake_parked(worker.code);
  ASSERT_TRUE(woken) << woken.error().message;
  EXPECT_EQ(*woken, kInstances);
  EXPECT_GE(counts.passed("postgres.commit"), 3U) << "in how many transactions";
  EXPECT_EQ(schema.number("SELECT count(*) FROM instances WHERE status = 2"), 0);
  EXPECT_EQ(worker.fetch_turns(1000)->turns.size(), kInstances);
}

}  // namespace
}  // namespace holdfast::postgres_store::many_rows_test
