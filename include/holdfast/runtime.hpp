// Runtime: a worker in this process. It runs orchestrations and activities of a store.
//
//   holdfast::Runtime rt(holdfast::sqlite("app.db"));
//   rt.activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
//   rt.orchestration("hello", hello);
//   rt.start();
//   std::string text = rt.client().start("hello", {.id = "run-1"}, "Ada").wait<std::string>(5s);
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/client.hpp>
#include <holdfast/detail/activity_code.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/limits.hpp>
#include <holdfast/log.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/options.hpp>
#include <holdfast/orchestration.hpp>
#include <holdfast/session_state.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace detail {
struct RuntimeAccess;
}

/// Settings of a worker. Runtime::start() checks them, and names values that contradict each other.
struct RuntimeOptions {
  /// The name of this worker, stable over restarts; empty: a random name of 128 bits for each start.
  std::string node_id{};
  /// Grows with each deployment. An instance is not run by an older build than the one that ran it last.
  std::uint64_t build = 0;

  /// The queues whose activities it runs; "" is the default one, "*" any, an empty list none.
  std::vector<std::string> queues{""};
  /// What it offers to sessions that have requirements.
  std::vector<std::string> capabilities{};
  /// Activities that run at once; 0: the number of hardware threads, at least 4. A slot costs nothing until a
  /// blocking function runs in it, which takes a thread: a worker that runs coroutines may have thousands.
  std::size_t activity_slots = 0;
  /// Threads that run turns: one computes while the other commits.
  std::size_t turn_threads = 2;

  /// How long this worker holds an activity without renewing its lock; then another worker may run it. Locks
  /// are renewed every third of it.
  Duration activity_lease = std::chrono::seconds(30);
  /// The same for an instance during a turn.
  Duration instance_lease = std::chrono::seconds(5);
  /// How long an instance stays locked between turns while its activities run here.
  Duration hold_instances = std::chrono::milliseconds(100);
  /// How long an activity may go on after its stop token has fired, before its slot is given to others.
  Duration cancel_grace = std::chrono::seconds(10);
  /// How many activities may go on after their grace, each in a thread of its own. At this number the worker
  /// begins no more activities, and logs an error, until some of them have ended. It is also the number of
  /// threads stuck in turns that are replaced by new ones.
  std::size_t max_abandoned = 64;
  /// A turn that takes longer is reported, its instance is parked, and its thread is replaced.
  Duration turn_time_limit = std::chrono::seconds(10);
  /// The handler of a query that takes longer is given up, and its thread is replaced; the instance goes on.
  Duration query_time_limit = std::chrono::seconds(2);
  /// Queries that wait here for an answer; more are refused as `query_busy`. 0: this worker answers none.
  std::size_t queued_queries = 1'000;
  /// Instances whose frames are kept for further queries: those that were asked last. They are not the frames
  /// that turns use.
  std::size_t query_frames = 100;
  /// A worker that gave no sign of life for this long is shown as dead. Other workers remove it when they
  /// have seen that for half as long again; its sessions are free then, whatever is left of their leases.
  Duration worker_stale_after = std::chrono::seconds(60);

  /// An activity or instance that was handed out this often without an answer fails as poison. After more
  /// than half of that it is a suspect, and run by itself, so that a crash takes no other work with it.
  std::uint32_t poison_after = 10;
  /// For members that the retry policy of an activity leaves unset.
  RetryPolicy retry{.max_attempts = 3,
                    .backoff = Backoff::exponential,
                    .first_delay = std::chrono::milliseconds(100),
                    .factor = 2.0,
                    .max_delay = std::chrono::seconds(30),
                    .jitter = 0.2};

  /// Instances whose frames are kept in memory between turns, and for how long without a turn.
  std::size_t cached_instances = 10'000;
  Duration cache_idle = std::chrono::minutes(10);
  /// The length of a history, in events, from which on ctx.should_continue_as_new() is true.
  std::uint64_t history_budget = 10'000;
  /// Sizes and counts of one instance.
  Limits limits{};

