// Ends that come from outside, and what others can see.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

// Does what it is asked to: tidies up in a shield, and ends.
Task<std::string> obedient(Context& ctx) {
  bool cancelled = false;
  try {
    for (int i = 0; i < 4; ++i) {
      const std::string label = "work";
      co_await ctx.activity<std::string>("step", label);
      co_await ctx.sleep(1500ms);
    }
  } catch (const Cancelled&) {
    cancelled = true;
  }
  if (!cancelled) co_return "done";
  const std::string tidy = ctx.instance_id() + "/tidy";
  co_await ctx.shield(ctx.activity<std::string>("step", tidy));
  co_return "tidied up";
}

// Waits for what never comes, in several ways.
Task<int> endless(Context& ctx, int width) {
  std::vector<Op<int>> children;
  for (int i = 0; i < width; ++i) {
    const int none = 0;
    children.push_back(ctx.child<int>("endless", none));
  }
  Future<void> timer = ctx.sleep(std::chrono::hours(24 * 365)).start();
  const std::string label = "beside";
  Future<std::string> step = ctx.activity<std::string>("step", label).start();
  if (!children.empty()) co_await when_all(std::move(children));
  co_return co_await ctx.event<int>("never");
}

// Goes on as new for ever.
Task<int> restless(Context& ctx, int round) {
  const std::string label = "round";
  co_await ctx.activity<std::string>("step", label);
  co_await ctx.sleep(200ms);
  const int next = round + 1;
  co_await ctx.continue_as_new(next);
}

// Loses patience with its child.
Task<std::string> impatient_parent(Context& ctx, int patience_ms) {
  const int width = 1;
  const auto won = co_await race(ctx.child<int>("endless", {.id = ctx.instance_id() + "/child"}, width),
                                 ctx.sleep(std::chrono::milliseconds(patience_ms)));
  co_return won.index() == 0 ? "child ended" : "gave up";
}

Task<int> counter(Context& ctx, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    const std::string label = "count";
    co_await ctx.activity<std::string>("step", label);
    ctx.set_value("count", i);
    ctx.set_status("round " + std::to_string(i));
    if (i == 2) ctx.set_value("gone", true);
    if (i == 3) ctx.clear_value("gone");
  }
  co_return ctx.value<int>("count").value_or(0);
}

// Follows the counter until it has counted so far.
Task<int> follower(Context& ctx, std::string whom, int until) {
  int last = 0;
  while (last < until) {
    const std::optional<int> seen = co_await ctx.value_of<int>(whom, "count");
    const int now = seen.value_or(0);
    if (now < last) co_return -1;  // it counts upwards
    last = now;
    if (last < until) co_await ctx.sleep(500ms);
  }
  co_return last;
}

Task<int> mortal(Context& ctx, int life) {
  const std::string label = "life " + std::to_string(life);
  co_await ctx.activity<std::string>("step", label);
  co_return life;
}

Task<std::string> first_version(Context& ctx, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::string label = "one";
    co_await ctx.activity<std::string>("step", label);
    co_await ctx.sleep(1s);
  }
  co_return "version " + ctx.version();
}
Task<std::string> second_version(Context& ctx, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    co_await ctx.sleep(800ms);
    const std::string label = "two";
    co_await ctx.activity<std::string>("step", label);
  }
  co_return "version " + ctx.version();
}

// While this is `broken`, code does not do again what it did. Once mended it stays so.
enum class Deployed { working, broken, mended };
Deployed deployed = Deployed::working;

Task<std::vector<std::string>> sometimes_broken(Context& ctx, int length) {
  std::vector<std::string> done;
  for (int i = 0; i < length; ++i) {
    if (deployed == Deployed::broken && ctx.replaying()) co_await ctx.sleep(1s);
    const std::string label = "b" + std::to_string(i);
    done.push_back(co_await ctx.activity<std::string>("step", label));
    co_await ctx.sleep(400ms);
  }
  co_return done;
}

void ignoring_ended(const std::function<void()>& call) {
  try {
    call();
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::conflict && e.kind() != ClientError::Kind::not_found) throw;
  }
}

}  // namespace

void cancellations(const Shared& shared) {
  shared.sim.orchestration("obedient", obedient);
  shared.share("endless", endless);
  shared.start("obedient", "obedient");
  shared.sim.at(shared.some_time(20s), "cancel obedient",
                [](Client& client) { ignoring_ended([&] { client.cancel("obedient", "enough"); }); });
  const int width = shared.number(0, 3);
  shared.sim.at(shared.some_time(), "start endless", [shared, width](Client& client) {
    client.start("endless", {.id = "endless"}, width);
    shared.sim.at(shared.sim.now() + shared.some_time(10s), "cancel endless",
                  [](Client& again) { again.cancel("endless", "enough"); });
  });
  shared.sim.at_end([shared] {
    const std::string result = shared.sim.result<std::string>("obedient").value();
    shared.expect("obedient tidied up", shared.ledger->has_label("obedient/tidy"), result == "tidied up");
    shared.expect("endless was cancelled", shared.sim.info("endless").status == Status::cancelled, true);
  });
}

void restless_ones(const Shared& shared) {
  shared.sim.orchestration("restless", restless);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "restless-" + std::to_string(i);
    const bool by_force = shared.number(0, 2) == 0;
    shared.sim.at(shared.some_time(), "start " + id, [shared, id, by_force](Client& client) {
      // Some are ended before they begin.
      const Duration delay = shared.number(0, 3) == 0 ? 8s : 0s;
      client.start("restless", {.id = id, .delay = delay}, 0);
      shared.sim.at(shared.sim.now() + shared.some_time(10s), "end " + id, [id, by_force](Client& again) {
        if (by_force) {
          again.terminate(id, "enough");
        } else {
          again.cancel(id, "enough");
        }
      });
    });
    shared.sim.at_end([shared, id, by_force] {
      const Status wanted = by_force ? Status::terminated : Status::cancelled;
      shared.expect(id + " was ended", shared.sim.info(id).status == wanted, true);
    });
  }
}

