// Requests to end that come at awkward moments, and code that is awkward to end.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

// ---- attempts -----------------------------------------------------------------------------------

// Each attempt fails when it is told to; only a request to cancel ends them.
Task<int> ill_fated(Context& ctx) {
  co_await ctx.event<int>("go");
  throw ActivityFailure("ill_fated", "as always");
}
Task<std::string> hopeful(Context& ctx) {
  const std::string id = ctx.instance_id() + "/child";
  const Result<int> child =
      co_await ctx.child<int>("ill_fated", {.id = id, .retry = {.max_attempts = 1'000, .first_delay = 10ms}})
          .result();
  co_return child ? "done" : std::string(to_string(child.error().category));
}

// ---- before the first turn ----------------------------------------------------------------------

/// Instances whose end was accepted: their code must not begin any more. Simulations run one after the other.
std::set<std::string> gone;
std::string began_too_late;

Task<int> never_wanted(Context& ctx) {
  if (!ctx.replaying() && gone.contains(ctx.instance_id())) began_too_late = ctx.instance_id();
  const std::string label = "unwanted";
  co_await ctx.activity<std::string>("step", label);
  co_return co_await ctx.event<int>("never");
}

// ---- one future, in a shield and outside of it --------------------------------------------------

Task<int> waits_for(Future<int>& future) { co_return co_await future; }

Task<std::string> half_shielded(Context& ctx) {
  Future<int> answer = ctx.event<int>("answer").start();
  Future<int> inside = ctx.start(ctx.shield(waits_for(answer)));
  std::string outside = "not reached";
  try {
    co_await answer;
  } catch (const Cancelled&) {
    outside = "reached";
    // Nobody waits for it, and a request takes it back from nobody.
    const std::string id = ctx.instance_id() + "/last";
    ctx.start_detached("farewell", {.id = id}).start().detach();
  }
  const int value = co_await ctx.shield(waits_for(inside));
  co_return outside + ", " + std::to_string(value);
}
Task<int> farewell(Context&) { co_return 1; }

// ---- destructors --------------------------------------------------------------------------------

/// Counts in a value of the instance when it is destroyed.
class Parting {
 public:
  explicit Parting(Context& ctx) : ctx_(&ctx) {}
  Parting(Parting&& other) noexcept : ctx_(std::exchange(other.ctx_, nullptr)) {}
  Parting& operator=(Parting&&) = delete;
  ~Parting() {
    if (ctx_ != nullptr) ctx_->set_value("partings", ctx_->value<int>("partings").value_or(0) + 1);
  }

 private:
  Context* ctx_;
};

Task<void> background(Context& ctx, [[maybe_unused]] Parting parting) {
  const std::string label = "background";
  co_await ctx.activity<std::string>("step", label);
}
Task<int> busy(Context& ctx, int count) {
  for (int i = 0; i < count; ++i) {
    ctx.start(background(ctx, Parting(ctx))).detach();
    co_await ctx.sleep(200ms);
  }
  while (ctx.value<int>("partings").value_or(0) < count) co_await ctx.sleep(500ms);
  co_return ctx.value<int>("partings").value_or(0);
}

}  // namespace

void hopeless_children(const Shared& shared) {
  shared.sim.orchestration("ill_fated", ill_fated);
  shared.sim.orchestration("hopeful", hopeful);
  shared.start("hopeful", "hopeful");
  // Told to fail and asked to stop in one go, so that they mostly come in one batch; sooner or later it is
  // there to hear it.
  const auto attempt = std::make_shared<std::function<void(Client&)>>();
  *attempt = [shared, attempt](Client& client) {
    try {
      client.raise("hopeful/child", "go", 1);
      client.cancel("hopeful/child", "enough");
    } catch (const ClientError& e) {
      if (e.kind() != ClientError::Kind::not_found) throw;
      shared.sim.at(shared.sim.now() + 500ms, "end hopeful", *attempt);
    }
  };
  shared.sim.at(shared.some_time(), "end hopeful", *attempt);
  shared.sim.at_end([shared, attempt] {
    shared.expect<std::string>("hopeful", shared.sim.result<std::string>("hopeful").value(), "cancelled");
    *attempt = nullptr;
  });
}

void ended_before_they_began(const Shared& shared) {
  gone.clear();
  began_too_late.clear();
  // On an executor, a turn that was fetched before the request may begin after it.
  shared.sim.orchestration("never_wanted", {.in_place = true}, never_wanted);
  for (int i = shared.number(1, 4); i > 0; --i) {
    const std::string id = "never_wanted-" + std::to_string(i);
    shared.sim.at(shared.some_time(), "start and terminate " + id, [id](Client& client) {
      client.start("never_wanted", {.id = id});
      client.terminate(id, "never mind");
      gone.insert(id);
    });
    shared.sim.at_end([shared, id] {
      shared.expect(id + " was terminated", shared.sim.info(id).status == Status::terminated, true);
      if (!began_too_late.empty()) shared.sim.fail(began_too_late + " began after it was terminated");
    });
  }
}

void half_shielded_ones(const Shared& shared) {
  shared.sim.orchestration("half_shielded", half_shielded);
  shared.sim.orchestration("farewell", farewell);
  shared.sim.at(shared.some_time(), "start half_shielded", [shared](Client& client) {
    client.start("half_shielded", {.id = "half"});
    shared.sim.at(shared.sim.now() + shared.some_time(5s), "cancel half", [shared](Client& again) {
      again.cancel("half", "enough");
      shared.sim.at(shared.sim.now() + shared.some_time(5s), "answer half",
                    [](Client& last) { last.raise("half", "answer", 42); });
    });
  });
  shared.sim.at_end([shared] {
    shared.expect<std::string>("half", shared.sim.result<std::string>("half").value(), "reached, 42");
    shared.expect("half/last", shared.sim.result<int>("half/last").value(), 1);
  });
}

void partings(const Shared& shared) {
  shared.sim.orchestration("busy", busy);
  const int count = shared.number(1, 3);
  shared.start("busy", "busy", count);
  shared.sim.at_end(
      [shared, count] { shared.expect("busy", shared.sim.result<int>("busy").value(), count); });
}

}  // namespace holdfast::sim
