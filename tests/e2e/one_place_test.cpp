// Workers with room for one thing each: what waits goes to whoever is free, and not one after the other to
// whoever came first.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace holdfast::e2e::one_place_test {
namespace {

constexpr int kWorkers = 3;

/// Where activities meet: each waits until all of a round are there.
class Meeting {
 public:
  /// False when the others don't come.
  bool join(int round) {
    std::unique_lock lock(mutex_);
    int& there = there_[round];
    ++there;
    changed_.notify_all();
    return changed_.wait_for(lock, kSoon, [&] { return there_[round] >= kWorkers; });
  }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<int, int> there_{};
};

Task<bool> meets(Context& ctx, int round) { co_return co_await ctx.activity<bool>("meet", round); }
Task<bool> meets_in_session(Context& ctx, int round, std::string session) {
  co_return co_await ctx.activity<bool>("meet", {.session = session}, round);
}
Task<bool> meets_in_own_session(Context& ctx, int round) {
  auto session = co_await ctx.open_session({});
  const bool met = co_await session.activity<bool>("meet", round);
  co_await session.close();
  co_return met;
}

class OnePlace : public SessionsTest {
 protected:
  void SetUp() override {
    for (const char* const node : {"a", "b", "c"}) {
      RuntimeOptions options = named(node, {});
      options.activity_slots = 1;
      options.session_limit = 1;
      workers_.push_back(runtime(options, [this](Runtime& rt) {
        rt.activity("meet", [this](ActivityContext&, int round) { return meeting_.join(round); });
        rt.orchestration("meets", meets);
        rt.orchestration("meets_in_session", meets_in_session);
        rt.orchestration("meets_in_own_session", meets_in_own_session);
      }));
    }
  }

  /// Whether all three of a round were at work at the same time.
  template <class... In>
  bool meet(int round, std::string_view orchestration, const In&... in) {
    Client starter = client();
    std::vector<Run> runs;
    for (int i = 0; i < kWorkers; ++i) {
      const std::string id = std::to_string(round) + "-" + std::to_string(i);
      runs.push_back(starter.start(orchestration, {.id = id}, round, (in + id)...));
    }
    return std::ranges::all_of(runs, [](const Run& run) { return run.wait<bool>(2 * kSoon); });
  }

  Meeting meeting_{};
  std::vector<std::unique_ptr<Runtime>> workers_{};
};
HOLDFAST_ON_EACH_STORE(OnePlace);

TEST_P(OnePlace, ThreeActivitiesRunOnThreeWorkers) {
  for (int round = 0; round < 10; ++round) ASSERT_TRUE(meet(round, "meets")) << round << '\n' << log->all();
}

TEST_P(OnePlace, ThreeSessionsGoToThreeWorkers) {
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(meet(round, "meets_in_session", std::string("s"))) << round << '\n' << log->all();
    for (const SessionInfo& session : client().list_sessions()) client().close_session(session.id);
  }
}

TEST_P(OnePlace, ThreeOpenedSessionsGoToThreeWorkers) {
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(meet(round, "meets_in_own_session")) << round << '\n' << log->all();
  }
}

}  // namespace
}  // namespace holdfast::e2e::one_place_test
