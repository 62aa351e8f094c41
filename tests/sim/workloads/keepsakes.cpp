// Sessions whose state is nowhere but in the memory of their worker.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>
#include <holdfast/session_state.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

Task<void> looks_at_keepsakes(Context& ctx, std::string session, std::vector<int> pauses) {
  for (const int pause : pauses) {
    co_await ctx.activity<void>("look at keepsake",
                                {.session = session, .retry = {.max_attempts = 100, .max_delay = 1s}});
    co_await ctx.sleep(std::chrono::seconds(pause));
  }
}

/// Who made one, and when.
struct Made {
  WorkerKey by{};
  Generation generation{};
};

/// The worker that has the session in this generation; none when that is over.
WorkerKey owner_of(const store::StoreState& state, const SessionStart& start) {
  for (const store::SessionView& session : state.sessions) {
    if (session.id == start.id && session.generation == start.generation) return session.worker;
  }
  return {};
}

/// Whether the log says that the session left its worker between two of its generations.
bool has_left(const std::vector<SessionLogEntry>& log, const std::string& id, Generation from,
              Generation to) {
  using Kind = SessionLogEntry::Kind;
  return std::ranges::any_of(log, [&](const SessionLogEntry& entry) {
    if (entry.session != id || entry.generation < from || entry.generation > to) return false;
    const bool claim = entry.kind == Kind::claimed || entry.kind == Kind::reclaimed;
    return !claim || (entry.generation > from && entry.owner != entry.previous_owner);
  });
}

}  // namespace

// A worker makes it once for as long as nobody else has the session, whatever becomes of leases and answers.
void keepsakes(const Shared& shared) {
  Simulation& sim = shared.sim;
  const auto all_made = std::make_shared<std::map<std::string, Made>>();
  const auto keepsake = sim.session_state<int>(
      "keepsake", {.make = [&sim, all_made](const SessionStart& start) {
        const store::StoreState state = sim.state();
        const Made made{owner_of(state, start), start.generation};
        const Made before = std::exchange((*all_made)[start.id], made);
        const bool again = made.by != WorkerKey{} && made.by == before.by;
        if (again && !has_left(state.session_log, start.id, before.generation, made.generation))
          sim.fail("the state of session '" + start.id + "' was lost after generation " +
                   to_string(before.generation) + ", and its worker had it all the time");
        return 0;
      }});
  sim.activity("look at keepsake", [keepsake](ActivityContext& ctx) { ++keepsake.in(ctx); });
  sim.orchestration("looks_at_keepsakes", looks_at_keepsakes);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "keepsake-" + std::to_string(i);
    std::vector<int> pauses;
    for (int k = shared.number(2, 6); k > 0; --k) pauses.push_back(shared.number(0, 12));
    shared.start("looks_at_keepsakes", id, id, pauses);
    sim.at_end([shared, id] { shared.sim.result<void>(id).value(); });
  }
}

}  // namespace holdfast::sim