  /// Sessions that it owns at once; how long it holds one without renewing it; after how long an unused one
  /// is released.
  std::uint32_t session_limit = 10;
  Duration session_lease = std::chrono::seconds(30);
  Duration session_idle_timeout = std::chrono::minutes(5);
  /// When it is started again under the same `node_id`, how long its former sessions are kept for it while
  /// others wait for them; never longer than their leases would have lasted.
  Duration session_take_back = std::chrono::seconds(5);
  /// How long the saved state of a session without an owner is kept.
  Duration session_state_retention = std::chrono::hours(24);
  /// How long the record of a session that was opened or given a policy is kept after its end; if it has no
  /// TTL, also after a worker held it last, unless the instance that opened it still runs.
  Duration session_record_retention = std::chrono::hours(24);
  /// How long a line of the session log is kept.
  Duration session_log_retention = std::chrono::hours(7 * 24);
  /// How long the id of a client's request is remembered after it took effect, or after the instance that it
  /// started was deleted. A request that is repeated within this time gets the same answer and does nothing.
  Duration request_retention = std::chrono::hours(24);

  /// Where it logs; empty: stderr, from level `info` on.
  std::shared_ptr<Logger> logger{};
  /// The registry for its metrics; empty: one of its own, see Runtime::metrics().
  std::shared_ptr<Metrics> metrics{};
};

/// Where a runtime is in its life.
enum class RuntimeState : std::uint8_t {
  made,     ///< not started
  working,  ///< also while its store does not answer
  /// Another process has started under its node id: it takes no new work, has cancelled its activities and
  /// given up its sessions. This is final: stop it, or end the process.
  superseded,
  stopping,  ///< drain() or stop() is under way
  stopped,
};
std::string_view to_string(RuntimeState state) noexcept;

/// The outcome of acquiring, renewing or closing a session.
enum class SessionOutcome : std::uint8_t {
  created,     ///< it began now, and is this worker's
  reused,      ///< it was this worker's already; its lease begins anew
  reacquired,  ///< it had no owner any more; it is this worker's now
  closed,      ///< by this call; or it had ended before it could be acquired or renewed
  already_closed,
  missing,                ///< there is none; or, of one that was to be renewed, it has no owner: acquire it
  owned_by_another,       ///< or it is kept for the worker that held it, which was started again
  requirements_not_met,   ///< this worker lacks a capability
  limit_exceeded,         ///< this worker holds as many as RuntimeOptions::session_limit allows
  reacquire_not_allowed,  ///< its owner was lost, and its policy lets no other worker take over
};
std::string_view to_string(SessionOutcome outcome) noexcept;

/// The answer to Runtime::acquire_session().
struct SessionAcquired {
  SessionOutcome outcome = SessionOutcome::created;
  SessionInfo session{};  ///< as it is now; empty when there is none
  /// Whether this worker holds it now.
  [[nodiscard]] bool held() const noexcept {
    return outcome == SessionOutcome::created || outcome == SessionOutcome::reused ||
           outcome == SessionOutcome::reacquired;
  }
};

/// Options of a registration.
struct OrchestrationOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// One to three numbers, and perhaps a pre-release: "2", "2.1", "2.1.3-rc.1". "2" and "2.0.0" are the same.
  /// Running executions stay on the version that they started on.
  std::string_view version = "1";
};

/// Register code, then start() once. Calls may come from any thread, but registration from one at a time.
/// Mistakes (a name twice, a name that is not allowed, registration after start) throw std::logic_error or
/// Error and say which.
class Runtime {
 public:
  explicit Runtime(std::shared_ptr<Store> store, RuntimeOptions options = {});
  /// stop()
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Registers code with side effects: R f(ActivityContext&, Inputs...). Several threads call it at once.
  /// With holdfast/asio.hpp it may be a coroutine, which holds no thread while it waits.
  template <class F>
  Runtime& activity(std::string_view name, F function) {
    return add_activity(name, detail::make_activity(std::move(function)));
  }
  /// The same under a typed handle.
  template <class R, class... P, class F>
  Runtime& activity(const Activity<R(P...)>& handle, F function) {
    static_assert(detail::fits_handle<F, R, P...>(),
                  "holdfast: this function doesn't fit the signature of the activity's handle");
    return add_activity(handle.name, detail::make_activity(std::move(function)));
  }
  /// Registers a coroutine that decides what happens: Task<R> f(Context&, Inputs...).
  template <class F>
  Runtime& orchestration(std::string_view name, F function) {
    return add_orchestration(name, {}, detail::make_orchestration(function));
  }
  template <class F>
  Runtime& orchestration(std::string_view name, OrchestrationOptions options, F function) {
    return add_orchestration(name, options, detail::make_orchestration(function));
  }
  /// The same under a typed name.
  template <class R, class... P, class F>
  Runtime& orchestration(const Orchestration<R(P...)>& name, F function) {
    return orchestration(name, OrchestrationOptions(), function);
  }
  template <class R, class... P, class F>
  Runtime& orchestration(const Orchestration<R(P...)>& name, OrchestrationOptions options, F function) {
    static_assert(detail::has_signature<F, R, P...>,
                  "holdfast: this function doesn't fit the signature of the orchestration's typed name");
    return add_orchestration(name.name, options, detail::make_orchestration(function));
  }

