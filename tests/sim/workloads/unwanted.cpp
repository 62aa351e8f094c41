// Activities that nobody wants any more, in each way in which that happens.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// How an instance stops to want its activities, what they are told then, and how it ends.
struct Way {
  std::string name{};
  CancelReason reason{};
  Status end = Status::completed;
};

const std::vector<Way>& all_ways() {
  static const std::vector<Way> list{
      {"completes", CancelReason::execution_completed, Status::completed},
      {"fails", CancelReason::execution_failed, Status::failed},
      {"continues", CancelReason::continued_as_new, Status::completed},
      {"drops", CancelReason::dropped, Status::completed},
      {"loses", CancelReason::dropped, Status::completed},
      {"is cancelled", CancelReason::cancel_requested, Status::cancelled},
      {"is terminated", CancelReason::execution_terminated, Status::terminated},
      {"is deleted", CancelReason::instance_deleted, Status::running},
  };
  return list;
}

// Two activities, of which it may have given up at any moment.
Task<int> unwanted(Context& ctx, std::string way, int patience_ms) {
  const auto patience = std::chrono::milliseconds(patience_ms);
  if (way == "continued") co_return 0;
  if (way == "loses") {
    co_await race(ctx.activity<int>("watched"), ctx.sleep(patience));
    co_await ctx.sleep(500ms);
    co_return 0;
  }
  Future<int> first = ctx.activity<int>("watched").start();
  Future<int> second = ctx.activity<int>("watched").start();
  co_await ctx.sleep(patience);
  if (way == "drops") {
    {
      const Future<int> dropped = std::move(first);
    }
    co_await ctx.sleep(500ms);
    {
      const Future<int> dropped = std::move(second);
    }
    co_return 0;
  }
  std::move(first).detach();
  std::move(second).detach();
  if (way == "completes") co_return 0;
  if (way == "fails") throw std::runtime_error("as it should");
  if (way == "continues") {
    const std::string next = "continued";
    co_await ctx.continue_as_new(next, patience_ms);
  }
  co_return co_await ctx.event<int>("never");
}

void end_from_outside(const std::string& way, const std::string& id, const Client& client) {
  if (way == "is cancelled") client.cancel(id, "enough");
  if (way == "is terminated") client.terminate(id, "enough");
  if (way == "is deleted") client.delete_instance(id, {.force = true});
}

// Some executions are over, some are not, and some are gone with their instance.
void prune(const Client& client, const std::string& id) {
  try {
    client.prune_execution(id, ExecutionNumber{1});
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::conflict && e.kind() != ClientError::Kind::not_found) throw;
  }
}

bool is_there(const Shared& shared, const std::string& id) {
  try {
    static_cast<void>(shared.sim.info(id));
    return true;
  } catch (const ClientError&) {
    return false;
  }
}

using Told = std::map<std::string, std::set<CancelReason>>;

void check_end(const Shared& shared, const std::string& id, const Way& way, const Told& told) {
  const auto found = told.find(id);
  if (found != told.end()) {
    for (const CancelReason reason : found->second) {
      // A worker may go or lose its lock as well; and the reason is known for as long as its record is.
      const bool fits = reason == way.reason || reason == CancelReason::dropped ||
                        reason == CancelReason::lease_lost || reason == CancelReason::worker_stopping;
      if (!fits) shared.sim.fail("an activity of " + id + " was told " + std::string(to_string(reason)));
    }
  }
  const bool deleted = way.reason == CancelReason::instance_deleted;
  shared.expect(id + " is there", is_there(shared, id), !deleted);
  if (!deleted) shared.expect(id + " ended as it should", shared.sim.info(id).status == way.end, true);
}

}  // namespace

void unwanted_work(const Shared& shared) {
  const auto told = std::make_shared<Told>();
  shared.sim.activity("watched", [told](ActivityContext& ctx) {
    if (const auto reason = ctx.cancel_reason()) (*told)[ctx.instance()].insert(*reason);
    return 0;
  });
  shared.sim.orchestration("unwanted", unwanted);
  for (int i = shared.number(1, 8); i > 0; --i) {
    const auto& ways = all_ways();
    const Way way = ways[static_cast<std::size_t>(shared.number(0, static_cast<int>(ways.size()) - 1))];
    const std::string id = "unwanted-" + std::to_string(i);
    const int patience = shared.number(0, 4000);
    shared.sim.at(shared.some_time(), "start " + id, [shared, id, way, patience](Client& client) {
      client.start("unwanted", {.id = id}, way.name, patience);
      shared.sim.at(shared.sim.now() + shared.some_time(8s), "end " + id,
                    [id, way](Client& again) { end_from_outside(way.name, id, again); });
      shared.sim.at(shared.sim.now() + shared.some_time(), "prune " + id,
                    [id](Client& again) { prune(again, id); });
    });
    shared.sim.at_end([shared, id, way, told] { check_end(shared, id, way, *told); });
  }
}

}  // namespace holdfast::sim
