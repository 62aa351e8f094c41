// Code that waits for the end of other instances, and ends them.
#include "control_test.hpp"

#include <holdfast/ended_instance.hpp>

#include <string>
#include <vector>

namespace holdfast::control::ends_test {
namespace {

std::string words(const EndedInstance& ended) {
  const std::string what = ended.failure ? ended.failure->message : encode(*ended.output_as<int>()).bytes;
  return std::string(to_string(ended.status)) + " " + what;
}

Task<std::string> watches(Context& ctx, std::string id) {
  const Result<EndedInstance> ended = co_await ctx.ended(id).result();
  co_return ended ? words(*ended) : ended.error().type;
}

Task<std::string> is_impatient(Context& ctx, std::string id) {
  auto ended = co_await with_timeout(ctx.ended(id), 1ms);
  co_return ended ? words(*ended) : "not ended";
}

/// Asks again in each round, until it has ended.
Task<std::string> watches_in_rounds(Context& ctx, std::string id, int rounds) {
  auto ended = co_await with_timeout(ctx.ended(id), 5ms);
  if (ended) co_return words(*ended) + (rounds > 0 ? " after some rounds" : "");
  co_await ctx.continue_as_new(id, rounds + 1);
}

Task<std::string> ends_another(Context& ctx, std::string id) {
  ctx.terminate(id, "in the way");
  const EndedInstance ended = co_await ctx.ended(id);
  co_return words(ended);
}

Task<int> goes_on(Context& ctx, int rounds) {
  if (rounds > 0) co_await ctx.continue_as_new(rounds - 1);
  co_return co_await ctx.event<int>("end");
}

class EndsTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker() {
    return runtime([](Runtime& r) {
      add_program(r);
      r.orchestration("watches", watches);
      r.orchestration("is_impatient", is_impatient);
      r.orchestration("watches_in_rounds", watches_in_rounds);
      r.orchestration("ends_another", ends_another);
      r.orchestration("goes_on", goes_on);
    });
  }
  std::size_t watchers_of(const std::string& id) {
    const store::StoreState state = store()->state().value();
    for (const store::InstanceRow& row : state.instances) {
      if (row.view.instance == id) return row.end_watchers.size();
    }
    return 0;
  }
};
HOLDFAST_ON_EACH_STORE(EndsTest);

TEST_P(EndsTest, AllWhoWaitHearHowItEnded) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("goes_on", {.id = "t"}, 2);
  std::vector<Run> watchers;
  for (int i = 0; i < 5; ++i) watchers.push_back(client.start("watches", "t"));
  EXPECT_TRUE(eventually([&] { return watchers_of("t") == 5; }));
  run.raise("end", 6);
  for (const Run& watcher : watchers) EXPECT_EQ(watcher.wait<std::string>(kSoon), "completed 6");
  EXPECT_EQ(client.start("watches", "t").wait<std::string>(kSoon), "completed 6") << "at once";
}

TEST_P(EndsTest, AnyEndIsAnEnd) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  const Run watcher = client.start("watches", "t");
  EXPECT_TRUE(eventually([&] { return watchers_of("t") == 1; }));
  run.terminate("enough");
  EXPECT_EQ(watcher.wait<std::string>(kSoon), "terminated enough");
}

TEST_P(EndsTest, OneThatIsMissingOrDeletedOrItselfIsAFailure) {
  const auto rt = worker();
  Client client = rt->client();
  EXPECT_EQ(client.start("watches", "nobody").wait<std::string>(kSoon), "instance_not_found");
  EXPECT_EQ(client.start("watches", {.id = "w"}, "w").wait<std::string>(kSoon), "own_end");
  client.start("told", {.id = "t"});
  const Run watcher = client.start("watches", "t");
  EXPECT_TRUE(eventually([&] { return watchers_of("t") == 1; }));
  client.delete_instance("t", {.force = true});
  EXPECT_EQ(watcher.wait<std::string>(kSoon), "instance_deleted");
}

TEST_P(EndsTest, WhoGivesUpIsForgotten) {
  const auto rt = worker();
  Client client = rt->client();
  client.start("told", {.id = "t"});
  EXPECT_EQ(client.start("is_impatient", "t").wait<std::string>(kSoon), "not ended");
  EXPECT_EQ(watchers_of("t"), 0U);
  const Run watcher = client.start("watches", "t");
  EXPECT_TRUE(eventually([&] { return watchers_of("t") == 1; }));
  watcher.terminate("enough");
  EXPECT_THROW(watcher.wait<std::string>(kSoon), RunCancelled);
  EXPECT_EQ(watchers_of("t"), 0U);
}

TEST_P(EndsTest, EachExecutionAsksAnew) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  const Run watcher = client.start("watches_in_rounds", "t", 0);
  EXPECT_TRUE(eventually([&] { return watcher.info().execution.value > 3; }));
  EXPECT_LE(watchers_of("t"), 1U);
  run.raise("end", 9);
  EXPECT_EQ(watcher.wait<std::string>(kSoon), "completed 9 after some rounds");
}

TEST_P(EndsTest, CodeTerminatesOthers) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  EXPECT_EQ(client.start("ends_another", "t").wait<std::string>(kSoon), "terminated in the way");
  EXPECT_EQ(run.status(), Status::terminated);
  EXPECT_FALSE(run.info().cancel_requested_at);
}

}  // namespace
}  // namespace holdfast::control::ends_test
