// Instances that are asked while they run: what they say was true at some moment since the question.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

struct Tally {
  int count = 0;
  std::vector<int> numbers{};
};

// Counts the numbers that it is sent, some of them in each execution, and shows after each how many there
// were.
Task<int> tally(Context& ctx, int count, int wanted, int per_execution) {
  auto& now = ctx.state<Tally>();
  now.count = count;
  ctx.on_query(now, "count", [](const Tally& tally) { return tally.count; });
  const std::string label = "count";
  std::string doing = "waiting";
  const auto guard = ctx.on_query("doing", [&doing] { return doing; });
  for (int i = 0; i < per_execution && now.count < wanted; ++i) {
    now.numbers.push_back(co_await ctx.mailbox<int>("numbers").receive());
    ++now.count;
    ctx.set_value("count", now.count);
    doing = "working";
    co_await ctx.activity<std::string>("step", label);
    doing = "waiting";
  }
  if (now.count == wanted) co_return now.count;
  co_await ctx.continue_as_new(now.count, wanted, per_execution);
  co_return 0;
}

int counted(const Shared& shared, const std::string& id) {
  try {
    return shared.sim.value<int>(id, "count").value_or(0);
  } catch (const ClientError&) {
    return 0;  // it has not started
  }
}

void ask_now(const Shared& shared, const std::string& id) {
  const int before = counted(shared, id);
  shared.sim.query(
      shared.sim.now(), id, "count", 8s, [shared, id, before](const Result<QueryAnswer>& answer) {
        if (!answer) return shared.sim.fail("a query of " + id + " failed: " + describe(answer.error()));
        const int said = answer->as<int>();
        const int after = counted(shared, id);
        if (said < before || said > after) {
          shared.sim.fail(id + " said " + std::to_string(said) + " when it had counted at least " +
                          std::to_string(before) + ", and at most " + std::to_string(after));
        }
      });
  shared.sim.query(shared.sim.now(), id, "doing", 8s, [shared, id](const Result<QueryAnswer>& answer) {
    const bool fine = answer
                          ? answer->as<std::string>() == "waiting" || answer->as<std::string>() == "working"
                          : answer.error().type == "query_handler_gone";
    if (!fine) shared.sim.fail(id + " does something else");
  });
}

}  // namespace

void questions(const Shared& shared) {
  shared.sim.orchestration("tally", tally);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "tally-" + std::to_string(i);
    const int wanted = shared.number(1, 12);
    shared.start("tally", id, 0, wanted, shared.number(1, 6));
    for (int n = 0; n < wanted; ++n) {
      shared.sim.at(shared.some_time(20s), "send " + std::to_string(n) + " to " + id,
                    [id, n](Client& client) { client.send(id, "numbers", n); });
    }
    for (int n = shared.number(1, 15); n > 0; --n)
      shared.sim.at(shared.some_time(30s), "prepare to ask " + id,
                    [shared, id](Client&) { ask_now(shared, id); });
    shared.sim.at_end(
        [shared, id, wanted] { shared.expect(id, shared.sim.result<int>(id).value(), wanted); });
  }
}

}  // namespace holdfast::sim
