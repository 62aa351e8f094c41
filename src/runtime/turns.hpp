// TurnStep: fetches instances that are ready, runs their code, commits what it did.
#pragma once

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
#include "runtime/turn_fetch.hpp"
#include "runtime/turn_runner.hpp"
#include "runtime/turn_settling.hpp"
#include "runtime/waker.hpp"

#include <vector>

namespace holdfast::runtime {

/// Several threads may call step() at once: each runs other instances, and one of them fetches.
class TurnStep {
 public:
  TurnStep(const Settings& settings, Standing& standing, Waker& waker, Chance& chance, InstanceCache& cache,
           ActivityDesk& desk, SessionDesk& sessions, Outbox& outbox)
      : settings_(settings),
        standing_(standing),
        waker_(waker),
        cache_(cache),
        desk_(desk),
        trouble_(settings),
        fetch_(settings, standing, waker, chance, cache, outbox, trouble_),
        runner_(settings, waker),
        rebuilder_(settings, trouble_, runner_),
        settling_(settings, waker, cache, desk, outbox, trouble_, fetch_),
        builder_(settings, standing, chance, desk, sessions, fetch_, runner_, rebuilder_, settling_) {}

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

 private:
  Progress run_and_commit(RunId run, std::vector<InstanceCache::Taken>&& taken);
  void run_some(TurnBatch& batch);
  void commit(TurnBatch& batch);

  const Settings& settings_;
  const Standing& standing_;
  Waker& waker_;
  InstanceCache& cache_;
  ActivityDesk& desk_;
  StoreTrouble trouble_;
  TurnFetch fetch_;
  TurnRunner runner_;
  Rebuilder rebuilder_;
  TurnSettling settling_;
  CommitBuilder builder_;
};

}  // namespace holdfast::runtime
