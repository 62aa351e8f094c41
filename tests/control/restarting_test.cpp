// A new life with the same input.
#include "control_test.hpp"

#include <atomic>

namespace holdfast::control::restarting_test {
namespace {

Task<int> counts_down(Context& ctx, int from) {
  if (from == 0) throw ActivityFailure("at_zero", "there is nothing left");
  co_await ctx.continue_as_new(from - 1);
}

Task<std::string> version_of(Context& ctx, std::string who) {
  co_return who + " " + std::string(ctx.version());
}

class RestartingTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker() {
    return runtime([](Runtime& r) {
      add_program(r);
      r.orchestration("counts_down", counts_down);
      r.orchestration("version_of", {.version = "1"}, version_of);
      r.orchestration("version_of", {.version = "2"}, version_of);
    });
  }
};
HOLDFAST_ON_EACH_STORE(RestartingTest);

TEST_P(RestartingTest, BeginsWithTheInputOfTheFirstExecution) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("counts_down", {.id = "c"}, 3);
  EXPECT_THROW(run.wait<int>(kSoon), RunFailed);
  EXPECT_EQ(run.info().execution, ExecutionNumber{4});
  const Run again = run.restart();
  EXPECT_NE(again.key(), run.key());
  EXPECT_THROW(again.wait<int>(kSoon), RunFailed);
  EXPECT_EQ(again.info().execution, ExecutionNumber{4});
  EXPECT_EQ(refusal([&] { static_cast<void>(run.info()); }).substr(0, 9), "not_found");
  EXPECT_EQ(client.start("counts_down", {.id = "c"}, 3).key(), again.key()) << "the same wish as at first";
}

TEST_P(RestartingTest, TakesTheNewestVersionOrTheOneThatIsNamed) {
  const auto rt = worker();
  Client client = rt->client();
  EXPECT_EQ(client.start("version_of", {.id = "v", .version = "1"}, "Ada").wait<std::string>(kSoon), "Ada 1");
  EXPECT_EQ(client.restart("v").wait<std::string>(kSoon), "Ada 2");
  EXPECT_EQ(client.restart("v", {.version = "1"}).wait<std::string>(kSoon), "Ada 1");
}

TEST_P(RestartingTest, IsForInstancesThatHaveEnded) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  EXPECT_EQ(
      refusal([&] { static_cast<void>(run.restart()); }),
      "conflict: instance 't' has not ended, it is running: cancel or terminate it, and restart it then");
  run.terminate("enough");
  EXPECT_THROW(run.wait<int>(kSoon), RunCancelled);
  const Run again = run.restart();
  again.raise("end", 4);
  EXPECT_EQ(again.wait<int>(kSoon), 4);
  EXPECT_EQ(refusal([&] { static_cast<void>(run.restart()); }).substr(0, 9), "not_found");
}

TEST_P(RestartingTest, SaysWhenNobodyKnowsTheInput) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("counts_down", {.id = "c"}, 2);
  EXPECT_THROW(run.wait<int>(kSoon), RunFailed);
  EXPECT_TRUE(client.prune_execution("c", ExecutionNumber{1}));
  EXPECT_NE(refusal([&] {
              static_cast<void>(run.restart());
            }).find("not_found: what instance 'c' was started with"),
            std::string::npos);
  EXPECT_EQ(run.status(), Status::failed) << "it is still there";
}

}  // namespace
}  // namespace holdfast::control::restarting_test
