// Calls about all instances that match a filter.
#include "control_test.hpp"
#include "testkit/support/forwarding_store.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::control::bulk_test {
namespace {

Task<int> parent(Context& ctx) {
  const std::string id = ctx.instance_id() + ".child";
  co_return co_await ctx.child<int>("told", {.id = id});
}

class BulkTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker() {
    return runtime([](Runtime& r) {
      add_program(r);
      r.orchestration("parent", parent);
    });
  }
  static std::vector<std::string> start(Client& client, const std::string& prefix, int count) {
    std::vector<StartItem> items;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(prefix + std::to_string(i));
      items.push_back(start_item(ids.back()));
    }
    client.start_all("told", items);
    return ids;
  }
  static std::size_t count(const Client& client, Status status) {
    return client.list({.statuses = {status}, .limit = 10'000}).runs.size();
  }
};
HOLDFAST_ON_EACH_STORE(BulkTest);

TEST_P(BulkTest, SuspendAndResumeThoseThatMatch) {
  const auto rt = worker();
  Client client = rt->client();
  start(client, "a", 120);
  start(client, "b", 30);
  client.suspend("a7");
  EXPECT_EQ(client.suspend_all({.prefix = "a", .limit = 50}).done, 119U);
  EXPECT_EQ(count(client, Status::suspended), 120U);
  EXPECT_EQ(client.resume_all({.prefix = "a", .limit = 50}).done, 120U);
  EXPECT_EQ(count(client, Status::running), 150U);
  EXPECT_EQ(client.resume_all({}).done, 0U);
}

TEST_P(BulkTest, CancelAndTerminateThoseThatHaveNotEnded) {
  const auto rt = worker();
  Client client = rt->client();
  start(client, "a", 40);
  start(client, "b", 40);
  EXPECT_EQ(client.cancel_all({.prefix = "a"}, "enough").done, 40U);
  EXPECT_TRUE(eventually([&] { return count(client, Status::cancelled) == 40; }));
  const BulkResult result = client.terminate_all({}, "enough");
  EXPECT_EQ(result.done, 40U);
  EXPECT_EQ(result.refused, 0U);
  EXPECT_TRUE(eventually([&] { return count(client, Status::terminated) == 40; }));
}

TEST_P(BulkTest, DeleteThoseThatHaveEnded) {
  const auto rt = worker();
  Client client = rt->client();
  const auto ids = start(client, "a", 150);
  for (int i = 0; i < 100; ++i) client.raise(ids[static_cast<std::size_t>(i)], "end", i);
  EXPECT_TRUE(eventually([&] { return count(client, Status::completed) == 100; }));
  EXPECT_EQ(client.delete_all({.statuses = {Status::failed}}).done, 0U);
  EXPECT_EQ(client.delete_all({.limit = 30}).done, 100U);
  EXPECT_EQ(client.list({.limit = 1000}).runs.size(), 50U);
  EXPECT_EQ(client.delete_all({.limit = 30}, {.force = true}).done, 50U);
  EXPECT_TRUE(client.list().runs.empty());
}

TEST_P(BulkTest, DeleteParentsWithTheChildrenThatTheyWaitedFor) {
  const auto rt = worker();
  Client client = rt->client();
  for (int i = 0; i < 10; ++i) client.start("parent", {.id = "p" + std::to_string(i)});
  EXPECT_TRUE(eventually([&] { return client.list({.limit = 1000}).runs.size() == 20; }));
  const BulkResult children = client.delete_all({.orchestration = "told"}, {.force = true});
  EXPECT_EQ(children.done, 0U);
  EXPECT_EQ(children.refused, 10U);
  ASSERT_EQ(children.refusals.size(), 10U);
  EXPECT_EQ(children.refusals[0].id, "p9.child");
  EXPECT_EQ(children.refusals[0].why,
            "instance 'p9.child' is a child that 'p9' waits for: terminate it, then delete it");
  const BulkResult all = client.delete_all({}, {.force = true});
  EXPECT_EQ(all.done, 20U);
  EXPECT_EQ(all.refused, 0U);
  EXPECT_TRUE(client.list().runs.empty());
}

/// Whenever a page is read, somebody starts a tree.
class BusyStore final : public support::ForwardingStore {
 public:
  BusyStore(std::shared_ptr<Store> to, std::function<void()> start)
      : ForwardingStore(std::move(to)), start_(std::move(start)) {}
  StoreResult<store::InstancePage> list(const store::InstanceFilter& filter) override {
    auto page = ForwardingStore::list(filter);
    start_();
    return page;
  }

 private:
  std::function<void()> start_;
};

TEST_P(BulkTest, DeletingLeavesAloneWhatIsStartedMeanwhile) {
  const auto rt = worker();
  Client starter = rt->client();
  const auto trees = [&] { return starter.list({.orchestration = "parent", .limit = 1000}).runs.size(); };
  const auto all = [&] { return starter.list({.limit = 1000}).runs.size(); };
  for (int i = 0; i < 10; ++i) starter.start("parent", {.id = "p" + std::to_string(i)});
  EXPECT_TRUE(eventually([&] { return all() == 20; }));
  std::size_t started = 0;
  const Client client(std::make_shared<BusyStore>(store(), [&] {
    if (started == 50) return;
    const std::size_t before = all();
    starter.start("parent", {.id = "later" + std::to_string(started++)});
    EXPECT_TRUE(eventually([&] { return all() == before + 2; }));
  }));
  EXPECT_EQ(client.delete_all({}, {.force = true, .cascade = true}).refused, 0U);
  EXPECT_EQ(trees(), started);
  EXPECT_EQ(all(), 2 * started);
}

TEST_P(BulkTest, WhatTheStoreCouldNotAnswerIsAskedForAgain) {
  FaultScript faults;
  Client client(store(&faults));
  start(client, "a", 25);
  faults.inject(point("memory.delete_instances", "sqlite.commit", "postgres.commit"), 2, Fault::lose_answer);
  const BulkResult result = client.delete_all({}, {.force = true});
  EXPECT_EQ(faults.pending(), 0U);
  EXPECT_EQ(result.done, 25U);
  EXPECT_EQ(result.refused, 0U);
}

}  // namespace
}  // namespace holdfast::control::bulk_test
