// The simulator (deterministic simulation testing): several workers, their clients and the store in one
// thread, in virtual time, from one seed. Processes are killed and paused, wake-ups are lost, the store fails
// before and after its commits. The same seed repeats the same run, step by step.
//
//   void shop(Simulation& sim) {
//     sim.activity("charge", [](ActivityContext& ctx, int cents) { return ctx.idempotency_key(); });
//     sim.orchestration("order", order);
//     sim.at(0s, "order", [](Client& client) { client.start("order", {.id = "order-1"}, 500); });
//     sim.at_end([&sim] {
//       if (sim.result<std::string>("order-1").value() != "paid") sim.fail("order-1 was not paid");
//     });
//   }
//
//   TEST(Shop, SurvivesEverything) {
//     const auto failure = simulate_seeds(shop, {.first = 1, .count = 200});
//     EXPECT_FALSE(failure) << failure->text();
//   }
//
// Invariants that it checks after each step: an instance and an activity are held by one worker at a time; an
// answer with a stale token is never accepted; history grows without gaps; every completion is seen once and
// every message consumed once; attempts and deliveries are counted correctly. Unless a fault explains it, no
// work waits for the end of a lease that its owner forgot, and no instance is held without being run. Once
// the faults have stopped, every instance ends within bounded time.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/client.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/detail/activity_code.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>
#include <holdfast/run.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/session_state.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::testing {

/// The faults that may happen. Each seed picks some of those that are allowed here, and how often they
/// happen.
struct SimulatedFaults {
  bool kills = true;            ///< processes die at any call, and come back under the same or another name
  bool pauses = true;           ///< processes pause for longer than their leases
  bool lost_wakes = true;       ///< wake-ups come late or never
  bool store_errors = true;     ///< calls fail, before they did anything or after their commit
  bool hangs = true;            ///< calls take longer than leases, then fail or succeed; other threads go on
  bool outages = true;          ///< no process reaches the store for some seconds, or for longer than leases
  bool clock_jumps = true;      ///< the wall clock is set
  bool slow_activities = true;  ///< activities outlast leases and graces
  bool drains = true;           ///< workers are drained, and others take over
  bool upgrades = true;         ///< processes are replaced by a newer build, one by one
  bool uneven_workers = true;   ///< workers differ in slots, leases, queues and registered code
  bool interleaved_steps = true;  ///< other threads run while a call to the store is under way
  bool executors = false;  ///< frames live on an executor, as those of other languages do; it may come late

  static constexpr SimulatedFaults none() {
    return {false, false, false, false, false, false, false, false, false, false, false, false, false};
  }
};

/// Opens one more handle of a database that all handles share.
using StoreOpener = std::function<std::shared_ptr<Store>()>;

struct SimulationOptions {
  SimulatedFaults faults{};
  std::size_t workers = 4;  ///< at most; a seed picks how many
  /// For how long faults happen, in virtual time.
  Duration trouble = std::chrono::seconds(40);
  /// How long all instances may take to end after that.
  Duration patience = std::chrono::minutes(15);
  /// Makes a new, empty database that uses this clock; unset: in memory.
  std::function<StoreOpener(const Clock&)> database{};
  /// RuntimeOptions::poison_after of the workers; by default more deliveries than faults alone cause.
  std::uint32_t poison_after = 1000;
  /// Printed with a failure: how to run a seed again; "{}" stands for the seed.
  std::string replay_hint = "simulate(scenario, {}, {.print = true})";
  /// Stops before this step, to look at what led to it; 0: never.
  std::uint64_t until_step = 0;
  /// Writes each step to stdout.
  bool print = false;
};

/// What is wrong in the run of a seed.
struct SimulationFailure {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::string what{};
  std::vector<std::string> trace{};  ///< the last steps, in words
  std::string replay{};              ///< how to run it again
  /// All of it as text.
  [[nodiscard]] std::string text() const;
};

/// Options of a registration.
struct SimulatedCode {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::string_view version = "1";
  /// Only workers of this build or a later one have it. Builds are counted from 1. Registered again for a
  /// later build, the same name and version stand for changed code: those workers have that instead.
  std::uint64_t from_build = 1;
  /// Its frames live on no executor, so that its code begins at the moment at which its turn is fetched.
  bool in_place = false;
};

/// One of the workers, as its own program sees it. The calls are those of Runtime.
class SimulatedWorker {
 public:
  virtual ~SimulatedWorker() = default;
  virtual SessionAcquired acquire_session(std::string_view id, SessionOptions options) = 0;
  virtual SessionOutcome renew_session(std::string_view id) = 0;
  virtual SessionOutcome close_session(std::string_view id) = 0;
};

