// What is done to instances from outside, and from other instances: they are suspended and resumed, watched,
// terminated.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>
#include <holdfast/ended_instance.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// Steps, a timer and an event, and undoing what was begun when somebody cancels it.
Task<std::vector<std::string>> paused(Context& ctx, int length) {
  std::vector<std::string> done;
  for (int i = 0; i < length; ++i) {
    const std::string label = "i" + std::to_string(i);
    done.push_back(co_await ctx.activity<std::string>("step", label));
    if (i % 3 == 1) co_await ctx.sleep(300ms);
  }
  co_await ctx.event<int>("enough");
  co_return done;
}

Task<std::string> end_of(Context& ctx, std::string id) {
  const Result<EndedInstance> ended = co_await ctx.ended(id).result();
  co_return ended ? std::string(to_string(ended->status)) : ended.error().type;
}
/// In as many executions as it takes.
Task<std::string> watching(Context& ctx, std::string id, int rounds) {
  auto ended = co_await with_timeout(end_of(ctx, id), 700ms);
  if (ended) co_return *ended;
  co_await ctx.continue_as_new(id, rounds + 1);
}

Task<int> patient(Context& ctx) { co_return co_await ctx.event<int>("enough"); }
Task<int> executioner(Context& ctx, std::string id) {
  co_await ctx.sleep(200ms);
  ctx.terminate(id, "its time has come");
  const EndedInstance ended = co_await ctx.ended(id);
  co_return ended.status == Status::terminated ? 1 : 0;
}

/// Hopes for a child whose code no worker has.
Task<std::string> hopes_in_vain(Context& ctx, std::string child) {
  const Result<int> end = co_await ctx.child<int>("unheard_of", {.id = child}).result();
  co_return end ? "completed" : std::string(to_string(end.error().category));
}

// Whether the call did what it says, or found it done by an instance that was faster.
bool unless_ended(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::conflict && e.kind() != ClientError::Kind::not_found) throw;
    return false;
  }
}

std::vector<ExecutionInfo> what_happened(Client& client, const std::string& id) {
  return client.executions(id);
}

/// Suspends it, for a while in which nothing of it happens.
void interrupt(const Shared& shared, const std::string& id) {
  shared.sim.at(shared.some_time(), "suspend " + id, [shared, id](Client& client) {
    if (!unless_ended([&] { client.suspend(id); })) return;
    const std::vector<ExecutionInfo> then = what_happened(client, id);
    shared.sim.at(shared.sim.now() + shared.some_time(4s), "resume " + id, [shared, id, then](Client& again) {
      if (what_happened(again, id) != then) shared.sim.fail(id + " went on while it was suspended");
      if (!unless_ended([&] { again.resume(id); })) shared.sim.fail(id + " was not suspended any more");
    });
  });
}

// Now, or when it is there.
void terminate(const Shared& shared, const std::string& id, Duration when) {
  shared.sim.at(when, "terminate " + id, [shared, id](Client& client) {
    if (!unless_ended([&] { client.terminate(id, "nobody has its code"); }))
      terminate(shared, id, shared.sim.now() + 2s);
  });
}

}  // namespace

void unheard_of_ones(const Shared& shared) {
  shared.sim.orchestration("hopes_in_vain", hopes_in_vain);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "unheard-of-" + std::to_string(i);
    shared.start("unheard_of", id);
    terminate(shared, id, shared.some_time());
    shared.sim.at_end([shared, id] {
      shared.expect(id + " was terminated", shared.sim.info(id).status == Status::terminated, true);
    });
    const std::string parent = "hopeful-" + std::to_string(i);
    shared.start("hopes_in_vain", parent, parent + "-child");
    terminate(shared, parent + "-child", shared.some_time());
    shared.sim.at_end([shared, parent] {
      shared.expect(parent, shared.sim.result<std::string>(parent).value(), std::string("terminated"));
    });
  }
}

void suspended_ones(const Shared& shared) {
  shared.sim.orchestration("paused", paused);
  for (int i = shared.number(2, 5); i > 0; --i) {
    const std::string id = "paused-" + std::to_string(i);
    const int length = shared.number(1, 8);
    shared.start("paused", id, length);
    // One after the other: two at a time would resume each other.
    interrupt(shared, id);
    shared.sim.at(shared.some_time(20s), "enough for " + id,
                  [id](Client& client) { client.raise(id, "enough", 1); });
    shared.sim.at_end([shared, id, length] {
      std::vector<std::string> labels;
      for (int k = 0; k < length; ++k) labels.push_back("i" + std::to_string(k));
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), labels);
    });
  }
}

void cancelled_while_suspended(const Shared& shared) {
  shared.sim.orchestration("patient", patient);
  for (int i = shared.number(1, 4); i > 0; --i) {
    const std::string id = "patient-" + std::to_string(i);
    const bool terminates = shared.number(0, 1) == 1;
    shared.sim.at(shared.some_time(), "start and suspend " + id, [shared, id, terminates](Client& client) {
      client.start("patient", {.id = id});
      client.suspend(id);
      if (terminates) {
        client.terminate(id, "enough");
        return;
      }
      client.cancel(id, "enough");
      shared.sim.at(shared.sim.now() + 3s, "resume " + id, [shared, id](Client& again) {
        shared.expect(id + " waits", again.run(id).status() == Status::suspended, true);
        again.resume(id);
      });
    });
    shared.sim.at_end([shared, id, terminates] {
      const Status wanted = terminates ? Status::terminated : Status::cancelled;
      shared.expect(id + " has ended as it was asked to", shared.sim.info(id).status == wanted, true);
    });
  }
}

void watched_ends(const Shared& shared) {
  shared.sim.orchestration("watching", watching);
  shared.sim.orchestration("mourned", patient);
  shared.sim.orchestration("executioner", executioner);
  shared.start("mourned", "mourned-by-event");
  shared.sim.at(shared.some_time(), "enough",
                [](Client& client) { client.raise("mourned-by-event", "enough", 1); });
  // Who comes before there is one hears that there is none, and asks again.
  const auto expect_end = [&shared](const std::string& watcher, const std::string& status) {
    shared.sim.at_end([shared, watcher, status] {
      const std::string found = shared.sim.result<std::string>(watcher).value();
      if (found != "instance_not_found") shared.expect(watcher, found, status);
    });
  };
  for (int i = shared.number(1, 4); i > 0; --i) {
    const std::string watcher = "watching-" + std::to_string(i);
    shared.start("watching", watcher, std::string("mourned-by-event"), 0);
    expect_end(watcher, "completed");
    if (shared.number(0, 2) == 0) interrupt(shared, watcher);
  }
  shared.sim.at(shared.some_time(), "start mourned-by-execution", [](Client& client) {
    client.start("mourned", {.id = "mourned-by-execution"});
    client.start("executioner", {.id = "executioner"}, "mourned-by-execution");
    client.start("watching", {.id = "watching-an-execution"}, "mourned-by-execution", 0);
  });
  expect_end("watching-an-execution", "terminated");
  shared.sim.at_end(
      [shared] { shared.expect("executioner", shared.sim.result<int>("executioner").value(), 1); });
}

}  // namespace holdfast::sim