  /// Registers an object that this worker keeps in memory for each session, see holdfast/session_state.hpp.
  /// The saved state is stored under `name`, so it must be the same on all workers.
  template <class T>
  SessionState<T> session_state(std::string_view name, SessionStateOptions<T> options = {}) {
    auto code = detail::make_session_state<T>(name, std::move(options));
    add_session_state(code);
    return SessionState<T>(std::move(code));
  }
  /// Called for each session that this worker claims, or that leaves it. Optional.
  Runtime& on_session_acquired(SessionHook hook);
  Runtime& on_session_released(SessionHook hook);
  /// Called once when this runtime is superseded, see RuntimeState, after its sessions have left, by a thread
  /// that runs activities; what it throws is logged. Let it tell the program to end. It must not call drain()
  /// or stop(), which would wait for the thread that they are called from.
  Runtime& on_superseded(std::function<void()> hook);

  /// Checks the options, registers with the store and begins to work. Throws std::invalid_argument for
  /// options that are out of range or contradict each other, ClientError when the store can't be reached.
  void start();
  /// Takes no new work, lets activities finish until `deadline` has passed, then fires their stop tokens;
  /// releases all locks. True when everything finished by itself, everything was released, sessions with
  /// their states, and no thread is left behind. (Code that ignores its stop token, and a turn that does not
  /// end, keep their thread.)
  ///
  /// Once the deadline and the cancel grace have passed, it waits only for calls to the store that are under
  /// way. If the store does not answer them, no more are made: locks that could not be released end with
  /// their leases, the log says so, and the answer is false. A second call, also from another thread while
  /// the first is under way, returns when the first one has, with the same answer.
  bool drain(Duration deadline);
  /// drain() with the cancel grace.
  void stop();
  /// For a program that is a worker and nothing else: starts it, unless that was done, calls `ready`, and
  /// waits until the process gets SIGINT or SIGTERM; then drain(deadline), whose answer it gives. From then
  /// on the signals do what they did before this call, so that a second one ends the process at once, which
  /// loses nothing. Throws as start() does, and std::logic_error when another Runtime of this process is in
  /// this call.
  bool run_until_signal(Duration deadline, const std::function<void()>& ready = {});
  /// The same with the cancel grace as deadline.
  bool run_until_signal();

  /// Claims a session before there is any work for it, and renews it from then on. Its id is `id`; an id in
  /// the options is ignored. Unset options take the defaults of a worker session: a lease of 2 minutes, a TTL
  /// of 30 minutes, one activity at a time. Throws std::invalid_argument for options that contradict each
  /// other, ClientError when the store can't be reached, std::logic_error when this runtime has not started.
  SessionAcquired acquire_session(std::string_view id, SessionOptions options);
  SessionAcquired acquire_session(std::string_view id) { return acquire_session(id, {}); }
  /// Renews the lease of a session now: `reused`, or why not. Rarely needed, since the runtime renews all
  /// sessions that it holds.
  SessionOutcome renew_session(std::string_view id);
  /// Ends a session, whichever worker holds it: `closed`, `already_closed` or `missing`. Its queued
  /// activities fail with SessionClosed, running ones may finish.
  SessionOutcome close_session(std::string_view id);

  [[nodiscard]] RuntimeState state() const noexcept;
  [[nodiscard]] Client client() const;
  /// RuntimeOptions::node_id, or the random name that was made for it.
  [[nodiscard]] const std::string& node_id() const noexcept;
  [[nodiscard]] Metrics& metrics() noexcept;

 private:
  friend struct detail::RuntimeAccess;
  Runtime& add_activity(std::string_view name, std::shared_ptr<const detail::ActivityCode> code);
  void add_session_state(std::shared_ptr<const detail::SessionStateCode> code);
  Runtime& add_orchestration(std::string_view name, OrchestrationOptions options,
                             std::shared_ptr<const detail::OrchestrationCode> code);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
