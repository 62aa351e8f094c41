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

/// Settings of a worker. They are checked by Runtime::start(), which names the values that don't go together.
struct RuntimeOptions {
  /// The name of this worker, stable over restarts; empty: 128 random bits for each start.
  std::string node_id{};
  /// Grows with each deployment. An instance is not run by an older build than the one that ran it last.
  std::uint64_t build = 0;

  /// The queues whose activities it runs; "" is the default one, "*" any, an empty list none.
  std::vector<std::string> queues{""};
  /// What it offers to sessions that have requirements.
  std::vector<std::string> capabilities{};
  /// Activities at once; 0: as many as the machine has threads, at least 4. Slots cost nothing, threads are
  /// made for blocking code when it runs: a worker of coroutines may have thousands.
  std::size_t activity_slots = 0;
  std::size_t turn_threads = 2;

  /// How long an activity is held without a sign of life before another worker may run it; kept by renewals
  /// every third of it.
  Duration activity_lease = std::chrono::seconds(30);
  /// The same for an instance while its turn is run.
  Duration instance_lease = std::chrono::seconds(5);
  /// How long an instance stays locked between turns while its activities run here.
  Duration hold_instances = std::chrono::milliseconds(100);
  /// After a request to stop, how long an activity has before its slot is given to others.
  Duration cancel_grace = std::chrono::seconds(10);
  /// Activities that may go on after their grace, each in a thread of its own. With so many this worker
  /// begins no more, and says so, until some of them end. The same number of threads may be stuck in turns
  /// before they are no longer replaced.
  std::size_t max_abandoned = 64;
  /// A turn that takes longer is reported, its instance is parked, and its thread is replaced.
  Duration turn_time_limit = std::chrono::seconds(10);
  /// Other workers take it for gone when it gave no sign of life for this long, and they have seen that for
  /// half as long. Its sessions are free then, whatever is left of their leases.
  Duration worker_stale_after = std::chrono::seconds(60);

  /// Work that was handed out so often without an answer fails as poison. From half of it on it is run by
  /// itself, so that it takes nothing else along.
  std::uint32_t poison_after = 10;
  /// What an activity's own policy leaves open.
  RetryPolicy retry{.max_attempts = 3,
                    .backoff = Backoff::exponential,
                    .first_delay = std::chrono::milliseconds(100),
                    .factor = 2.0,
                    .max_delay = std::chrono::seconds(30),
                    .jitter = 0.2};

  /// Instances whose frames are kept in memory between turns, and for how long without a turn.
  std::size_t cached_instances = 10'000;
  Duration cache_idle = std::chrono::minutes(10);
  /// After so many events ctx.should_continue_as_new() is true.
  std::uint64_t history_budget = 10'000;
  /// What one instance may take.
  Limits limits{};

  /// Sessions that it owns at once, how long one is held without a sign of life, and when an unused one is
  /// given back.
  std::uint32_t session_limit = 10;
  Duration session_lease = std::chrono::seconds(30);
  Duration session_idle_timeout = std::chrono::minutes(5);
  /// When it is started again under the same `node_id`, how long its former sessions are kept for it while
  /// others wait for them; never longer than their leases would have lasted.
  Duration session_take_back = std::chrono::seconds(5);
  /// How long the saved state of a session is kept that nobody holds; and how long the record of one that was
  /// opened, or given a policy, after its end, or, when it has no time to live and nobody who opened it
  /// lives, after somebody held it last.
  Duration session_state_retention = std::chrono::hours(24);
  Duration session_record_retention = std::chrono::hours(24);
  /// How long a line of the session log is kept.
  Duration session_log_retention = std::chrono::hours(7 * 24);
  /// How long the id of a client's request is known after it took effect, or after the instance that it
  /// started is gone: repeated within it, the request answers the same and does nothing.
  Duration request_retention = std::chrono::hours(24);

  /// Where it writes what happens; empty: stderr, from `info` on.
  std::shared_ptr<Logger> logger{};
  /// Where it counts; empty: its own, see Runtime::metrics().
  std::shared_ptr<Metrics> metrics{};
};

/// Where a runtime is in its life.
enum class RuntimeState : std::uint8_t {
  made,     ///< not started
  working,  ///< also while its store does not answer
  /// Another process has started under its node id: it takes nothing new, has asked what it ran to stop, and
  /// has let go of its sessions. It does not come back; stop it, or end the process.
  superseded,
  stopping,  ///< drain() or stop() is under way
  stopped,
};
std::string_view to_string(RuntimeState state) noexcept;

