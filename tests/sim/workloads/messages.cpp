// Time, events and messages.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

Task<int> ticking(Context& ctx, int ticks, int every_ms) {
  int done = 0;
  for (int i = 0; i < ticks; ++i) {
    co_await ctx.sleep(std::chrono::milliseconds(every_ms));
    ++done;  // ctx.now() tells nothing here: somebody may have set the wall clock back
  }
  co_return done;
}

Task<std::string> approval(Context& ctx, int patience_ms) {
  const std::string label = "notify";
  co_await ctx.activity<std::string>("step", label);
  const std::optional<bool> decision =
      co_await with_timeout(ctx.event<bool>("decision"), std::chrono::milliseconds(patience_ms));
  if (!decision) co_return "escalated";
  co_return *decision ? "approved" : "rejected";
}

struct Count {
  std::vector<int> seen;  ///< of all executions
  int wanted = 0;
  int per_execution = 1;
};

// Takes numbers from its mailbox, a few in each execution, with a step in between.
Task<std::vector<int>> actor(Context& ctx, Count count) {
  const Receiver<int> inbox = ctx.mailbox<int>("numbers");
  for (int i = 0; i < count.per_execution; ++i) {
    if (static_cast<int>(count.seen.size()) == count.wanted) co_return count.seen;
    count.seen.push_back(co_await inbox.receive());
    const std::string label = "handle";
    if (count.seen.size() % 3 == 0) co_await ctx.activity<std::string>("step", label);
    if (count.seen.size() % 4 == 0) {
      for (const int more : co_await inbox.drain()) count.seen.push_back(more);
    }
  }
  co_await ctx.continue_as_new(count);
}

// Races its mailbox against a timer, with an activity beside that is often still running when it goes on as
// new.
Task<std::vector<int>> impatient(Context& ctx, Count count) {
  const Receiver<int> inbox = ctx.mailbox<int>("numbers");
  const std::string label = "beside";
  const Future<std::string> beside = ctx.activity<std::string>("step", label).start();
  for (int i = 0; i < count.per_execution; ++i) {
    if (static_cast<int>(count.seen.size()) == count.wanted) co_return count.seen;
    const auto won = co_await race(inbox.receive(), ctx.sleep(700ms));
    if (won.index() == 0) count.seen.push_back(std::get<0>(won));
  }
  co_await ctx.continue_as_new(count);
}

// Sends some numbers to another, with steps in between, the last one in the turn that ends it.
Task<int> speaker(Context& ctx, std::string to, int first, int count) {
  const std::string label = "speak";
  for (int i = 0; i < count; ++i) {
    if (i % 2 == 1) co_await ctx.activity<std::string>("step", label);
    ctx.send(to, "numbers", first + i);
  }
  co_return count;
}

// Launches speakers, and ends with that turn.
Task<int> herald(Context& ctx, std::string to, int first, int speakers, int count) {
  for (int i = 0; i < speakers; ++i) {
    const std::string id = ctx.instance_id() + "/" + std::to_string(i);
    ctx.launch("speaker", {.id = id}, to, first + i * count, count);
  }
  co_return speakers;
}

// Waits for somebody who never comes, until another asks it to stop.
Task<std::string> hermit(Context& ctx) {
  try {
    co_await ctx.event<int>("visit");
  } catch (const Cancelled& e) {
    co_return e.failure().message;
  }
  co_return "visited";
}
Task<int> doorkeeper(Context& ctx, std::string whom) {
  const std::string label = "knock";
  co_await ctx.activity<std::string>("step", label);
  ctx.cancel(whom, "enough");
  co_return 1;
}

// Sends 0 to `count` - 1 at some times, the first few perhaps before the start.
void send_numbers(const Shared& shared, const std::string& id, int count) {
  for (int i = 0; i < count; ++i) {
    shared.sim.at(shared.some_time(20s), "send " + std::to_string(i) + " to " + id,
                  [id, i](Client& client) { client.send(id, "numbers", i); });
  }
}

void expect_all_numbers(const Shared& shared, const std::string& id, int count) {
  auto seen = shared.sim.result<std::vector<int>>(id).value();
  std::sort(seen.begin(), seen.end());
  std::vector<int> expected;
  for (int i = 0; i < count; ++i) expected.push_back(i);
  shared.expect(id, seen, expected);
}

