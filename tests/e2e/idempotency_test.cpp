// The key of an effect: what others tell a repeated request by.
#include "stores_test.hpp"

#include <filesystem>
#include <mutex>
#include <set>

namespace holdfast::e2e::idempotency_test {
namespace {

Task<std::string> pays(Context& ctx) {
  const int amount = co_await ctx.event<int>("order");
  co_return co_await ctx.activity<std::string>("charge", amount);
}

Task<std::string> pays_by_child(Context& ctx) {
  const int amount = co_await ctx.event<int>("order");
  co_return co_await ctx.child<std::string>("pays_at_once", amount, 1);
}

// In its second execution.
Task<std::string> pays_at_once(Context& ctx, int amount, int rounds) {
  if (rounds > 0) co_await ctx.continue_as_new(amount, rounds - 1);
  co_return co_await ctx.activity<std::string>("charge", amount);
}

void add_payments(Runtime& rt) {
  rt.activity("charge", [](ActivityContext& ctx, int) { return ctx.idempotency_key(); });
  rt.orchestration("pays", pays);
  rt.orchestration("pays_by_child", pays_by_child);
  rt.orchestration("pays_at_once", pays_at_once);
}

class IdempotencyTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(IdempotencyTest);

Task<int> needs_several_attempts(Context& ctx) {
  co_return co_await ctx.activity<int>("flaky", {.retry = {.max_attempts = 3, .first_delay = 1ms}});
}

TEST_P(IdempotencyTest, TheKeyIsTheSameForEveryAttempt) {
  std::mutex mutex;
  std::set<std::string> keys;
  const auto rt = runtime([&](Runtime& r) {
    r.activity("flaky", [&](ActivityContext& ctx) {
      const std::lock_guard lock(mutex);
      keys.insert(ctx.idempotency_key());
      if (ctx.attempt() < 3) throw std::runtime_error("once more");
      return ctx.attempt();
    });
    r.orchestration("needs_several_attempts", needs_several_attempts);
  });
  EXPECT_EQ(rt->client().start("needs_several_attempts", {.id = "n"}).wait<int>(kSoon), 3);
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys.begin()->size(), 32U);
}

TEST_P(IdempotencyTest, NoTwoInstancesHaveTheSameKeyAndNoTwoLivesOfOne) {
  const auto rt = runtime(add_payments);
  Client client = rt->client();
  std::set<std::string> keys;
  for (int life = 0; life < 3; ++life) {
    for (const std::string id : {"a", "b"}) {
      const Run run = client.start("pays_at_once", {.id = id}, 100, 0);
      keys.insert(run.wait<std::string>(kSoon));
      client.delete_instance(id);
    }
  }
  EXPECT_EQ(keys.size(), 6U);
}

/// Files that are copied, thrown away and begun anew.
class IdempotencyOfFiles : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_ / (name + ".db"); }

  /// With all that stands beside it.
  void copy(const std::string& from, const std::string& to) const {
    const std::string prefix = file(from).filename();
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(prefix)) continue;
      std::filesystem::copy_file(entry.path(), folder_ / (to + ".db" + name.substr(prefix.size())));
    }
  }

  /// The instance waits for its order.
  void start(const std::string& name, const std::string& orchestration) const {
    const auto rt = open(name);
    const holdfast::Run run = rt->client().start(orchestration, {.id = "order-1"});
    EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "order"); }));
  }
  /// The key under which it is paid.
  std::string order(const std::string& name, int amount) const {
    const auto rt = open(name);
    const holdfast::Run run = rt->client().run("order-1");
    run.raise("order", amount);
    return run.wait<std::string>(kSoon);
  }

 private:
  std::unique_ptr<Runtime> open(const std::string& name) const {
    auto rt = std::make_unique<Runtime>(sqlite(file(name)), quiet());
    add_payments(*rt);
    rt->start();
    return rt;
  }
  TemporaryFolder folder_;
};

TEST_F(IdempotencyOfFiles, ABackupThatIsRestoredAndGoesAnotherWayHasOtherKeys) {
  for (const std::string orchestration : {"pays", "pays_by_child"}) {
    SCOPED_TRACE(orchestration);
    start("shop-" + orchestration, orchestration);
    copy("shop-" + orchestration, "same-" + orchestration);
    copy("shop-" + orchestration, "other-" + orchestration);
    const std::string key = order("shop-" + orchestration, 100);
    EXPECT_NE(order("other-" + orchestration, 200), key) << "another order would get somebody else's receipt";
    EXPECT_EQ(order("same-" + orchestration, 100), key) << "the same order would be paid twice";
  }
}

TEST_F(IdempotencyOfFiles, TwoFilesHaveOtherKeysAndSoHasOneThatIsBegunAnew) {
  std::set<std::string> keys;
  for (const std::string name : {"one", "two", "one"}) {
    std::filesystem::remove(file(name));
    start(name, "pays");
    keys.insert(order(name, 100));
    for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(file(name).string() + beside);
  }
  EXPECT_EQ(keys.size(), 3U);
}

}  // namespace
}  // namespace holdfast::e2e::idempotency_test
