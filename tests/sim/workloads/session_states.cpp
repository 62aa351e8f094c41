// Sessions that remember, and sessions that are lost with their owner.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>
#include <holdfast/session_state.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

namespace {

// What the session of one instance knows after each line: all lines so far, whoever held it in between.
Task<bool> memory_of_lines(Context& ctx, std::string session, int lines) {
  for (int i = 0; i < lines; ++i) {
    // A state that can't be read while the store is away is no failure; one that is busy is, since code can't
    // wait here.
    const int known = co_await ctx.activity<int>("remember",
                                                 {.session = session,
                                                  .retry = {.max_attempts = 100,
                                                            .max_delay = std::chrono::seconds(1),
                                                            .non_retryable = {"store_unavailable"}}},
                                                 i);
    if (known != i + 1) co_return false;
  }
  co_return true;
}

// Several instances leave marks in one session, side by side: none of them ever disappears. They do so by
// activities of different names, so that workers may be there that can run the one and not the other.
Task<bool> marks_of_one(Context& ctx, std::string session, std::string activity, std::string mine,
                        std::vector<int> pauses) {
  std::vector<std::string> left;
  for (std::size_t i = 0; i < pauses.size(); ++i) {
    left.push_back(mine + "/" + std::to_string(i));
    const auto known =
        co_await ctx.activity<std::vector<std::string>>(activity,
                                                        {.session = session,
                                                         .retry = {.max_attempts = 100,
                                                                   .max_delay = std::chrono::seconds(1),
                                                                   .non_retryable = {"store_unavailable"}}},
                                                        left.back());
    const bool all = std::ranges::all_of(
        left, [&](const std::string& mark) { return std::ranges::count(known, mark) == 1; });
    if (!all) co_return false;
    co_await ctx.sleep(std::chrono::seconds(pauses[i]));
  }
  co_return true;
}

// A session that fails with its owner: an outcome is either right, or says that the session was lost.
Task<std::string> opened_session(Context& ctx, std::string session, int lines) {
  const Session opened = co_await ctx.open_session({.id = session, .lease = std::chrono::seconds(3)});
  for (int i = 0; i < lines; ++i) {
    const std::string line = "line" + std::to_string(i);
    const Result<std::string> said = co_await opened.activity<std::string>("step", line).result();
    if (!said) co_return said.error().type;
  }
  co_await opened.close();
  const Result<std::string> late = co_await opened.activity<std::string>("step", "late").result();
  co_return late ? "it ran after the close" : late.error().type;
}

}  // namespace

void memories(const Shared& shared) {
  const auto memory = shared.sim.session_state<std::vector<int>>(
      "memory", saved_by_codec<std::vector<int>>(SaveState::with_each_activity));
  // Its result may be lost with a worker, but what it changed is not kept then.
  shared.sim.activity("remember", [memory](ActivityContext& ctx, int line) {
    std::vector<int>& lines = memory.in(ctx);
    lines.push_back(line);
    return static_cast<int>(lines.size());
  });
  shared.sim.orchestration("memory_of_lines", memory_of_lines);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "memory-" + std::to_string(i);
    shared.start("memory_of_lines", id, id, shared.number(1, 6));
    shared.sim.at_end([shared, id] { shared.expect(id, shared.sim.result<bool>(id).value(), true); });
  }
}

void shared_memories(const Shared& shared) {
  using Marks = std::vector<std::string>;
  const auto marks =
      shared.sim.session_state<Marks>("marks", saved_by_codec<Marks>(SaveState::with_each_activity));
  for (const char* name : {"mark", "mark otherwise"}) {
    shared.sim.activity(name, [marks](ActivityContext& ctx, std::string mark) {
      Marks& all = marks.in(ctx);
      all.push_back(std::move(mark));
      return all;
    });
  }
  shared.sim.orchestration("marks_of_one", marks_of_one);
  for (int i = shared.number(2, 5); i > 0; --i) {
    const std::string id = "marks-" + std::to_string(i);
    std::vector<int> pauses;
    for (int k = shared.number(2, 8); k > 0; --k) pauses.push_back(shared.number(0, 3));
    const std::string session = "shared-" + std::to_string(shared.number(1, 2));
    const std::string activity = i % 2 == 0 ? "mark" : "mark otherwise";
    shared.start("marks_of_one", id, session, activity, id, pauses);
    shared.sim.at_end([shared, id] { shared.expect(id, shared.sim.result<bool>(id).value(), true); });
  }
}

void opened_sessions(const Shared& shared) {
  shared.sim.orchestration("opened_session", opened_session);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "opened-" + std::to_string(i);
    shared.start("opened_session", id, id, shared.number(0, 5));
    shared.sim.at_end([shared, id] {
      const std::string end = shared.sim.result<std::string>(id).value();
      if (end != "session_lost" && end != "session_closed") shared.sim.fail(id + " ended with " + end);
    });
  }
}

}  // namespace holdfast::sim