// Waits for an event, and for messages as long as they come.
Task<int> late_riser(Context& ctx, int messages) {
  const int answer = co_await ctx.event<int>("early");
  const Receiver<int> inbox = ctx.mailbox<int>("worms");
  int sum = answer;
  for (int i = 0; i < messages; ++i) {
    const std::optional<int> worm = co_await with_timeout(inbox.receive(), std::chrono::hours(1));
    sum += worm.value_or(-1'000'000);
  }
  co_return sum;
}

}  // namespace

void timers(const Shared& shared) {
  shared.sim.orchestration("ticking", ticking);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "ticking-" + std::to_string(i);
    const int ticks = shared.number(0, 5);
    shared.start("ticking", id, ticks, shared.number(0, 6000));
    shared.sim.at_end([shared, id, ticks] { shared.expect(id, shared.sim.result<int>(id).value(), ticks); });
  }
}

void approvals(const Shared& shared) {
  shared.sim.orchestration("approval", approval);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "approval-" + std::to_string(i);
    const bool answer = shared.number(0, 1) == 1;
    const bool answered = shared.number(0, 3) > 0;
    shared.start("approval", id, shared.number(0, 20'000));
    if (answered) {
      shared.sim.at(shared.some_time(25s), "decide " + id, [id, answer](Client& client) {
        try {
          client.raise(id, "decision", answer);
        } catch (const ClientError& e) {
          if (e.kind() != ClientError::Kind::conflict) throw;  // it has ended
        }
      });
    }
    shared.sim.at_end([shared, id, answer, answered] {
      const std::string result = shared.sim.result<std::string>(id).value();
      if (result == "escalated") return;
      if (!answered) shared.sim.fail(id + " was decided by nobody");
      shared.expect<std::string>(id, result, answer ? "approved" : "rejected");
    });
  }
}

void early_birds(const Shared& shared) {
  shared.sim.orchestration("late_riser", late_riser);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "late_riser-" + std::to_string(i);
    const int messages = shared.number(0, 4);
    shared.sim.at(shared.some_time(), "raise for " + id,
                  [id](Client& client) { client.raise(id, "early", {.keep_for = 1h}, 100); });
    for (int k = 0; k < messages; ++k) {
      shared.sim.at(shared.some_time(), "send to " + id,
                    [id](Client& client) { client.send(id, "worms", {.keep_for = 2h, .delay = 1s}, 1); });
    }
    shared.start("late_riser", id, messages);
    shared.sim.at_end(
        [shared, id, messages] { shared.expect(id, shared.sim.result<int>(id).value(), 100 + messages); });
  }
}

void actors(const Shared& shared) {
  shared.share("actor", actor);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "actor-" + std::to_string(i);
    const Count count{.seen = {}, .wanted = shared.number(0, 12), .per_execution = shared.number(1, 5)};
    shared.start("actor", id, count);
    send_numbers(shared, id, count.wanted);
    shared.sim.at_end([shared, id, count] { expect_all_numbers(shared, id, count.wanted); });
  }
}

void chatter(const Shared& shared) {
  shared.share("actor", actor);
  shared.sim.orchestration("speaker", speaker).orchestration("herald", herald);
  shared.sim.orchestration("hermit", hermit).orchestration("doorkeeper", doorkeeper);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "hearer-" + std::to_string(i);
    const int speakers = shared.number(1, 3);
    const int each = shared.number(1, 4);
    const Count count{.seen = {}, .wanted = speakers * each, .per_execution = shared.number(1, 5)};
    shared.start("actor", id, count);
    shared.start("herald", "herald-" + std::to_string(i), id, 0, speakers, each);
    shared.sim.at_end([shared, id, count] { expect_all_numbers(shared, id, count.wanted); });
  }
  const std::string hermit_id = "hermit-1";
  shared.sim.at(shared.some_time(), "start " + hermit_id, [hermit_id](Client& client) {
    client.start("hermit", {.id = hermit_id});
    client.start("doorkeeper", {.id = "doorkeeper-1"},
                 hermit_id);  // a request for an id that isn't there is dropped
  });
  shared.sim.at_end([shared, hermit_id] {
    shared.expect<std::string>(hermit_id, shared.sim.result<std::string>(hermit_id).value(), "enough");
  });
}

void impatient_readers(const Shared& shared) {
  shared.sim.orchestration("impatient", impatient);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "impatient-" + std::to_string(i);
    const Count count{.seen = {}, .wanted = shared.number(0, 8), .per_execution = shared.number(1, 6)};
    shared.start("impatient", id, count);
    send_numbers(shared, id, count.wanted);
    shared.sim.at_end([shared, id, count] { expect_all_numbers(shared, id, count.wanted); });
  }
}

}  // namespace holdfast::sim
