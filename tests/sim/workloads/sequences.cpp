// Steps one after the other.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <set>
#include <string>
#include <vector>

namespace holdfast::sim {

using testing::Simulation;

namespace {

Task<std::vector<std::string>> sequence(Context& ctx, int length) {
  std::vector<std::string> done;
  for (int i = 0; i < length; ++i) {
    const std::string label = "s" + std::to_string(i);
    done.push_back(co_await ctx.activity<std::string>("step", label));
  }
  co_return done;
}

}  // namespace

void add_sequences(Simulation& sim, const LedgerPointer& ledger) {
  sim.orchestration("sequence", sequence);
  const int count = 1 + static_cast<int>(sim.draw(3));
  for (int i = 0; i < count; ++i) {
    const std::string id = "sequence-" + std::to_string(i);
    const int length = static_cast<int>(sim.draw(6));
    sim.at(some_time(sim), "start " + id,
           [id, length](Client& client) { client.start("sequence", id, length); });
    sim.at_end([&sim, ledger, id, length] {
      const auto done = sim.result<std::vector<std::string>>(id).value();
      expect_equal(sim, id + " has so many steps", done.size(), static_cast<std::size_t>(length));
      std::set<std::string> keys;
      for (std::size_t k = 0; k < done.size(); ++k) {
        const std::size_t sign = done[k].find('=');
        expect_equal(sim, id + ", label", done[k].substr(0, sign), "s" + std::to_string(k));
        const std::string key = done[k].substr(sign + 1);
        if (!ledger->has(key)) sim.fail(id + " has the result of a step that never ran");
        if (!keys.insert(key).second) sim.fail(id + " has the result of a step twice");
      }
    });
  }
}

}  // namespace holdfast::sim
