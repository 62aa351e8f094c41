// Instances that are suspended, resumed, cancelled, watched and deleted while the processes that run them are
// killed: nothing is lost, nothing happens twice, and nothing waits for ever.
#include "control_test.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/shared.hpp"

#include <holdfast/ended_instance.hpp>
#include <holdfast/postgres.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::control::killed_engines_test {
namespace {

using support::Processes;
using support::Shared;

/// Adds up what it is sent, each number by way of an activity, until there is a negative one.
Task<int> counts(Context& ctx) {
  const Receiver<int> numbers = ctx.mailbox<int>("numbers");
  int sum = 0;
  for (int round = 0;; ++round) {
    const int number = co_await numbers.receive();
    if (number < 0) co_return sum;
    sum += co_await ctx.activity<int>("same", number);
    if (round % 4 == 0) co_await ctx.sleep(5ms);
    if (round % 7 == 0) sum += co_await ctx.child<int>("adds_nothing", number);
  }
}
Task<int> adds_nothing(Context& ctx, int number) {
  co_return co_await ctx.activity<int>("same", number) - number;
}
Task<std::string> watches(Context& ctx, std::string id) {
  const EndedInstance ended = co_await ctx.ended(id);
  co_return std::string(to_string(ended.status));
}
Task<int> short_lived(Context& ctx, int number) { co_return co_await ctx.activity<int>("same", number); }

struct Board {
  std::atomic<int> ready{0};
  std::atomic<bool> done{false};
  std::atomic<bool> over{false};
};

/// Plays a client and an operator, for so long, and looks at what came of it.
class Operator {
 public:
  Operator(Client client, std::uint32_t seed) : client_(std::move(client)), random_(seed) {}

  void play(Duration length) {
    for (int i = 0; i < kInstances; ++i) {
      const std::string id = "counts-" + std::to_string(i);
      client_.start("counts", {.id = id});
      client_.start("watches", {.id = "watches-" + std::to_string(i)}, id);
    }
    const auto end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) act();
    client_.resume_all({});
    for (int i = 0; i < kInstances; ++i) {
      if (!cancelled_.contains(i)) client_.send(id_of(i), "numbers", -1);
    }
    for (int i = 0; i < kInstances; ++i) check(i);
    EXPECT_TRUE(eventually([&] {
      client_.delete_all({.prefix = "junk-"});
      return client_.list({.prefix = "junk-"}).runs.empty();
    }));
    std::printf("%d actions: %d suspended, %d resumed, %zu cancelled, %d sent, %d deleted\n", actions_,
                suspended_, resumed_, cancelled_.size(), sent_, deleted_);
  }

 private:
  static constexpr int kInstances = 12;

  static std::string id_of(int i) { return "counts-" + std::to_string(i); }
  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint32_t>(below)); }

  void act() {
    ++actions_;
    const int i = draw(kInstances);
    switch (draw(12)) {
      case 0:
      case 1:
        return suspend(i);
      case 2:
      case 3:
      case 4:
        if (refusal([&] { client_.resume(id_of(i)); }) == "fine") ++resumed_;
        return;
      case 5:
        if (i % 3 == 0 && draw(20) == 0) return cancel(i);  // the others go on to the end
        return;
      case 6:
        return add_junk();
      case 7: {
        const BulkResult result = client_.delete_all({.prefix = "junk-"}, {.force = draw(2) == 0});
        deleted_ += static_cast<int>(result.done);
        return;
      }
      case 8:
        if (draw(5) == 0) {
          client_.suspend_all({.prefix = "counts-"});
          client_.resume_all({.prefix = "counts-"});
        }
        return;
      default:
        return send(i);
    }
  }

  // Whatever was under way when the call returned must not be committed any more.
  void suspend(int i) {
    const std::string id = id_of(i);
    if (refusal([&] { client_.suspend(id); }) != "fine") return;
    ++suspended_;
    const auto then = client_.executions(id);
    std::this_thread::sleep_for(std::chrono::milliseconds(draw(40)));
    EXPECT_EQ(client_.executions(id), then) << id << " went on while it was suspended";
    EXPECT_EQ(client_.run(id).status(), Status::suspended);
  }
  void cancel(int i) {
    if (refusal([&] { client_.cancel(id_of(i), "enough"); }) == "fine") cancelled_.emplace(i, true);
  }
  void send(int i) {
    if (cancelled_.contains(i)) return;
    const int number = 1 + draw(100);
    client_.send(id_of(i), "numbers", number);
    sums_[i] += number;
    ++sent_;
  }
  void add_junk() {
    std::vector<StartItem> items;
    for (int i = 0; i < 20; ++i) items.push_back(start_item("junk-" + std::to_string(++junk_), i));
    client_.start_all("short_lived", items);
  }
  void check(int i) {
    const Run run = client_.run(id_of(i));
    const Run watcher = client_.run("watches-" + std::to_string(i));
    if (cancelled_.contains(i)) {
      EXPECT_THROW(run.wait<int>(kSoon), RunCancelled) << id_of(i);
      EXPECT_EQ(watcher.wait<std::string>(kSoon), "cancelled");
      return;
    }
    EXPECT_EQ(run.wait<int>(kSoon), sums_[i]) << id_of(i);
    EXPECT_EQ(watcher.wait<std::string>(kSoon), "completed");
  }

  Client client_;
  std::mt19937 random_;
  std::map<int, bool> cancelled_;
  std::map<int, int> sums_;
  int actions_ = 0;
  int suspended_ = 0;
  int resumed_ = 0;
  int sent_ = 0;
  int junk_ = 0;
  int deleted_ = 0;
};

class KilledEnginesTest : public OnEachStore {
 protected:
  pid_t start_engine() {
    const int before = board->ready;
    const pid_t pid = processes.start([this] {
      Runtime rt(store(), quick(null_logger()));
      rt.activity("same", [](ActivityContext&, int number) { return number; });
      rt.orchestration("counts", counts);
      rt.orchestration("adds_nothing", adds_nothing);
      rt.orchestration("watches", watches);
      rt.orchestration("short_lived", short_lived);
      rt.start();
      ++board->ready;
      while (!board->over) std::this_thread::sleep_for(1ms);
    });
    EXPECT_TRUE(eventually([&] { return board->ready > before; }));
    return pid;
  }

  Shared<Board> board;
  Processes processes;
};
INSTANTIATE_TEST_SUITE_P(OnEachStore, KilledEnginesTest,
                         ::testing::Values(Kept::in_a_file, Kept::on_a_server), kept_name);

TEST_P(KilledEnginesTest, NothingIsLostAndNothingHappensTwice) {
  const char* const seconds = std::getenv("HOLDFAST_CHAOS_SECONDS");
  const Duration length = std::chrono::seconds(seconds == nullptr ? 3 : std::atoi(seconds));
  const std::uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  if (GetParam() == Kept::on_a_server) schema.emplace();
  std::vector<pid_t> engines{start_engine(), start_engine()};
  const pid_t client = processes.start([&] {
    Operator(Client(store(), {.retry_for = 60s}), seed).play(length);
    std::fflush(stdout);
    board->done = true;
  });
  std::mt19937 random(seed);
  const auto end = std::chrono::steady_clock::now() + length;
  while (!board->done && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 400));
    pid_t& victim = engines[random() % engines.size()];
    processes.crash(victim);
    victim = start_engine();
  }
  EXPECT_TRUE(processes.succeeds(client));
  board->over = true;
  EXPECT_TRUE(processes.all_succeed());
}

}  // namespace
}  // namespace holdfast::control::killed_engines_test
