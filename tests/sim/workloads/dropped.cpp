// Activities that are dropped at about the moment in which they end, and turns that don't come back.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

Op<std::string> step(Context& ctx, const std::string& label) {
  return ctx.activity<std::string>("step", label);
}

// Each round is a wait of which something is left over. The steps that count are the last ones.
Task<std::vector<std::string>> leaves_over(Context& ctx, int rounds, Duration limit) {
  std::vector<std::string> done;
  for (int i = 0; i < rounds; ++i) {
    const std::string label = "r" + std::to_string(i);
    co_await race(step(ctx, label + "/a"), step(ctx, label + "/b"));
    co_await with_timeout(step(ctx, label + "/c"), limit);
    const int never_succeeds = 100;
    static_cast<void>(
        co_await when_all(ctx.activity<int>("flaky", {.retry = {.max_attempts = 1}}, never_succeeds),
                          step(ctx, label + "/d"))
            .result());
    done.push_back(co_await step(ctx, label));
  }
  co_return done;
}

/// What code does against the rules, and how often it still will, in the run that goes on.
struct Misbehaving {
  Simulation* sim = nullptr;
  int blocks = 0;
  int deaths = 0;
};
Misbehaving misbehaving;

Task<std::vector<std::string>> blocks_now_and_then(Context& ctx, int rounds, Duration time) {
  std::vector<std::string> done;
  for (int i = 0; i < rounds; ++i) {
    const std::string label = "b" + std::to_string(i);
    done.push_back(co_await step(ctx, label));
    if (misbehaving.blocks > 0) {
      --misbehaving.blocks;
      misbehaving.sim->block(time);
    }
  }
  co_return done;
}

Task<std::vector<std::string>> kills_its_workers(Context& ctx) {
  if (misbehaving.deaths > 0) {
    --misbehaving.deaths;
    misbehaving.sim->die();
  }
  std::vector<std::string> done;
  done.push_back(co_await step(ctx, "survived"));
  co_return done;
}

std::vector<std::string> rounds_of(const std::string& prefix, int count) {
  std::vector<std::string> labels;
  for (int i = 0; i < count; ++i) labels.push_back(prefix + std::to_string(i));
  return labels;
}

}  // namespace

void leftovers(const Shared& shared) {
  shared.sim.orchestration("leaves_over", leaves_over);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "leftovers-" + std::to_string(i);
    const int rounds = shared.number(1, 6);
    const Duration limit(shared.number(0, 10'000));
    shared.start("leaves_over", id, rounds, limit);
    shared.sim.at_end([shared, id, rounds] {
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(),
                          rounds_of("r", rounds));
    });
  }
}

void blocked_turns(const Shared& shared) {
  shared.sim.orchestration("blocks_now_and_then", blocks_now_and_then);
  misbehaving = {.sim = &shared.sim, .blocks = shared.number(1, 6)};
  shared.sim.at_calm([] { misbehaving.blocks = 0; });
  for (int i = shared.number(1, 6); i > 0; --i) {
    const std::string id = "blocked-" + std::to_string(i);
    const int rounds = shared.number(1, 3);
    const Duration time = std::chrono::milliseconds(shared.number(500, 25'000));
    shared.start("blocks_now_and_then", id, rounds, time);
    shared.sim.at_end([shared, id, rounds] {
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(),
                          rounds_of("b", rounds));
    });
  }
}

void suspects_beside_blocked_turns(const Shared& shared) {
  blocked_turns(shared);
  shared.sim.orchestration("kills_its_workers", kills_its_workers);
  misbehaving.deaths = shared.number(6, 7);  // with a `poison_after` of 10
  shared.start("kills_its_workers", "killer");
  shared.sim.at_end([shared] {
    shared.expect_steps("killer", shared.sim.result<std::vector<std::string>>("killer").value(),
                        {"survived"});
  });
}

}  // namespace holdfast::sim
