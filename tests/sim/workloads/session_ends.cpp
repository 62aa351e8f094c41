// Sessions with a policy, and those that end under their work: by their time, by an activity, by a person.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>
#include <holdfast/errors.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::sim {

namespace {

/// Some steps at once in a session that few workers may have, one after the other, for a limited time.
Task<std::string> renders(Context& ctx, std::string session, int frames, Duration ttl) {
  const Session render = ctx.worker_session(session, {.requirements = {"gpu"}, .ttl = ttl});
  std::vector<Op<std::string>> parts;
  for (int i = 0; i < frames; ++i) {
    const std::string label = "frame" + std::to_string(i);
    parts.push_back(render.activity<std::string>("step", label));
  }
  auto all = when_all_settled(std::move(parts));
  const auto settled = co_await std::move(all);
  for (const Result<std::string>& frame : settled) {
    if (!frame) co_return frame.error().type;
  }
  co_return "done";
}

Task<std::vector<std::string>> burns(Context& ctx, std::string session) {
  std::vector<std::string> words;
  const auto word = [&words](const Result<std::string>& result) {
    words.push_back(result ? "done" : result.error().type);
  };
  word(co_await ctx.activity<std::string>("step", {.session = session}, "before").result());
  word(co_await ctx.activity<std::string>("burn", {.session = session}).result());
  word(co_await ctx.activity<std::string>("step", {.session = session}, "after").result());
  co_return words;
}

Task<std::string> closed_under(Context& ctx, std::string session, int lines) {
  for (int i = 0; i < lines; ++i) {
    const std::string label = "say" + std::to_string(i);
    const Result<std::string> said =
        co_await ctx.activity<std::string>("step", {.session = session}, label).result();
    if (!said) co_return said.error().type;
  }
  co_return "done";
}

/// Hears what becomes of its session: each change of hands once, in order.
Task<std::string> listens(Context& ctx, std::string id, int lines) {
  const Session session = co_await ctx.open_session(
      {.id = id, .lease = std::chrono::seconds(3), .allow_reacquire_after_failure = true});
  std::uint64_t newest = 0;
  auto next = session.next_event().start();
  for (int i = 0; i < lines; ++i) {
    const std::string label = "line" + std::to_string(i);
    const Result<std::string> said = co_await session.activity<std::string>("step", label).result();
    if (!said) co_return said.error().type;
    while (next.ready()) {
      const SessionEvent event = co_await std::move(next);
      if (event.kind == SessionEvent::Kind::lost) co_return "it was lost, and may be claimed again";
      if (event.generation <= newest)
        co_return "generation " + std::to_string(event.generation) + " was told twice";
      if ((event.kind == SessionEvent::Kind::claimed) != (newest == 0))
        co_return "claimed for the first time twice";
      newest = event.generation;
      next = session.next_event().start();
    }
  }
  co_return "done";
}

/// It ended with one of these.
void ends_with(const Shared& shared, const std::string& id, const std::vector<std::string>& words) {
  shared.sim.at_end([shared, id, words] {
    const std::string end = shared.sim.result<std::string>(id).value();
    for (const std::string& word : words) {
      if (end == word) return;
    }
    shared.sim.fail(id + " ended with: " + end);
  });
}

}  // namespace

void worker_sessions(const Shared& shared) {
  shared.sim.orchestration("renders", renders);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "render-" + std::to_string(i);
    // Some live for longer than all trouble.
    const bool brief = shared.number(0, 1) == 0;
    const Duration ttl = brief ? std::chrono::seconds(shared.number(1, 20)) : std::chrono::hours(1);
    shared.start("renders", id, id, shared.number(1, 5), ttl);
    ends_with(shared, id,
              brief ? std::vector<std::string>{"done", "session_expired"} : std::vector<std::string>{"done"});
  }
}

void aborted_sessions(const Shared& shared) {
  shared.sim.activity("burn", [](ActivityContext& ctx) {
    ctx.abort_session("it burns");
    return std::string("burnt");
  });
  shared.sim.orchestration("burns", burns);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "burn-" + std::to_string(i);
    shared.start("burns", id, id);
    shared.sim.at_end([shared, id] {
      const auto words = shared.sim.result<std::vector<std::string>>(id).value();
      // One whose session was lost meanwhile may not end it any more.
      const bool burnt = words == std::vector<std::string>{"done", "done", "session_aborted"};
      const bool late = words == std::vector<std::string>{"done", "done", "done"};
      if (!burnt && !late) shared.sim.fail(id + " ended with " + encode(words).bytes);
    });
  }
}

void closed_sessions(const Shared& shared) {
  shared.sim.orchestration("closed_under", closed_under);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "closed-" + std::to_string(i);
    shared.start("closed_under", id, id, shared.number(1, 6));
    shared.sim.at(shared.some_time(), "close " + id, [id](Client& client) {
      try {
        client.close_session(id);
      } catch (const ClientError& e) {
        if (e.kind() != ClientError::Kind::not_found) throw;
      }
    });
    ends_with(shared, id, {"done", "session_closed"});
  }
}

// An operator asks for sessions now and then: their work goes on, wherever they are next.
void asked_for_sessions(const Shared& shared) {
  shared.sim.orchestration("asked_for", closed_under);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "asked-for-" + std::to_string(i);
    shared.start("asked_for", id, id, shared.number(1, 8));
    for (int n = shared.number(1, 3); n > 0; --n) {
      shared.sim.at(shared.some_time(), "release " + id, [id](Client& client) {
        try {
          client.release_session(id);
        } catch (const ClientError& e) {
          if (e.kind() != ClientError::Kind::not_found) throw;
        }
      });
    }
    ends_with(shared, id, {"done"});
  }
}

void listeners(const Shared& shared) {
  shared.sim.orchestration("listens", listens);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "listener-" + std::to_string(i);
    shared.start("listens", id, id, shared.number(1, 6));
    ends_with(shared, id, {"done"});
  }
}

}  // namespace holdfast::sim