/// What became of a wish about a session.
enum class SessionOutcome : std::uint8_t {
  created,     ///< it began now, and is this worker's
  reused,      ///< it was this worker's already; its lease begins anew
  reacquired,  ///< nobody held it any more; it is this worker's now
  closed,      ///< by this call; or, of one that was to be acquired or renewed, before: it has ended
  already_closed,
  missing,  ///< there is none; or, of one that was to be renewed, nobody holds it: acquire it
  owned_by_another,
  requirements_not_met,   ///< this worker lacks a capability
  limit_exceeded,         ///< this worker holds as many as RuntimeOptions::session_limit allows
  reacquire_not_allowed,  ///< its owner was lost, and its policy says that nobody may follow
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
  std::string_view version = "1";  ///< running executions stay on the version that they started on
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

  /// Code with side effects: R f(ActivityContext&, Inputs...). Called by several threads at once. With
  /// holdfast/asio.hpp it may be a coroutine, which waits without a thread.
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
  /// Code that decides: Task<R> f(Context&, Inputs...).
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

  /// What activities keep in memory for their session, see holdfast/session_state.hpp. `name` tells states
  /// apart, and must be the same on all workers: it finds what was saved.
  template <class T>
  SessionState<T> session_state(std::string_view name, SessionStateOptions<T> options = {}) {
    auto code = detail::make_session_state<T>(name, std::move(options));
    add_session_state(code);
    return SessionState<T>(std::move(code));
  }
  /// Told of each session that comes to this worker, or leaves it. Sessions work without.
  Runtime& on_session_acquired(SessionHook hook);
  Runtime& on_session_released(SessionHook hook);
  /// Told once when this runtime is superseded, see RuntimeState, after its sessions have left. Called by a
  /// thread that runs activities; what it throws is logged. It tells the program to end; drain() and stop()
  /// are for another thread, since they wait for this one.
  Runtime& on_superseded(std::function<void()> hook);

  /// Checks the options, registers with the store and begins to work. Throws std::invalid_argument for
  /// options that don't go together, ClientError when the store can't be reached.
  void start();
  /// Takes nothing new, lets what runs finish until `deadline` has passed, then asks it to stop; gives back
  /// all locks. True when everything had finished by itself, all of it was given back, and no thread is left
  /// behind: code that ignores its stop token, or a turn that does not end, goes on in one.
  ///
  /// Once the deadline and the cancel grace have passed, calls to the store that are under way are waited
  /// for, and a store that does not answer them is asked nothing more. What it was not told is left to its
  /// leases, which is said in the log, and the answer is false. Called again, also by another thread while
  /// the first call is under way, it returns when that one has, with the same answer.
  bool drain(Duration deadline);
  /// drain() with the cancel grace.
  void stop();

  /// Claims a session before there is any work for it. Its id is `id`, whatever the options say; what they
  /// leave open is a worker session's: a lease of 2 minutes, 30 minutes to live, one activity at a time. It
  /// is renewed from then on. Throws std::invalid_argument for options that don't go together, ClientError
  /// when the store can't be reached, std::logic_error when this runtime has not started.
  SessionAcquired acquire_session(std::string_view id, SessionOptions options);
  SessionAcquired acquire_session(std::string_view id) { return acquire_session(id, {}); }
  /// Begins the lease of a session anew: `reused`, or why not. Only for those who can't wait: all that this
  /// runtime holds is renewed without being asked.
  SessionOutcome renew_session(std::string_view id);
  /// Ends a session, whoever holds it: `closed`, `already_closed` or `missing`. What is queued in it fails
  /// with SessionClosed, what runs may finish.
  SessionOutcome close_session(std::string_view id);

  [[nodiscard]] RuntimeState state() const noexcept;
  [[nodiscard]] Client client() const;
  /// The name that it has, given or made.
  [[nodiscard]] const std::string& node_id() const noexcept;
  [[nodiscard]] Metrics& metrics() noexcept;

 private:
  Runtime& add_activity(std::string_view name, std::shared_ptr<const detail::ActivityCode> code);
  void add_session_state(std::shared_ptr<const detail::SessionStateCode> code);
  Runtime& add_orchestration(std::string_view name, OrchestrationOptions options,
                             std::shared_ptr<const detail::OrchestrationCode> code);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
