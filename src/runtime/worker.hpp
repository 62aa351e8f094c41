// Worker: a worker, complete but for the threads that drive it.
#pragma once

#include "runtime/activities.hpp"
#include "runtime/cache.hpp"
#include "runtime/chance.hpp"
#include "runtime/desk.hpp"
#include "runtime/drain.hpp"
#include "runtime/executor.hpp"
#include "runtime/keep.hpp"
#include "runtime/limits.hpp"
#include "runtime/outbox.hpp"
#include "runtime/questions.hpp"
#include "runtime/registry.hpp"
#include "runtime/session_desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/steps.hpp"
#include "runtime/turns.hpp"
#include "runtime/waker.hpp"

#include <holdfast/random.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::runtime {

/// The same code under threads and under the simulator. Steps may run at the same time as each other; `turns`
/// in several threads, the others in one each.
class Worker {
 public:
  /// `executor`, `random` and what `poke` refers to outlive the worker.
  Worker(std::shared_ptr<Store> store, RuntimeOptions options, Registry registry, Executor& executor,
         Random& random, Poke poke);

  /// Code of activities, and of turns on executors, may outlive the worker that gave up on it; then it keeps
  /// this alive.
  void keep_alive(const std::weak_ptr<const void>& self) {
    desk_.keep_alive(self);
    sessions_.keep_alive(self);
    turns_.keep_alive(self);
    questions_->keep_alive(self);
  }

  /// Registers with the store; it accepts work from then on.
  StoreResult<void> join();
  /// `run` is a number that no other run has, as far as somebody looks at what is stuck.
  Progress run(Step step, RunId run = {});
  /// News of the store.
  void hear(const store::Wake& wake);
  /// Looks for everything again: news may have been lost.
  void look_again();

  /// Takes nothing new from now on. What runs goes on.
  void stop_accepting();
  /// Asks running activities to stop, and gives up sessions that can't be handed over.
  void stop_activities();
  /// Nothing runs, and the store knows everything.
  [[nodiscard]] bool quiet() const;
  /// Nothing runs, and the store has heard of all that did: sessions are all that may keep it from being
  /// quiet.
  [[nodiscard]] bool idle() const;
  /// Whether it holds sessions that nobody else may have, and that the store won't let go.
  [[nodiscard]] bool has_unmovable_sessions() const { return sessions_.has_unmovable(); }
  /// The session as this worker has it in memory, if it does.
  [[nodiscard]] std::optional<store::SessionHold> session(std::string_view id) const {
    return sessions_.find(id);
  }
  /// Not quiet, but will be without anybody's help, as far as this one goes: see ActivityDesk.
  [[nodiscard]] bool ends_soon() const { return desk_.ends_soon(!settings_.store->is_shut()); }
  /// Does what the drain says now. True when it is time to end all threads, and leave().
  bool go_on_leaving(Drain& drain);
  /// Whether that would do something, or the drain goes on to wait for something else.
  [[nodiscard]] bool would_go_on_leaving(const Drain& drain) const;
  [[nodiscard]] std::size_t slots_in_use() const { return desk_.slots_in_use(); }
  [[nodiscard]] std::vector<std::string> running_activities() const { return desk_.running(); }
  /// From that time on a store that does not answer is asked nothing more: see StoreGate.
  void give_up_store_at(BootTime time) { settings_.store->close_at(time); }
  /// Gives back what is still locked and leaves. For after the last step. False when the store did not take
  /// all of it: the rest is left to its leases, which is said in the log.
  bool leave();
  /// Frames that are alive on executors: none some time after leave(), unless an executor does not come to
  /// what it was given.
  [[nodiscard]] std::size_t frames_elsewhere() const { return settings_.homes.frames(); }
  /// Frames whose executors are gone: they are never destroyed.
  [[nodiscard]] std::size_t frames_left_behind() const { return settings_.homes.left_behind(); }

  // What the verbs of Runtime for sessions do. Any thread.
  SessionAcquired acquire_session(const detail::SessionSettings& settings);
  SessionOutcome renew_session(std::string_view id);
  SessionOutcome close_session(std::string_view id);

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const Standing& standing() const noexcept { return standing_; }

 private:
  /// Counts what runs, for as long as it does.
  class InProgress {
   public:
    explicit InProgress(std::atomic<int>& count) : count_(count) { ++count_; }
    ~InProgress() { --count_; }
    InProgress(const InProgress&) = delete;
    InProgress& operator=(const InProgress&) = delete;

   private:
    std::atomic<int>& count_;
  };

  StoreResult<void> register_worker();
  Progress keep();
  void check_standing();
  void rejoin();
  [[nodiscard]] const store::WorkerView* newest_of_this_node(
      const std::vector<store::WorkerView>& workers) const;
  [[nodiscard]] bool is_what_joined_last(const store::WorkerView& view) const;

  Waker waker_;
  Chance chance_;
  Settings settings_;
  Standing standing_;
  Outbox outbox_;
  InstanceCache cache_;
  SessionDesk sessions_;
  ActivityDesk desk_;
  OtherBuilds builds_;
  TurnStep turns_;
  const std::shared_ptr<Questions> questions_;
  FetchStep fetch_;
  AnswerStep answers_;
  KeepStep keep_;
  LimitStep limits_;
  std::atomic<int> bringing_work_{0};  // steps and verbs that run and may have more in hand afterwards
  bool said_superseded_ = false;       // of the keep step alone
  bool join_in_doubt_ = false;         // likewise, once it has joined: whether the last try took effect
};

}  // namespace holdfast::runtime
