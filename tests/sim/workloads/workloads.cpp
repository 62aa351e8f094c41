#include "tests/sim/workloads/workloads.hpp"

#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;
using testing::Simulation;

void add_activities(Simulation& sim, const LedgerPointer& ledger) {
  sim.activity("step", [ledger](ActivityContext& ctx, std::string label) {
    ledger->enter(ctx.idempotency_key(), label);
    return label + "=" + ctx.idempotency_key();
  });
  sim.activity("add", [](ActivityContext&, int a, int b) { return a + b; });
  sim.activity("flaky", [ledger](ActivityContext& ctx, int succeeds_at) {
    if (ctx.attempt() < succeeds_at)
      throw ActivityFailure("not_yet", "attempt " + std::to_string(ctx.attempt()));
    ledger->enter(ctx.idempotency_key(), "flaky");
    return ctx.attempt();
  });
  sim.at_end([&sim, ledger] {
    if (!ledger->mixed_up().empty())
      sim.fail("the idempotency key " + ledger->mixed_up() + " was given twice");
  });
}

Duration some_time(Simulation& sim, Duration latest) {
  return Duration(static_cast<Duration::rep>(sim.draw(static_cast<std::uint64_t>(latest.count()) + 1)));
}

void everything(Simulation& sim) {
  const auto ledger = std::make_shared<Ledger>();
  add_activities(sim, ledger);
  add_sequences(sim, ledger);
}

}  // namespace holdfast::sim
