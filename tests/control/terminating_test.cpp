// Instances that are terminated by workers that don't have their code.
#include "control_test.hpp"

#include <string>

namespace holdfast::control::terminating_test {
namespace {

Task<std::string> parent(Context& ctx) {
  const Result<int> told = co_await ctx.child<int>("told", {.id = "child"}).result();
  co_return told ? "told" : std::string(to_string(told.error().category));
}

/// Has an activity, a timer and two children open when it is terminated.
Task<int> busy(Context& ctx) {
  auto nap = ctx.sleep(1h).start();
  auto work = ctx.activity<int>("nobody_has_it").start();
  auto closed =
      ctx.child<int>("told", {.id = "closed", .on_parent_close = ParentClosePolicy::terminate}).start();
  auto kept = ctx.child<int>("told", {.id = "kept", .on_parent_close = ParentClosePolicy::abandon}).start();
  co_return co_await ctx.event<int>("end");
}

class TerminatingTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker() {
    return runtime([](Runtime& r) {
      add_program(r);
      r.orchestration("busy", busy);
    });
  }
  /// Has the parent's code, and none of what it starts.
  std::unique_ptr<Runtime> stranger() {
    return runtime([](Runtime& r) { r.orchestration("parent", parent); });
  }
  static std::string end_of(const Run& run) {
    try {
      run.wait<int>(kSoon);
    } catch (const RunCancelled& e) {
      return std::string(to_string(e.failure().category)) + ": " + e.failure().message;
    }
    return "completed";
  }
};
HOLDFAST_ON_EACH_STORE(TerminatingTest);

TEST_P(TerminatingTest, NeedsNobodyWhoHasTheCode) {
  const auto rt = stranger();
  const Client client = rt->client();
  const Run run = rt->client().start("told");
  EXPECT_FALSE(wait_of(run.describe(), RunWait::Kind::worker).served);
  run.terminate("nobody will ever run it");
  EXPECT_EQ(end_of(run), "terminated: nobody will ever run it");
}

TEST_P(TerminatingTest, EndsWhatHasBegunElsewhere) {
  Client client(store());
  const Run run = client.start("busy", {.id = "busy"});
  {
    const auto rt = worker();
    EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "end"); }));
    EXPECT_TRUE(
        eventually([&] { return waits_for(client.run("kept").describe(), RunWait::Kind::event, "end"); }));
  }
  const auto rt = stranger();
  run.terminate("enough");
  EXPECT_EQ(end_of(run), "terminated: enough");
  EXPECT_EQ(end_of(client.run("closed")).substr(0, 10), "terminated") << "nor is its code";
  EXPECT_EQ(client.run("kept").status(), Status::running);
  EXPECT_TRUE(store()->state().value().activities.empty());
  for (const RunWait& wait : run.describe().waits) EXPECT_EQ(wait.name, "kept");
}

TEST_P(TerminatingTest, TellsTheParent) {
  const auto rt = stranger();
  Client client = rt->client();
  const Run run = client.start("parent");
  EXPECT_TRUE(eventually([&] { return client.find("child").has_value(); }));
  client.terminate("child", "nobody has its code");
  EXPECT_EQ(run.wait<std::string>(kSoon), "terminated");
}

TEST_P(TerminatingTest, AlsoAfterARequestToCancelThatNobodyCanFollow) {
  const auto rt = stranger();
  const Run run = rt->client().start("told");
  run.cancel({.terminate_after = 50ms}, "no need");
  EXPECT_EQ(end_of(run), "terminated: no need");
}

TEST_P(TerminatingTest, ADelayedStart) {
  const auto rt = stranger();
  const Run run = rt->client().start("told", {.id = "later", .delay = 1h});
  run.terminate("never mind");
  EXPECT_EQ(end_of(run), "terminated: never mind");
}

TEST_P(TerminatingTest, KeepsTheVersionThatWasAskedFor) {
  const auto rt = stranger();
  const Run run = rt->client().start("told", {.id = "old", .version = "^7"});
  run.terminate("no");
  EXPECT_EQ(end_of(run), "terminated: no");
  EXPECT_EQ(run.info().version, "^7");
}

}  // namespace
}  // namespace holdfast::control::terminating_test
