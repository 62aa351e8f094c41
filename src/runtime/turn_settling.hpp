// TurnSettling: what follows from the answer to a commit, and from turns that have none.
#pragma once

#include "runtime/cache.hpp"
#include "runtime/desk.hpp"
#include "runtime/locked_out.hpp"
#include "runtime/outbox.hpp"
#include "runtime/settings.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_fetch.hpp"
#include "runtime/waker.hpp"

#include <holdfast/store/turns.hpp>

#include <string>

namespace holdfast::runtime {

/// Each turn that was taken from the cache comes to its end here, once. Nothing here asks the store: locks go
/// back by the outbox, since who gives up a turn must not wait for it. Any thread.
class TurnSettling {
 public:
  TurnSettling(const Settings& settings, Waker& waker, InstanceCache& cache, ActivityDesk& desk,
               Outbox& outbox, StoreTrouble& trouble, TurnFetch& fetch)
      : settings_(settings),
        waker_(waker),
        cache_(cache),
        desk_(desk),
        outbox_(outbox),
        trouble_(trouble),
        fetch_(fetch) {}

  /// The store has answered a commit that was sent when it was `asked`.
  void settle(PreparedTurn& turn, store::TurnCommit& commit, StoreResult<store::Committed>&& answer,
              BootTime asked);
  /// Nothing is committed, and nothing was: the frame is as it was, and its lock is kept until it has been
  /// idle for long enough.
  void keep(PreparedTurn& turn);
  /// Nothing is committed, and its lock goes back.
  void release(PreparedTurn& turn, store::TurnRelease release);
  /// The same, and nobody runs it before people have looked at it, or other code has come.
  void park(PreparedTurn& turn, const std::string& why);
  /// It goes back as it came: nothing of it has happened.
  void release(InstanceCache::Taken&& taken);
  /// Code of the batch has not come back, or its executor has not begun with it. In another thread than the
  /// one that is stuck in it: what is still in the batch has not been committed, so all of it goes back as it
  /// came; only the instance that did not come back is parked. So many threads are stuck now.
  void give_up(TurnBatch& batch, int stuck);
  /// The same without parking anything: its worker leaves.
  void give_back(TurnBatch& batch);

 private:
  void give_up(PreparedTurn& turn, const StoreError& error);
  void release_rest(TurnBatch& batch);
  void abandon_current(TurnBatch& batch, store::TurnRelease release);
  void begin_handed_off(PreparedTurn& turn, const store::TurnCommit& commit, store::Committed& committed,
                        BootTime asked);

  const Settings& settings_;
  Waker& waker_;
  InstanceCache& cache_;
  ActivityDesk& desk_;
  Outbox& outbox_;
  StoreTrouble& trouble_;
  TurnFetch& fetch_;
  LockedOut locked_out_;
};

}  // namespace holdfast::runtime
