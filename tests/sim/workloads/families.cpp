// Orchestrations that start others, and go on as new.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

// Counts the nodes of a tree.
Task<int> tree(Context& ctx, int depth, int width) {
  if (depth == 0) {
    const std::string label = "leaf";
    co_await ctx.activity<std::string>("step", label);
    co_return 1;
  }
  std::vector<Op<int>> children;
  for (int i = 0; i < width; ++i) {
    const int below = depth - 1;
    children.push_back(ctx.child<int>("tree", below, width));
  }
  int sum = 1;
  for (const int count : co_await when_all(std::move(children))) sum += count;
  co_return sum;
}

Task<std::vector<std::string>> starter(Context& ctx, int count) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) {
    const std::string id = ctx.instance_id() + "/" + std::to_string(i);
    const int length = 1;
    ids.push_back(co_await ctx.start_detached("lonely", {.id = id}, length));
  }
  // One in the very turn that ends it.
  const std::string last = ctx.instance_id() + "/last";
  const int length = 1;
  ctx.start_detached("lonely", {.id = last}, length).start().detach();
  co_return ids;
}

Task<std::vector<std::string>> lonely(Context& ctx, int length) {
  std::vector<std::string> done;
  for (int i = 0; i < length; ++i) {
    const std::string label = "lonely";
    done.push_back(co_await ctx.activity<std::string>("step", label));
  }
  co_return done;
}

// Wants a child under an id that is taken, and one that is not.
Task<std::string> usurper(Context& ctx, std::string taken) {
  const int length = 1;
  const Result<std::vector<std::string>> refused =
      co_await ctx.child<std::vector<std::string>>("lonely", {.id = taken}, length).result();
  const std::string own = ctx.instance_id() + "/own";
  const Result<std::vector<std::string>> accepted =
      co_await ctx.child<std::vector<std::string>>("lonely", {.id = own}, length).result();
  co_return (refused ? std::string("took it") : refused.error().type) + ", " +
      (accepted ? "own ended" : accepted.error().type);
}

// Wants a child under an id that is taken, and is gone before it hears of it.
Task<int> careless(Context& ctx, std::string taken) {
  const int length = 1;
  Future<std::vector<std::string>> child =
      ctx.child<std::vector<std::string>>("lonely", {.id = taken}, length).start();
  co_return 1;
}

// One step in each execution.
Task<std::vector<std::string>> looping(Context& ctx, std::vector<std::string> done, int rounds) {
  if (static_cast<int>(done.size()) == rounds) co_return done;
  const std::string label = "round" + std::to_string(done.size());
  done.push_back(co_await ctx.activity<std::string>("step", label));
  co_await ctx.continue_as_new(done, rounds);
}

// A child that goes on as new before it ends, of a parent that does, too.
Task<int> restless_parent(Context& ctx, int round, int rounds, int sum) {
  if (round == rounds) co_return sum;
  const std::vector<std::string> none;
  const auto done = co_await ctx.child<std::vector<std::string>>("restless_looping", none, round);
  const int next = round + 1;
  const int added = sum + static_cast<int>(done.size());
  co_await ctx.continue_as_new(next, rounds, added);
}

// Succeeds at some attempt, and goes on as new in between.
Task<int> stumbling(Context& ctx, int succeeds_at, int rounds) {
  const std::string label = "stumble";
  co_await ctx.activity<std::string>("step", label);
  if (rounds > 0) {
    const int left = rounds - 1;
    co_await ctx.continue_as_new(succeeds_at, left);
  }
  if (ctx.attempt() < succeeds_at) throw ActivityFailure("not_yet", "once more");
  co_return ctx.attempt();
}
Task<std::string> persistent(Context& ctx, int succeeds_at, int max_attempts, int rounds) {
  const Result<int> attempt =
      co_await ctx
          .child<int>("stumbling", {.retry = {.max_attempts = max_attempts, .first_delay = 500ms}},
                      succeeds_at, rounds)
          .result();
  co_return attempt ? "attempt " + std::to_string(*attempt) : attempt.error().type;
}

Task<int> long_lived(Context& ctx) {
  co_await ctx.sleep(1min);
  co_return 1;
}
// Leaves without its children.
Task<int> leaves(Context& ctx, int after_ms) {
  const std::string own = ctx.instance_id();
  const Future<int> cancelled = ctx.child<int>("long_lived", {.id = own + "/cancelled"}).start();
  const Future<int> abandoned =
      ctx.child<int>("long_lived", {.id = own + "/abandoned", .on_parent_close = ParentClosePolicy::abandon})
          .start();
  const Future<int> terminated =
      ctx.child<int>("long_lived",
                     {.id = own + "/terminated", .on_parent_close = ParentClosePolicy::terminate})
          .start();
  co_await ctx.sleep(std::chrono::milliseconds(after_ms));
  co_return 0;
}

int nodes_of(int depth, int width) {
  int nodes = 1;
  int level = 1;
  for (int i = 0; i < depth; ++i) nodes += level *= width;
  return nodes;
}

}  // namespace

void trees(const Shared& shared) {
  shared.sim.orchestration("tree", tree);
  const int depth = shared.number(0, 3);
  const int width = shared.number(0, 3);
  shared.start("tree", "tree", depth, width);
  shared.sim.at_end([shared, depth, width] {
    shared.expect("tree", shared.sim.result<int>("tree").value(), nodes_of(depth, width));
  });
}

