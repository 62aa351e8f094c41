// Calls read and lock what they need, however much there is beside it.
#include "calls_test.hpp"

#include <future>

namespace holdfast::postgres_store {
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
}  // namespace holdfast::postgres_store
