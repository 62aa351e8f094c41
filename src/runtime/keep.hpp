// KeepStep: what the store has to hear by the clock: locks are renewed or given back, cancels read and
// acknowledged, the store swept.
#pragma once

#include "runtime/activities.hpp"
#include "runtime/cache.hpp"
#include "runtime/desk.hpp"
#include "runtime/other_builds.hpp"
#include "runtime/outbox.hpp"
#include "runtime/session_keeper.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/turns.hpp"
#include "runtime/waker.hpp"

#include <atomic>
#include <cstddef>
#include <string_view>

namespace holdfast::runtime {

/// One thread at a time.
class KeepStep {
 public:
  KeepStep(const Settings& settings, Standing& standing, Waker& waker, InstanceCache& cache,
           ActivityDesk& desk, SessionDesk& sessions, OtherBuilds& builds, Outbox& outbox, TurnStep& turns,
           FetchStep& fetch)
      : settings_(settings),
        standing_(standing),
        waker_(waker),
        cache_(cache),
        desk_(desk),
        builds_(builds),
        outbox_(outbox),
        turns_(turns),
        fetch_(fetch),
        sessions_(settings, standing, sessions),
        trouble_(settings) {}

  Progress step();
  /// The store has cancel records for this worker, or wants to be swept earlier than it said.
  void want_cancels() noexcept { cancels_wanted_ = true; }
  void want_sweep() noexcept { sweep_wanted_ = true; }
  /// The store should hear of this worker soon.
  void want_refresh() noexcept { refresh_wanted_ = true; }
  /// Sessions that can't be handed over are lost from now on.
  void give_up_sessions() noexcept { sessions_.give_up(); }
  /// What could not be given back: others have it when its leases are over.
  struct Kept {
    std::size_t instances = 0;
    std::size_t sessions = 0;
  };
  /// Gives back all instance locks that no turn is using, and all sessions, now. For the last step.
  Kept release_all();

 private:
  void renew();
  BootTime keep_sessions();
  void renew_activities(BootTime asked);
  [[nodiscard]] CancelReason why_gone(const store::ActivityRenewal& renewal, CancelReason said);
  void renew_turns();
  void release_idle(Duration hold);
  void release_turns();
  void wake_parked();
  void look_for_cancels();
  void acknowledge();
  bool refresh();
  void sweep();
  bool failed(std::string_view what, const StoreError& error);

  const Settings& settings_;
  Standing& standing_;
  Waker& waker_;
  InstanceCache& cache_;
  ActivityDesk& desk_;
  OtherBuilds& builds_;
  Outbox& outbox_;
  TurnStep& turns_;
  FetchStep& fetch_;
  SessionKeeper sessions_;
  StoreTrouble trouble_;
  bool parked_wait_ = true;  // for code that may have come with this process
  std::atomic<bool> cancels_wanted_{true};
  std::atomic<bool> sweep_wanted_{true};
  std::atomic<bool> refresh_wanted_{true};
  BootTime activities_due_{BootTime::max()};
  BootTime turns_due_{BootTime::max()};
  BootTime refresh_due_ = kLongAgo;
  BootTime sweep_due_ = kLongAgo;
  BootTime retry_due_{BootTime::max()};
};

}  // namespace holdfast::runtime
