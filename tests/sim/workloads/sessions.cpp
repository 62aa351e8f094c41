// Activities that stay with a worker.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <string>
#include <vector>

namespace holdfast::sim {

Task<std::vector<std::string>> conversation(Context& ctx, std::string session, int turns) {
  std::vector<std::string> done;
  for (int i = 0; i < turns; ++i) {
    const std::string label = "say" + std::to_string(i);
    done.push_back(co_await ctx.activity<std::string>("step", {.session = session}, label));
  }
  co_return done;
}

void conversations(const Shared& shared) {
  shared.share("conversation", conversation);
  const int sessions = shared.number(1, 3);
  for (int i = shared.number(1, 4); i > 0; --i) {
    const std::string id = "conversation-" + std::to_string(i);
    const std::string session = "session-" + std::to_string(shared.number(1, sessions));
    const int turns = shared.number(0, 5);
    shared.start("conversation", id, session, turns);
    shared.sim.at_end([shared, id, turns] {
      std::vector<std::string> labels;
      for (int k = 0; k < turns; ++k) labels.push_back("say" + std::to_string(k));
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), labels);
    });
  }
}

// More sessions than there may be room for: each gets its turn.
void crowds(const Shared& shared) {
  shared.share("conversation", conversation);
  for (int i = shared.number(5, 14); i > 0; --i) {
    const std::string id = "crowd-" + std::to_string(i);
    const int turns = shared.number(1, 3);
    shared.start("conversation", id, id, turns);
    shared.sim.at_end([shared, id, turns] {
      std::vector<std::string> labels;
      for (int k = 0; k < turns; ++k) labels.push_back("say" + std::to_string(k));
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), labels);
    });
  }
}

}  // namespace holdfast::sim
