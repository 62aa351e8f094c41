// Sessions that workers ask for by themselves, and sessions that only their owner may have.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>
#include <holdfast/session_state.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

// With pauses in which its session may leave. A state that can't be read while the store is away costs no
// attempt; one that is busy does, since code can't wait here.
Task<bool> notes_with_pauses(Context& ctx, std::string session, std::vector<int> pauses) {
  int expected = 0;
  for (const int pause : pauses) {
    const int known = co_await ctx.activity<int>(
        "note", {.session = session,
                 .retry = {.max_attempts = 100, .max_delay = 1s, .non_retryable = {"store_unavailable"}}});
    if (known != ++expected) co_return false;
    co_await ctx.sleep(std::chrono::seconds(pause));
  }
  co_return true;
}

Task<std::string> held_for_long(Context& ctx, std::string id, Duration lease, int steps) {
  const Session session = co_await ctx.open_session({.id = id, .lease = lease});
  for (int i = 0; i < steps; ++i) {
    const std::string label = "step" + std::to_string(i);
    const Result<std::string> done = co_await session.activity<std::string>("step", label).result();
    if (!done) co_return done.error().type;
    co_await ctx.sleep(4s);
  }
  co_return "done";
}

void ask_for(const Shared& shared, const std::string& id) {
  for (int i = shared.number(2, 8); i > 0; --i) {
    const Duration when = shared.some_time(40s);
    if (shared.number(0, 2) > 0) {
      shared.sim.at_worker(when, "acquire " + id, [id](testing::SimulatedWorker& worker) {
        worker.acquire_session(id, {.create_if_missing = false});
      });
    } else {
      shared.sim.at_worker(when, "renew " + id,
                           [id](testing::SimulatedWorker& worker) { worker.renew_session(id); });
    }
  }
}

}  // namespace

void sought_sessions(const Shared& shared) {
  const auto notes =
      shared.sim.session_state<int>("notes", saved_by_codec<int>(SaveState::with_each_activity));
  shared.sim.activity("note", [notes](ActivityContext& ctx) { return ++notes.in(ctx); });
  shared.sim.orchestration("notes_with_pauses", notes_with_pauses);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "sought-" + std::to_string(i);
    std::vector<int> pauses;
    for (int k = shared.number(1, 4); k > 0; --k) pauses.push_back(shared.number(0, 12));
    shared.start("notes_with_pauses", id, id, pauses);
    ask_for(shared, id);
    shared.sim.at_end([shared, id] { shared.expect(id, shared.sim.result<bool>(id).value(), true); });
  }
}

// A worker makes sessions before there is work for them, and ends some.
void prepared_sessions(const Shared& shared) {
  shared.share("conversation", conversation);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "prepared-" + std::to_string(i);
    shared.sim.at_worker(shared.some_time(), "acquire " + id, [id](testing::SimulatedWorker& worker) {
      worker.acquire_session(id, {.lease = 5s});
    });
    const int turns = shared.number(1, 4);
    shared.start("conversation", id, id, turns);
    const bool closes = shared.number(0, 2) == 0;
    if (closes) {
      shared.sim.at_worker(shared.some_time(), "close " + id,
                           [id](testing::SimulatedWorker& worker) { worker.close_session(id); });
    }
    shared.sim.at_end([shared, id, turns, closes] {
      const auto done = shared.sim.result<std::vector<std::string>>(id);
      if (closes && !done) return shared.expect_failure(id, done, "session_closed");
      std::vector<std::string> labels;
      for (int k = 0; k < turns; ++k) labels.push_back("say" + std::to_string(k));
      shared.expect_steps(id, done.value(), labels);
    });
  }
}

// Whether a loss was deserved is for the simulator to say.
void steadfast_sessions(const Shared& shared) {
  shared.sim.orchestration("held_for_long", held_for_long);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "steadfast-" + std::to_string(i);
    const Duration lease = std::chrono::seconds(shared.number(10, 20));
    shared.start("held_for_long", id, id, lease, shared.number(2, 12));
    shared.sim.at_end([shared, id] {
      const std::string end = shared.sim.result<std::string>(id).value();
      if (end != "done" && end != "session_lost") shared.sim.fail(id + " ended with " + end);
    });
  }
}

}  // namespace holdfast::sim