/// One run of one seed, as a scenario sees it. A scenario registers code, says what clients do and when, and
/// what must be true at the end. It and all functions that it passes must depend on their inputs and on
/// draw() alone, so that a seed repeats the run.
class Simulation {
 public:
  /// As in Runtime. The code of an activity, with all its side effects, runs at one moment of virtual time:
  /// that of its end. Coroutines, which run in real time, are refused with std::logic_error.
  template <class F>
  Simulation& activity(std::string_view name, F function) {
    return add_activity(name, detail::make_activity(std::move(function)));
  }
  template <class R, class... P, class F>
  Simulation& activity(const Activity<R(P...)>& handle, F function) {
    static_assert(std::is_invocable_r_v<R, const F&, ActivityContext&, P...>,
                  "holdfast: this function doesn't fit the signature of the activity's handle");
    return add_activity(handle.name, detail::make_activity(std::move(function)));
  }
  template <class F>
  Simulation& orchestration(std::string_view name, F function) {
    return add_orchestration(name, {}, detail::make_orchestration(function));
  }
  template <class F>
  Simulation& orchestration(std::string_view name, SimulatedCode code, F function) {
    return add_orchestration(name, code, detail::make_orchestration(function));
  }

  /// As in Runtime: each worker has states of its own. The code of an activity can't wait here: when a state
  /// is in use, SessionState::in() throws ActivityFailure ("state_busy"), and the attempt is retried.
  template <class T>
  SessionState<T> session_state(std::string_view name, SessionStateOptions<T> options = {}) {
    auto code = detail::make_session_state<T>(name, std::move(options));
    add_session_state(code);
    return SessionState<T>(std::move(code));
  }

  /// Calls `act` with a client at time `when` of the run. It must not wait for a run, since time stands still
  /// until it returns. Its calls are repeated while the store is unavailable; the rest of the simulation goes
  /// on in between. An exception that leaves it is a failure of the run.
  void at(Duration when, std::string what, std::function<void(Client&)> act);
  /// Asks an instance a query at time `when`, as a client of another process does: ctx.on_query(). `check` is
  /// called with the answer, if one comes within `timeout`; a failure of the query is an error of it.
  void query(Duration when, std::string id, std::string name, Duration timeout,
             std::function<void(const Result<QueryAnswer>&)> check);
  /// Calls `act` in the program of some worker at time `when` of the run, or as soon as a worker is there;
  /// not at all if everything has ended before. A ClientError (unavailable) may leave `act`; any other
  /// exception is a failure of the run.
  void at_worker(Duration when, std::string what, std::function<void(SimulatedWorker&)> act);
  /// Called when the faults stop, for example to fix the code: all workers are started with a new build after
  /// it.
  void at_calm(std::function<void()> act);
  /// Called when all instances have ended, to check the outcome. An exception that leaves it is a failure of
  /// the run.
  void at_end(std::function<void()> check);
  /// Fails the run, which ends here. The first text is reported.
  void fail(std::string what);

  /// For code of orchestrations: blocks its thread for this long, against the rules, while the rest of the
  /// simulation goes on. Does nothing once the faults have stopped.
  void block(Duration time);
  /// For code of orchestrations: its process dies here. Does nothing once the faults have stopped.
  void die();

  /// A random number below `n`, from the seed.
  [[nodiscard]] std::uint64_t draw(std::uint64_t n);
  /// The virtual time since the run began.
  [[nodiscard]] Duration now() const;

  /// An instance as it is, read without faults. Throws ClientError (not_found).
  [[nodiscard]] RunInfo info(std::string_view id) const;
  /// The result of an instance; throws std::logic_error while it runs.
  template <class T = void>
  [[nodiscard]] Result<T> result(std::string_view id) const {
    Result<Payload> output = output_of(id);
    if (!output) return Unexpected(std::move(output).error());
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return decode<T>(*output);
    }
  }
  template <class T>
  [[nodiscard]] std::optional<T> value(std::string_view id, std::string_view key) const {
    const std::optional<Payload> payload = value_of(id, key);
    if (!payload) return std::nullopt;
    return decode<T>(*payload).value();
  }
  /// Everything that the store holds.
  [[nodiscard]] store::StoreState state() const;

  class Impl;
  /// For simulate().
  explicit Simulation(Impl& impl) noexcept : impl_(impl) {}
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

 private:
  Simulation& add_activity(std::string_view name, std::shared_ptr<const detail::ActivityCode> code);
  void add_session_state(std::shared_ptr<const detail::SessionStateCode> code);
  Simulation& add_orchestration(std::string_view name, SimulatedCode options,
                                std::shared_ptr<const detail::OrchestrationCode> code);
  [[nodiscard]] Result<Payload> output_of(std::string_view id) const;
  [[nodiscard]] std::optional<Payload> value_of(std::string_view id, std::string_view key) const;

  Impl& impl_;
};

using Scenario = std::function<void(Simulation&)>;

/// The outcome of one run: the same for the same scenario, options and seed.
struct SimulationReport {
  std::optional<SimulationFailure> failure{};
  std::uint64_t steps = 0;
  std::uint64_t store_calls = 0;
  std::uint64_t faults = 0;       ///< that were injected
  Duration time{};                ///< virtual
  std::uint64_t fingerprint = 0;  ///< of all decisions: tells whether two runs were the same
};

/// Runs one seed. A seed that fails is run a second time, to describe its last steps in words.
SimulationReport simulate(const Scenario& scenario, std::uint64_t seed,
                          const SimulationOptions& options = {});

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t count = 100;
};

/// Runs seeds one after the other, and stops at the first that fails.
std::optional<SimulationFailure> simulate_seeds(const Scenario& scenario, SeedRange seeds,
                                                const SimulationOptions& options = {});

}  // namespace holdfast::testing
