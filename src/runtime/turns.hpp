// TurnStep: fetches instances that are ready, runs their code, commits what it did.
#pragma once

#include "base/mutex.hpp"
#include "runtime/cache.hpp"
#include "runtime/chance.hpp"
#include "runtime/commit_builder.hpp"
#include "runtime/desk.hpp"
#include "runtime/outbox.hpp"
#include "runtime/rebuilder.hpp"
#include "runtime/session_desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/steps.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_committer.hpp"
#include "runtime/turn_fetch.hpp"
#include "runtime/turn_runner.hpp"
#include "runtime/turn_settling.hpp"
#include "runtime/turns_away.hpp"
#include "runtime/waker.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// Several threads may call step() at once: each runs other instances, and one of them fetches.
class TurnStep {
 public:
  TurnStep(const Settings& settings, Standing& standing, Waker& waker, Chance& chance, InstanceCache& cache,
           ActivityDesk& desk, SessionDesk& sessions, OtherBuilds& builds, Outbox& outbox)
      : settings_(settings),
        standing_(standing),
        waker_(waker),
        cache_(cache),
        trouble_(settings),
        fetch_(settings, standing, waker, chance, cache, outbox, trouble_),
        runner_(settings, waker),
        rebuilder_(settings, trouble_, runner_),
        settling_(settings, waker, cache, desk, outbox, trouble_, fetch_),
        builder_(settings, standing, chance, desk, sessions, builds, fetch_, runner_, rebuilder_, settling_),
        committer_(settings, standing, desk, settling_),
        away_(settings, waker, fetch_, runner_, builder_, settling_, committer_) {}

  /// What must live as long as turns run on executors.
  void keep_alive(std::weak_ptr<const void> owner) { away_.keep_alive(std::move(owner)); }

  /// `run` is the number of this call.
  Progress step(RunId run);
  /// The store may have more.
  void want() noexcept { fetch_.want(); }
  /// Gives up turns that have taken too long: their instances are parked, and what else their threads had in
  /// hand goes to others. Returns their runs.
  std::vector<RunId> give_up_overdue();
  /// When there may be one.
  [[nodiscard]] BootTime next_overdue() const { return runner_.next_overdue(); }
  /// Threads that were given up, and are still in their turns.
  [[nodiscard]] int stuck() const noexcept { return runner_.stuck(); }
  /// Instances whose turns are at executors, or on their way from or to them.
  [[nodiscard]] std::size_t away() const noexcept { return away_.in_hand(); }
  /// Gives those back: for after the last step.
  void close() { away_.close(); }

 private:
  Progress run_and_commit(RunId run, std::vector<InstanceCache::Taken>&& taken);
  void run_some(TurnBatch& batch);
  std::shared_ptr<TurnBatch> new_batch(RunId run, std::vector<InstanceCache::Taken>&& taken);
  /// Nobody uses it any more.
  void keep_memory_of(std::shared_ptr<TurnBatch>&& batch);

  const Settings& settings_;
  const Standing& standing_;
  Waker& waker_;
  InstanceCache& cache_;
  StoreTrouble trouble_;
  TurnFetch fetch_;
  TurnRunner runner_;
  Rebuilder rebuilder_;
  TurnSettling settling_;
  CommitBuilder builder_;
  TurnCommitter committer_;
  TurnsAway away_;
  Mutex spares_mutex_;
  std::vector<std::shared_ptr<TurnBatch>> spares_ HOLDFAST_GUARDED_BY(spares_mutex_);
};

}  // namespace holdfast::runtime
