// Code that a later build has changed, while instances run: with patches, and with a mistake.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// What a run of it did: the results of its steps, and what they should be.
struct Journal {
  std::vector<std::string> done{};
  std::vector<std::string> labels{};
};

Task<> step(Context& ctx, Journal& journal, std::string label) {
  journal.done.push_back(co_await ctx.activity<std::string>("step", label));
  journal.labels.push_back(label);
}

Task<Journal> before_the_patches(Context& ctx, int rounds) {
  Journal journal;
  for (int i = 0; i < rounds; ++i) {
    const std::string label = "round " + std::to_string(i);
    co_await step(ctx, journal, label);
    co_await ctx.sleep(2s);
  }
  co_return journal;
}

// A patch for each round: those are taken that come after the deploy.
Task<Journal> with_patches(Context& ctx, int rounds) {
  Journal journal;
  for (int i = 0; i < rounds; ++i) {
    const std::string label = "round " + std::to_string(i);
    const bool patched = ctx.patched(label);
    co_await step(ctx, journal, label);
    const std::string more = "more " + std::to_string(i);
    if (patched) co_await step(ctx, journal, more);
    co_await ctx.sleep(2s);
  }
  co_return journal;
}

// From the first round that has more, all have it.
bool has_no_gap(const std::vector<std::string>& labels, int rounds) {
  bool before = false;
  for (int i = 0; i < rounds; ++i) {
    const bool more = std::ranges::count(labels, "more " + std::to_string(i)) == 1;
    if (before && !more) return false;
    before = more;
  }
  return std::ranges::count(labels, "round 0") == (rounds > 0 ? 1 : 0);
}

Task<std::vector<std::string>> steady(Context& ctx, int rounds) {
  std::vector<std::string> done;
  for (int i = 0; i < rounds; ++i) {
    const std::string label = "steady " + std::to_string(i);
    done.push_back(co_await ctx.activity<std::string>("step", label));
    co_await ctx.sleep(1s);
  }
  co_return done;
}

bool mended = false;  // the deploy that follows on the mistaken one

// Right for those that it has begun itself. The others are left to the workers that have begun them, as long
// as there are any, and wait for the next deploy after that.
Task<std::vector<std::string>> steady_by_mistake(Context& ctx, int rounds) {
  const bool begun_here = ctx.patched("begun here");
  if (!begun_here && !mended) co_await ctx.sleep(1h);
  std::vector<std::string> done;
  for (int i = 0; i < rounds; ++i) {
    const std::string label = "steady " + std::to_string(i);
    done.push_back(co_await ctx.activity<std::string>("step", label));
    co_await ctx.sleep(1s);
  }
  co_return done;
}

}  // namespace

void patched_code(const Shared& shared) {
  shared.sim.orchestration("patched", before_the_patches);
  shared.sim.orchestration("patched", {.from_build = 2}, with_patches);
  for (int i = shared.number(2, 6); i > 0; --i) {
    const std::string id = "patched-" + std::to_string(i);
    const int rounds = shared.number(0, 8);
    shared.start("patched", id, rounds);
    shared.sim.at_end([shared, id, rounds] {
      const auto journal = shared.sim.result<Journal>(id).value();
      shared.expect_steps(id, journal.done, journal.labels);
      if (!has_no_gap(journal.labels, rounds)) shared.sim.fail(id + " lost a patch that it had taken");
    });
  }
}

void mistaken_deploys(const Shared& shared) {
  mended = false;
  shared.sim.orchestration("steady", steady);
  shared.sim.orchestration("steady", {.from_build = 2}, steady_by_mistake);
  shared.sim.at_calm([] { mended = true; });
  for (int i = shared.number(2, 6); i > 0; --i) {
    const std::string id = "steady-" + std::to_string(i);
    const int rounds = shared.number(1, 8);
    shared.start("steady", id, rounds);
    shared.sim.at_end([shared, id, rounds] {
      std::vector<std::string> labels;
      for (int k = 0; k < rounds; ++k) labels.push_back("steady " + std::to_string(k));
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), labels);
    });
  }
}

}  // namespace holdfast::sim