void persistent_children(const Shared& shared) {
  shared.sim.orchestration("stumbling", stumbling);
  shared.sim.orchestration("persistent", persistent);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "persistent-" + std::to_string(i);
    const int succeeds_at = shared.number(1, 4);
    const int max_attempts = shared.number(1, 4);
    shared.start("persistent", id, succeeds_at, max_attempts, shared.number(0, 2));
    shared.sim.at_end([shared, id, succeeds_at, max_attempts] {
      shared.expect<std::string>(
          id, shared.sim.result<std::string>(id).value(),
          succeeds_at <= max_attempts ? "attempt " + std::to_string(succeeds_at) : "not_yet");
    });
  }
}

void orphans(const Shared& shared) {
  shared.sim.orchestration("long_lived", long_lived);
  shared.sim.orchestration("leaves", leaves);
  shared.start("leaves", "leaver", shared.number(0, 5000));
  shared.sim.at_end([shared] {
    shared.expect("an abandoned child", shared.sim.result<int>("leaver/abandoned").value(), 1);
    // Whoever is told late may have ended by itself.
    const auto ended_as = [&](const std::string& id, Status wanted) {
      const Status status = shared.sim.info(id).status;
      shared.expect(id + " ended", status == wanted || status == Status::completed, true);
    };
    ended_as("leaver/cancelled", Status::cancelled);
    ended_as("leaver/terminated", Status::terminated);
  });
}

void detached_ones(const Shared& shared) {
  shared.sim.orchestration("starter", starter);
  shared.share("lonely", lonely);
  const int count = shared.number(0, 3);
  shared.start("starter", "starter", count);
  shared.sim.at_end([shared, count] {
    std::vector<std::string> expected;
    for (int i = 0; i < count; ++i) expected.push_back("starter/" + std::to_string(i));
    shared.expect("starter", shared.sim.result<std::vector<std::string>>("starter").value(), expected);
    expected.emplace_back("starter/last");
    for (const std::string& id : expected) {
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), {"lonely"});
    }
  });
}

void taken_ids(const Shared& shared) {
  shared.sim.orchestration("usurper", usurper);
  shared.share("looping", looping);
  shared.share("lonely", lonely);
  const int rounds = shared.number(0, 6);
  // It is there before anybody wants its id; sometimes it has not begun by then.
  const Duration delay = shared.number(0, 2) == 0 ? 3s : 0s;
  shared.sim.at(0s, "start taken", [rounds, delay, shared](Client& client) {
    client.start("looping", {.id = "taken", .delay = delay}, std::vector<std::string>{}, rounds);
    for (int i = 0; i < 3; ++i) {
      const std::string id = "usurper-" + std::to_string(i);
      shared.sim.at(shared.sim.now() + shared.some_time(4s), "start " + id,
                    [id](Client& again) { again.start("usurper", {.id = id}, std::string("taken")); });
    }
  });
  shared.sim.at_end([shared, rounds] {
    for (int i = 0; i < 3; ++i) {
      const std::string id = "usurper-" + std::to_string(i);
      shared.expect<std::string>(id, shared.sim.result<std::string>(id).value(), "id_taken, own ended");
    }
    shared.expect("taken", shared.sim.result<std::vector<std::string>>("taken").value().size(),
                  static_cast<std::size_t>(rounds));
  });
}

void careless_ones(const Shared& shared) {
  shared.sim.orchestration("careless", careless);
  shared.share("settled", lonely);
  shared.share("lonely", lonely);
  const int length = shared.number(0, 3);
  shared.sim.at(shared.some_time(), "start innocent", [length, shared](Client& client) {
    client.start("settled", {.id = "innocent"}, length);
    shared.sim.at(shared.sim.now() + 1ms, "start careless", [](Client& again) {
      again.start("careless", {.id = "careless"}, std::string("innocent"));
    });
  });
  shared.sim.at_end([shared, length] {
    shared.expect("careless", shared.sim.result<int>("careless").value(), 1);
    // Whoever wanted its id may not take it along.
    shared.expect("innocent", shared.sim.result<std::vector<std::string>>("innocent").value().size(),
                  static_cast<std::size_t>(length));
  });
}

void loops(const Shared& shared) {
  shared.share("looping", looping);
  const int rounds = shared.number(0, 6);
  shared.start("looping", "loop", std::vector<std::string>{}, rounds);
  shared.sim.at_end([shared, rounds] {
    std::vector<std::string> expected;
    for (int i = 0; i < rounds; ++i) expected.push_back("round" + std::to_string(i));
    shared.expect_steps("loop", shared.sim.result<std::vector<std::string>>("loop").value(), expected);
    shared.expect("executions of loop", shared.sim.info("loop").execution.value,
                  static_cast<std::uint64_t>(rounds) + 1);
  });
}

void restless_children(const Shared& shared) {
  shared.sim.orchestration("restless_parent", restless_parent);
  shared.sim.orchestration("restless_looping", looping);
  const int rounds = shared.number(0, 4);
  shared.start("restless_parent", "restless", 0, rounds, 0);
  shared.sim.at_end([shared, rounds] {
    shared.expect("restless", shared.sim.result<int>("restless").value(), rounds * (rounds - 1) / 2);
  });
}

}  // namespace holdfast::sim
