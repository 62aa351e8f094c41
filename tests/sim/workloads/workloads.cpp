#include "tests/sim/workloads/workloads.hpp"

#include <utility>

namespace holdfast::sim {

namespace {

/// Activities that most workloads use.
void add_activities(const Shared& shared) {
  const auto ledger = shared.ledger;
  Simulation& sim = shared.sim;
  sim.activity("step", [ledger](ActivityContext& ctx, std::string label) {
    ledger->enter(ctx.idempotency_key(), label);
    return label + "=" + ctx.idempotency_key();
  });
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

}  // namespace

void Shared::expect_steps(const std::string& id, const std::vector<std::string>& done,
                          const std::vector<std::string>& labels) const {
  expect(id + " has so many steps", done.size(), labels.size());
  std::set<std::string> keys;
  for (std::size_t i = 0; i < std::min(done.size(), labels.size()); ++i) {
    const std::size_t sign = done[i].find('=');
    expect(id + ", step " + std::to_string(i), done[i].substr(0, sign), labels[i]);
    const std::string key = done[i].substr(sign + 1);
    if (!ledger->has(key)) sim.fail(id + " has the result of a step that never ran");
    if (!keys.insert(key).second) sim.fail(id + " has the result of a step twice");
  }
}

testing::Scenario scenario_of(std::vector<Workload> workloads) {
  return [workloads = std::move(workloads)](Simulation& sim) {
    const Shared shared{.sim = sim};
    add_activities(shared);
    for (const Workload workload : workloads) workload(shared);
  };
}

void everything(Simulation& sim) {
  const Shared shared{.sim = sim};
  add_activities(shared);
  const std::vector<Workload> all{sequences,
                                  fan_outs,
                                  retries,
                                  deadlines,
                                  sagas,
                                  side_effects,
                                  queues,
                                  timers,
                                  approvals,
                                  actors,
                                  impatient_readers,
                                  trees,
                                  detached_ones,
                                  taken_ids,
                                  loops,
                                  restless_children,
                                  cancellations,
                                  terminations,
                                  dropped_children,
                                  values,
                                  searched_ones,
                                  new_lives,
                                  versions,
                                  hurries,
                                  interruptions,
                                  careless_ones,
                                  hopeless_children,
                                  ended_before_they_began,
                                  half_shielded_ones,
                                  partings,
                                  conversations,
                                  restless_ones,
                                  broken_deployments,
                                  heartbeats,
                                  oversized_ones,
                                  early_birds,
                                  chatter,
                                  persistent_children,
                                  orphans,
                                  unwanted_work,
                                  memories,
                                  opened_sessions,
                                  crowds,
                                  worker_sessions,
                                  aborted_sessions,
                                  closed_sessions,
                                  listeners,
                                  leftovers,
                                  blocked_turns,
                                  sought_sessions,
                                  prepared_sessions,
                                  steadfast_sessions,
                                  keepsakes,
                                  shared_memories,
                                  asked_for_sessions,
                                  patched_code,
                                  mistaken_deploys,
                                  suspended_ones,
                                  cancelled_while_suspended,
                                  watched_ends,
                                  unheard_of_ones,
                                  schedules_of_work,
                                  questions};
  // Few kinds at once keep a failure readable; over many seeds they all meet.
  const std::size_t kinds = 1 + sim.draw(8);
  std::set<std::size_t> chosen;
  while (chosen.size() < kinds) chosen.insert(sim.draw(all.size()));
  for (const std::size_t index : chosen) all[index](shared);
}

}  // namespace holdfast::sim
