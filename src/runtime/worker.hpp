// Worker: what all steps of one started runtime share: its settings, its identity, its seams.
#pragma once

#include "base/mutex.hpp"
#include "engine/code_log.hpp"
#include "runtime/registry.hpp"
#include "runtime/steps.hpp"
#include "runtime/store_gate.hpp"
#include "runtime/worker_log.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/log.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/random.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::runtime {

/// What is counted. One registry may serve several workers; they add up.
struct Counters {
  explicit Counters(Metrics& metrics);
  Counter& turns;
  Counter& turns_lost;
  Counter& replays;
  Counter& activities_started;
  Counter& activities_handed_off;
  Counter& activities_completed;
  Counter& activities_failed;
  Counter& activities_retried;
  Counter& answers_refused;
  Counter& store_errors;
  Counter& store_busy;
  Counter& ignored_messages;
  Counter& asked_to_stop;
  Counter& stopped;
  Counter& abandoned;
  Gauge& abandoned_now;
  Gauge& refusing;
  Counter& poisoned;
  Counter& near_limits;
  Counter& slow_turns;
  Gauge& superseded;
  Counter& sessions_claimed;
  Counter& sessions_moved;
  Counter& sessions_reclaimed;
  Counter& sessions_lapsed;
  Counter& session_saves_failed;
  Counter& sessions_swept_expired;  // these three are what sweeps of this worker found
  Counter& sessions_swept_lost;
  Counter& sessions_swept_removed;
  Gauge& sessions_held;
  Gauge& session_limit;
  Gauge& sessions_active;  // these three are those that are held, by their state
  Gauge& sessions_leaving;
  Gauge& sessions_lapsed_now;
  Histogram& turn_seconds;
  Histogram& cancel_seconds;
};

/// Set up before the first step and constant from then on, except for what is atomic. Thread-safe.
struct Worker {
  Worker(std::shared_ptr<Store> store, RuntimeOptions options, Registry registry, Random& random, Poke poke);

  /// A new token. Any thread.
  template <class TokenType>
  TokenType token() {
    const MutexLock lock(random_mutex);
    return random_token<TokenType>(random);
  }
  /// The keep step must run by then. Cheap when it will anyway.
  void keep_by(BootTime time) {
    if (keep_due.bring_forward(time)) poke(Step::keep);
  }
  /// The same for the limits step.
  void limit_by(BootTime time) {
    if (limits_due.bring_forward(time)) poke(Step::limits);
  }
  [[nodiscard]] BootTime now() const noexcept { return store->clock().boot_now(); }
  /// Until then nobody takes this worker for gone, also if the store hears no more of it. The margin is for
  /// what begins just before that.
  [[nodiscard]] BootTime known_until() const {
    return after(heard_of_at.load(), options.worker_stale_after - options.worker_stale_after / 8);
  }
  /// Handed out so often that it may be what kills its workers, or was beside it. A process runs one such
  /// activity and one such turn at a time, so that this shows.
  [[nodiscard]] bool is_suspect(std::uint32_t delivery) const noexcept {
    return delivery > options.poison_after / 2 + 1 && delivery <= options.poison_after;
  }
  /// Notes what an error says about this worker's registration; the keep step acts on it.
  /// `asked_as` is the registration that the call was made under: it may have joined again since.
  void note_standing(const StoreError& error, WorkerKey asked_as);
  /// Says that something in the store can't be read, if that is what the error is.
  void note_damage(std::string_view what, const StoreError& error) const;

  const std::shared_ptr<StoreGate> store;
  const RuntimeOptions options;
  const std::string node;
  const std::size_t slots;
  const Registry registry;
  const store::Abilities abilities;
  const store::Code code;
  const std::shared_ptr<Metrics> metrics;
  Counters counters;
  const std::shared_ptr<Logger> user_logger;  ///< the one of the options, or its default
  const std::shared_ptr<WorkerLog> logger;    ///< for the lines of this worker
  const engine::CodeLog code_log;             ///< for the lines of orchestrations
  const Poke poke;

  std::atomic<std::uint64_t> key{0};    ///< given by the store at join
  std::atomic<bool> accepting{false};   ///< takes new work
  std::atomic<bool> superseded{false};  ///< another process runs under this node's name
  std::atomic<bool> forgotten{false};   ///< the store has removed the registration: join again

  /// When it asked the store for the last sign of life that counts.
  std::atomic<BootTime> heard_of_at{kLongAgo};
  DueTime keep_due;
  DueTime limits_due;

  Mutex random_mutex;
  Random& random HOLDFAST_GUARDED_BY(random_mutex);
};

/// Throws std::invalid_argument when options don't go together, naming both values.
void check_options(const RuntimeOptions& options);
/// Sessions that have left a worker for this reason. One for each reason, of which there are few; never one
/// for each session.
Counter& sessions_left(Metrics& metrics, store::SessionReason reason);

/// Why a session with this policy could be lost by a worker with these options while an activity runs in it,
/// naming both values; nothing when it could not.
std::optional<std::string> problem_of(const store::SessionPolicy& policy, const RuntimeOptions& options);

/// Pauses between tries of what fails: each is longer than the one before, up to a second.
class BackOff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(5);
  Duration next(Duration first = kFirst) noexcept;
  [[nodiscard]] bool began() const noexcept { return pause_ > Duration::zero(); }

 private:
  Duration pause_{};
};

/// Until something is tried again that somebody else has locked. What that holds up has waited already, and
/// whoever locks a row for longer than a call takes may do so for seconds.
inline constexpr Duration kLockedPause = std::chrono::milliseconds(100);

/// Says in the log that the store refused something, at most once per second for each worker step.
class StoreTrouble {
 public:
  explicit StoreTrouble(Worker& worker) : worker_(worker) {}
  /// Notes the error and returns when to try again: with growing pauses while it lasts. All that fails before
  /// that moment is one failure, however many items a call has. What is locked is no failure of the store:
  /// it is tried again after kLockedPause, and nothing else has to wait for that.
  BootTime failed(std::string_view what, const StoreError& error);
  void worked();

 private:
  Worker& worker_;
  Mutex mutex_;
  BackOff back_off_ HOLDFAST_GUARDED_BY(mutex_);
  BootTime due_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::min();  // when to try again
  BootTime last_said_ HOLDFAST_GUARDED_BY(mutex_){};
  BootTime say_locked_from_ HOLDFAST_GUARDED_BY(mutex_) = kLongAgo;
  bool said_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::runtime
