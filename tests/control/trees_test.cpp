// Instances with all that descend from them: shown in pages, and deleted.
#include "control_test.hpp"

#include <set>
#include <string>
#include <vector>

namespace holdfast::control::trees_test {
namespace {

/// Starts `width` children, each of which does so down to `depth`; the leaves wait to be told.
Task<int> grows(Context& ctx, int width, int depth) {
  if (depth == 0) co_return co_await ctx.event<int>("end");
  std::vector<Op<int>> children;
  for (int i = 0; i < width; ++i) {
    const std::string id = ctx.instance_id() + "." + std::to_string(i);
    children.push_back(ctx.child<int>("grows", {.id = id}, width, depth - 1));
  }
  int sum = 0;
  for (const int part : co_await when_all(std::move(children))) sum += part;
  co_return sum;
}

class TreesTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker() {
    return runtime([](Runtime& r) {
      add_program(r);
      r.orchestration("grows", grows);
    });
  }
  Run grown(Client& client, int width, int depth, std::size_t size) {
    Run run = client.start("grows", {.id = "r"}, width, depth);
    EXPECT_TRUE(eventually([&] { return client.list({.limit = 1000}).runs.size() == size; }));
    return run;
  }
  static std::vector<std::string> names(const Client& client, std::size_t limit) {
    std::vector<std::string> all;
    TreeOptions options{.limit = limit};
    for (bool more = true; more;) {
      const TreePage page = client.tree("r", options);
      EXPECT_LE(page.nodes.size(), limit);
      for (const TreeNode& node : page.nodes) all.push_back(std::string(2 * node.depth, ' ') + node.info.id);
      more = page.next.has_value();
      if (more) options.after = *page.next;
    }
    return all;
  }
};
HOLDFAST_ON_EACH_STORE(TreesTest);

TEST_P(TreesTest, ParentsStandBeforeTheirChildren) {
  const auto rt = worker();
  Client client = rt->client();
  grown(client, 2, 2, 7);
  const std::vector<std::string> all = names(client, 100);
  const std::vector<std::string> expected{"r",     "  r.1",     "    r.1.1", "    r.1.0",
                                          "  r.0", "    r.0.1", "    r.0.0"};
  EXPECT_EQ(all, expected);
  for (const std::size_t limit : {1U, 2U, 3U, 6U, 7U}) EXPECT_EQ(names(client, limit), expected) << limit;
}

TEST_P(TreesTest, ShowsThoseThatHaveEndedToo) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = grown(client, 3, 1, 4);
  for (const char* const id : {"r.0", "r.1", "r.2"}) client.raise(id, "end", 1);
  EXPECT_EQ(run.wait<int>(kSoon), 3);
  EXPECT_EQ(names(client, 2).size(), 4U);
  EXPECT_EQ(refusal([&] { static_cast<void>(client.tree("nobody")); }).substr(0, 9), "not_found");
}

TEST_P(TreesTest, AreDeletedOnceAllHaveEnded) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = grown(client, 2, 1, 3);
  EXPECT_EQ(
      refusal([&] { client.delete_instance("r", {.cascade = true}); }),
      "conflict: nothing was deleted: instance 'r', which descends from 'r', has not ended: end it first, or "
      "set force");
  for (const char* const id : {"r.0", "r.1"}) client.raise(id, "end", 1);
  EXPECT_EQ(run.wait<int>(kSoon), 2);
  client.delete_instance("r", {.cascade = true});
  EXPECT_TRUE(client.list().runs.empty());
}

TEST_P(TreesTest, AreDeletedByForceWhileTheyGrow) {
  const auto rt = worker();
  Client client = rt->client();
  for (int round = 0; round < 3; ++round) {
    client.start("grows", {.id = "r"}, 3, 4);
    EXPECT_TRUE(eventually([&] { return client.list({.limit = 1000}).runs.size() > 20; }));
    client.delete_instance("r", {.force = true, .cascade = true});
    EXPECT_TRUE(client.list().runs.empty()) << "nobody is left, and nobody comes";
  }
}

TEST_P(TreesTest, AChildThatIsAwaitedStaysWithItsTree) {
  const auto rt = worker();
  Client client = rt->client();
  grown(client, 2, 2, 7);
  EXPECT_EQ(refusal([&] { client.delete_instance("r.0", {.force = true, .cascade = true}); }).substr(0, 8),
            "conflict");
  EXPECT_EQ(client.list({.statuses = {Status::running}}).runs.size(), 7U);
}

}  // namespace
}  // namespace holdfast::control::trees_test
