// What instances are found by follows their code, whatever becomes of their turns.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

Task<std::string> moves_through_stages(Context& ctx, int rounds, int steps) {
  const int round = ctx.attribute<int>("round").value_or(0) + 1;
  ctx.set_attribute("round", round);
  for (int i = 1; i <= steps; ++i) {
    ctx.set_attribute("stage", "step " + std::to_string(i));
    if (i % 2 == 0) {
      ctx.set_attribute("tags", {"even", ctx.instance_id()});
    } else {
      ctx.clear_attribute<Keywords>("tags");
    }
    const std::string label = "stage";
    co_await ctx.activity<std::string>("step", {.retry = {.max_attempts = 100, .max_delay = 1s}}, label);
  }
  if (round < rounds) co_await ctx.continue_as_new(rounds, steps);
  co_return ctx.attribute<std::string>("owner").value_or("nobody") + std::to_string(round);
}

const store::InstanceRow* row_of(const store::StoreState& state, const std::string& id) {
  const auto found =
      std::ranges::find(state.instances, id, [](const auto& row) { return row.view.instance; });
  return found == state.instances.end() ? nullptr : &*found;
}

}  // namespace

void searched_ones(const Shared& shared) {
  shared.share("moves_through_stages", moves_through_stages);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "searched-" + std::to_string(i);
    const int rounds = shared.number(1, 3);
    const int steps = shared.number(1, 4);
    shared.sim.at(shared.some_time(), "start " + id, [id, rounds, steps](Client& client) {
      client.start("moves_through_stages", {.id = id, .attributes = {{"owner", id}}}, rounds, steps);
    });
    shared.sim.at_end([shared, id, rounds, steps] {
      shared.expect(id, shared.sim.result<std::string>(id).value(), id + std::to_string(rounds));
      const store::StoreState state = shared.sim.state();
      const store::InstanceRow* const row = row_of(state, id);
      if (row == nullptr) return shared.sim.fail(id + " is gone");
      std::vector<Attribute> expected{
          {"owner", id}, {"round", std::int64_t{rounds}}, {"stage", "step " + std::to_string(steps)}};
      Keywords tags{"even", id};
      std::ranges::sort(tags);
      if (steps % 2 == 0) expected.push_back({"tags", std::move(tags)});
      if (row->view.attributes != expected)
        shared.sim.fail(id + " has the attributes " + encode(row->view.attributes).bytes);
    });
  }
}

}  // namespace holdfast::sim
