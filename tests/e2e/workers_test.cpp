// Workers as clients see them: who is there, what they can do, and who is not there any more.
#include "stores_test.hpp"

#include <holdfast/random.hpp>

#include <array>

namespace holdfast::e2e::workers_test {
namespace {

class WorkersTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(WorkersTest);

Task<void> waits(Context& ctx) { co_await ctx.event<int>("end"); }

TEST_P(WorkersTest, ShowWhatTheyCanDo) {
  RuntimeOptions options = quick(log);
  options.node_id = "a";
  options.activity_slots = 3;
  options.session_limit = 7;
  options.queues = {"gpu", "default"};
  options.capabilities = {"gpu:l4"};
  const auto rt = runtime(options, [](Runtime& r) {
    r.activity("render", [](ActivityContext&) {});
    r.orchestration("waits", waits);
  });
  const std::vector<WorkerInfo> workers = rt->client().workers();
  ASSERT_EQ(workers.size(), 1U);
  const WorkerInfo& a = workers[0];
  EXPECT_EQ(a.node, "a");
  EXPECT_EQ(a.status, WorkerStatus::alive);
  EXPECT_EQ(to_string(a.status), "alive");
  EXPECT_EQ(a.activities, std::vector<std::string>{"render"});
  ASSERT_EQ(a.orchestrations.size(), 2U);
  EXPECT_EQ(a.orchestrations[0].name, "holdfast.schedule");  // which every worker with an orchestration has
  EXPECT_EQ(a.orchestrations[1].name, "waits");
  EXPECT_EQ(a.capabilities, std::vector<std::string>{"gpu:l4"});
  EXPECT_EQ(a.slots, 3U);
  EXPECT_EQ(a.sessions, 0U);
  EXPECT_EQ(a.session_limit, 7U);
  EXPECT_GT(a.pid, 0U);
  EXPECT_FALSE(a.any_queue);
  EXPECT_EQ(a.queues.size(), 2U);
  EXPECT_GT(a.started_at, CalendarTime{});
}

TEST_P(WorkersTest, AreGoneWhenTheyStop) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("waits", waits); });
  Client client(store());
  ASSERT_EQ(client.workers().size(), 1U);
  rt->stop();
  EXPECT_TRUE(client.workers().empty());
}

TEST_P(WorkersTest, OfAnEarlierStartAreReplaced) {
  const auto handle = store();
  ASSERT_TRUE(handle->join({.node = "a"}));
  ASSERT_TRUE(handle->join({.node = "a"}));
  const auto workers = Client(handle).workers();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0].status, WorkerStatus::replaced);
  EXPECT_EQ(workers[1].status, WorkerStatus::alive);
  EXPECT_GT(workers[1].worker, workers[0].worker);
}

/// On a clock of the test's own.
class DeadWorkers : public WorkersTest {
 protected:
  std::shared_ptr<Store> store_in_time() {
    if (GetParam() == Kept::in_a_file) return sqlite(folder / "app.db", {.clock = &clock});
    if (GetParam() == Kept::in_memory) return memory({.database = database, .clock = &clock});
    schema.emplace();
    return schema->open({.clock = &clock});
  }
  ManualClock clock{};
};
HOLDFAST_ON_EACH_STORE(DeadWorkers);

// It never leaves, and nobody sweeps.
TEST_P(DeadWorkers, ServeNothing) {
  const auto handle = store_in_time();
  const store::Code code{.orchestrations = {{"waits", "1"}}};
  const store::Abilities abilities{.handlers = {"render"}};
  const WorkerKey worker = handle->join({.node = "a", .abilities = abilities, .code = code}).value();
  Client client(handle);
  const Run run = client.start("waits", {.id = "w", .version = "1"});
  const auto turn = handle
                        ->fetch_turns({.worker = worker,
                                       .code = &code,
                                       .token = random_token<LockToken>(system_random()),
                                       .lease = 1s})
                        .value()
                        .turns.at(0);
  const std::array commits{store::TurnCommit{.key = turn.key,
                                             .token = turn.token,
                                             .expected = turn.stamp,
                                             .stamp = random_token<TurnStamp>(system_random()),
                                             .execution = turn.execution,
                                             .activities = {{.event = {2}, .name = "render"}}}};
  ASSERT_TRUE(handle->commit_turns({.worker = worker, .abilities = &abilities}, commits).front());
  EXPECT_EQ(client.queues().at(0).workers, 1U);
  EXPECT_TRUE(wait_of(run.describe(), RunWait::Kind::activity).served);
  EXPECT_EQ(client.workers().at(0).status, WorkerStatus::alive);
  clock.advance(61s);
  EXPECT_EQ(client.workers().at(0).status, WorkerStatus::dead);
  EXPECT_EQ(client.workers().at(0).last_seen, 61s);
  EXPECT_EQ(client.queues().at(0).workers, 0U);
  const RunWait wait = wait_of(run.describe(), RunWait::Kind::activity);
  EXPECT_FALSE(wait.served);
  EXPECT_EQ(wait.state.find("no live worker"), 0U) << wait.state;
}

}  // namespace
}  // namespace holdfast::e2e::workers_test