void terminations(const Shared& shared) {
  shared.share("endless", endless);
  const int width = shared.number(0, 3);
  const bool after_a_while = shared.number(0, 1) == 1;
  shared.sim.at(shared.some_time(), "start doomed", [shared, width, after_a_while](Client& client) {
    client.start("endless", {.id = "doomed"}, width);
    shared.sim.at(shared.sim.now() + shared.some_time(10s), "terminate doomed",
                  [after_a_while](Client& again) {
                    if (after_a_while) {
                      // It may end by the request or by force, whichever comes first.
                      again.cancel("doomed", {.terminate_after = 2s}, "enough");
                    } else {
                      again.terminate("doomed", "enough");
                    }
                  });
  });
  shared.sim.at_end([shared, after_a_while] {
    const Status status = shared.sim.info("doomed").status;
    const bool fine = status == Status::terminated || (after_a_while && status == Status::cancelled);
    shared.expect("doomed was ended", fine, true);
  });
}

void dropped_children(const Shared& shared) {
  shared.share("endless", endless);
  shared.sim.orchestration("impatient_parent", impatient_parent);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "dropper-" + std::to_string(i);
    shared.start("impatient_parent", id, shared.number(0, 5000));
    shared.sim.at_end([shared, id] {
      shared.expect<std::string>(id, shared.sim.result<std::string>(id).value(), "gave up");
      shared.expect("the child of " + id + " was cancelled",
                    shared.sim.info(id + "/child").status == Status::cancelled, true);
    });
  }
}

void values(const Shared& shared) {
  shared.sim.orchestration("counter", counter);
  shared.sim.orchestration("follower", follower);
  const int rounds = shared.number(1, 6);
  shared.start("counter", "counter", rounds);
  shared.start("follower", "follower", std::string("counter"), rounds);
  shared.sim.at_end([shared, rounds] {
    shared.expect("counter", shared.sim.result<int>("counter").value(), rounds);
    shared.expect("follower", shared.sim.result<int>("follower").value(), rounds);
    shared.expect("value of counter", shared.sim.value<int>("counter", "count").value_or(-1), rounds);
    shared.expect("a value that is gone", shared.sim.value<bool>("counter", "gone").has_value(), rounds == 2);
    const auto status = shared.sim.info("counter").custom_status;
    shared.expect("status of counter", status ? decode<std::string>(*status).value() : "",
                  "round " + std::to_string(rounds));
  });
}

void new_lives(const Shared& shared) {
  shared.sim.orchestration("mortal", mortal);
  const int lives = shared.number(1, 3);
  // Each life begins once the one before has ended; that is tried now and then.
  struct Retry {
    static void begin(const Shared& shared_by_all, int life, int lives_wanted) {
      shared_by_all.sim.at(shared_by_all.sim.now() + 2s, "begin life " + std::to_string(life),
                           [shared_by_all, life, lives_wanted](Client& client) {
                             try {
                               client.start("mortal", {.id = "mortal", .reuse = Reuse::after_end}, life);
                               if (life < lives_wanted) begin(shared_by_all, life + 1, lives_wanted);
                             } catch (const ClientError& e) {
                               if (e.kind() != ClientError::Kind::conflict) throw;
                               begin(shared_by_all, life, lives_wanted);
                             }
                           });
    }
  };
  Retry::begin(shared, 1, lives);
  shared.sim.at_end(
      [shared, lives] { shared.expect("mortal", shared.sim.result<int>("mortal").value(), lives); });
}

void broken_deployments(const Shared& shared) {
  deployed = Deployed::working;
  shared.sim.orchestration("sometimes_broken", sometimes_broken);
  const Duration breaks = shared.some_time(10s);
  shared.sim.at(breaks, "deploy a mistake", [](Client&) {
    if (deployed == Deployed::working) deployed = Deployed::broken;
  });
  shared.sim.at_calm([] { deployed = Deployed::mended; });
  for (int i = shared.number(2, 5); i > 0; --i) {
    const std::string id = "broken-" + std::to_string(i);
    const int length = shared.number(1, 6);
    const int end = shared.number(0, 5);  // by itself, or by a request that may find it parked
    shared.start("sometimes_broken", id, length);
    if (end < 2) {
      shared.sim.at(16s + shared.some_time(10s), "end " + id, [id, end](Client& client) {
        ignoring_ended([&] {
          if (end == 0) {
            client.cancel(id, "enough");
          } else {
            client.terminate(id, "enough");
          }
        });
      });
    }
    shared.sim.at_end([shared, id, length, end] {
      const Status status = shared.sim.info(id).status;
      if (end == 0 && status == Status::cancelled) return;
      if (end == 1 && status == Status::terminated) return;
      std::vector<std::string> labels;
      for (int k = 0; k < length; ++k) labels.push_back("b" + std::to_string(k));
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), labels);
    });
  }
}

void versions(const Shared& shared) {
  shared.sim.orchestration("versioned", {.version = "1"}, first_version);
  shared.sim.orchestration("versioned", {.version = "2", .from_build = 2}, second_version);
  for (int i = shared.number(2, 5); i > 0; --i) {
    const std::string id = "versioned-" + std::to_string(i);
    shared.start("versioned", id, shared.number(0, 4));
    shared.sim.at_end([shared, id] {
      const std::string result = shared.sim.result<std::string>(id).value();
      shared.expect<std::string>(id, result, "version " + shared.sim.info(id).version);
    });
  }
}

}  // namespace holdfast::sim
