// Activities that end at about the moment in which their instance drops them: races, timeouts, groups of
// which one failed. No turn is lost with them, and nobody waits for a lock. Leases are so long here that
// whoever did would wait for longer than the tests do.
#include "stores_test.hpp"

#include <holdfast/fault.hpp>

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

namespace holdfast::e2e::dropped_activities_test {
namespace {

#ifdef HOLDFAST_SANITIZED
constexpr int kRounds = 20;
#else
constexpr int kRounds = 100;
#endif

RuntimeOptions with_long_leases() { return {.instance_lease = 30min, .worker_stale_after = 1h}; }

/// How long activity `nth` of a round takes: up to 5 ms, in an order that does not repeat soon.
Duration moment(int round, int nth) { return Duration((round * 1'237 + nth * 2'741) % 5'000); }

int take(Duration time) {
  std::this_thread::sleep_for(time);
  return static_cast<int>(time.count());
}

Task<int> races(Context& ctx, int rounds) {
  for (int i = 0; i < rounds; ++i)
    co_await race(ctx.activity<int>("take", moment(i, 1)), ctx.activity<int>("take", moment(i, 2)));
  co_return rounds;
}

Task<int> timeouts(Context& ctx, int rounds) {
  for (int i = 0; i < rounds; ++i)
    co_await with_timeout(ctx.activity<int>("take", moment(i, 1)), moment(i, 1));
  co_return rounds;
}

Task<int> failing_groups(Context& ctx, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    static_cast<void>(
        co_await when_all(ctx.activity<int>("fail", {.retry = {.max_attempts = 1}}, moment(i, 1)),
                          ctx.activity<int>("take", moment(i, 2)), ctx.activity<int>("take", moment(i, 3)))
            .result());
  }
  co_return rounds;
}

Task<int> one_race(Context& ctx) {
  co_await race(ctx.activity<int>("first"), ctx.activity<int>("second"));
  co_return co_await ctx.activity<int>("after");
}

/// Lets somebody do something while a call that passes this point is under way.
class Meanwhile final : public FaultPlan {
 public:
  Meanwhile(std::string_view point, std::function<void()> act) : point_(point), act_(std::move(act)) {}
  Fault at(std::string_view point) override {
    if (point == point_ && armed.exchange(false)) act_();
    return Fault::none;
  }
  std::atomic<bool> armed{false};

 private:
  const std::string_view point_;
  const std::function<void()> act_;
};

class DroppedActivities : public OnEachStore {
 protected:
  static std::uint64_t lost_turns(Runtime& rt) {
    return rt.metrics()
        .counter("holdfast_turns_lost_total", "Turns whose commit was refused or in doubt.")
        .value();
  }
  static std::uint64_t refused_answers(Runtime& rt) {
    return rt.metrics()
        .counter("holdfast_answers_refused_total", "Results of activities that nobody wanted any more.")
        .value();
  }
  static std::uint64_t completed(Runtime& rt) {
    return rt.metrics().counter("holdfast_activities_completed_total", "Activities that succeeded.").value();
  }

  std::unique_ptr<Runtime> runtime_of_short_ones() {
    return runtime(with_long_leases(), [](Runtime& rt) {
      rt.activity("take", [](ActivityContext&, Duration time) { return take(time); });
      rt.activity("fail", [](ActivityContext&, Duration time) -> int {
        take(time);
        throw ActivityFailure("failed", "as it should");
      });
      rt.orchestration("races", races);
      rt.orchestration("timeouts", timeouts);
      rt.orchestration("failing_groups", failing_groups);
    });
  }
};
HOLDFAST_ON_EACH_STORE(DroppedActivities);

// The loser ends while the turn that drops it is being committed.
TEST_P(DroppedActivities, OneThatEndsWhileItsDropIsCommittedIsForgotten) {
  std::atomic<bool> let_go{false};
  Runtime* runtime = nullptr;
  Meanwhile meanwhile(point("memory.commit_turns", "sqlite.write_cancel", "postgres.upsert_cancels"), [&] {
    let_go = true;
    EXPECT_TRUE(eventually([&] { return completed(*runtime) == 2; }));
  });
  RuntimeOptions options = with_long_leases();
  options.activity_slots = 4;
  options.logger = log;
  Runtime rt(store(&meanwhile), options);
  runtime = &rt;
  rt.activity("first", [&](ActivityContext&) {
    meanwhile.armed = true;
    return 1;
  });
  rt.activity("second", [&](ActivityContext&) {
    while (!let_go) std::this_thread::yield();
    return 2;
  });
  rt.activity("after", [](ActivityContext&) { return 3; });
  rt.orchestration("one_race", one_race);
  rt.start();
  const auto run = rt.client().start("one_race", {.id = "r"});
  EXPECT_EQ(run.wait<int>(kSoon), 3) << log->all();
  EXPECT_EQ(lost_turns(rt), 0U);
}

TEST_P(DroppedActivities, NoTurnIsLostWithThoseThatLoseARace) {
  const auto rt = runtime_of_short_ones();
  EXPECT_EQ(rt->client().start("races", {.id = "r"}, kRounds).wait<int>(kSoon), kRounds);
  EXPECT_EQ(lost_turns(*rt), 0U);
}

TEST_P(DroppedActivities, NoTurnIsLostWithThoseThatTakeAsLongAsTheyMay) {
  const auto rt = runtime_of_short_ones();
  EXPECT_EQ(rt->client().start("timeouts", {.id = "t"}, kRounds).wait<int>(kSoon), kRounds);
  EXPECT_EQ(lost_turns(*rt), 0U);
}

TEST_P(DroppedActivities, NoTurnIsLostWithThoseWhoseGroupHasFailed) {
  const auto rt = runtime_of_short_ones();
  EXPECT_EQ(rt->client().start("failing_groups", {.id = "g"}, kRounds).wait<int>(kSoon), kRounds);
  EXPECT_EQ(lost_turns(*rt), 0U);
}

// Somebody took the activity away while it ran, and it ended here all the same: the turn that says so is
// refused, and its instance is free at once. Where the store did not hand the activity off, its answer is
// refused instead, and another instance is tried.
TEST_P(DroppedActivities, ATurnThatIsRefusedGivesItsLockBack) {
  std::atomic<std::uint64_t> begun{0};
  RuntimeOptions options = with_long_leases();
  options.hold_instances = 10min;
  const auto rt = runtime(options, [&](Runtime& made) {
    add_program(made);
    made.activity("wait", [&](ActivityContext&) {
      const std::uint64_t nth = ++begun;
      const bool is_first = nth % 2 == 1;
      EXPECT_TRUE(eventually(
          [&] { return is_first ? begun > nth : lost_turns(made) + refused_answers(made) >= nth / 2; }));
      return 7;
    });
  });
  const auto beside = store();
  for (std::uint64_t tries = 0; lost_turns(*rt) == 0 && tries < 100; ++tries) {
    const auto run = rt->client().start("waiting", {.id = "w" + std::to_string(tries)});
    ASSERT_TRUE(eventually([&] { return begun == 2 * tries + 1; }));
    const store::ActivityRow row = beside->state()->activities.at(0);
    const store::ActivityResult put_back{row.view.id, row.token, store::PutBack{}};
    ASSERT_TRUE(beside->finish_activities({&put_back, 1}).front());
    EXPECT_EQ(run.wait<int>(kSoon), 7);
  }
  EXPECT_EQ(lost_turns(*rt), 1U);
  EXPECT_TRUE(rt->drain(kSoon)) << "an attempt is still in hand";
}

}  // namespace
}  // namespace holdfast::e2e::dropped_activities_test
