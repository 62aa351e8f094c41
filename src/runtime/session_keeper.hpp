// SessionKeeper: the part of the keep step that is about sessions: renews their leases, and lets them go.
#pragma once

#include "runtime/session_desk.hpp"
#include "runtime/worker.hpp"

#include <holdfast/store/sessions.hpp>

#include <atomic>

namespace holdfast::runtime {

/// One thread at a time, but for what is said to be for any.
class SessionKeeper {
 public:
  SessionKeeper(Worker& worker, SessionDesk& sessions)
      : worker_(worker), sessions_(sessions), trouble_(worker) {}

  struct Done {
    BootTime next_due = BootTime::max();
    bool fetch = false;  ///< fetching may find more
  };
  Done step();
  /// This worker has no more time: sessions that can't be handed over are lost. Any thread.
  void give_up() noexcept { giving_up_ = true; }
  /// All that is left, at once: this worker leaves.
  void release_all();

 private:
  void renew(BootTime now);
  void look_after_lapsed(BootTime now);
  bool release();
  void fail_unmovable(SessionDesk::Which which);
  bool failed(std::string_view what, const StoreError& error);

  Worker& worker_;
  SessionDesk& sessions_;
  StoreTrouble trouble_;
  std::atomic<bool> giving_up_{false};
  BootTime last_renewal_ = kLongAgo;
  BootTime not_before_ = kLongAgo;  // is the store asked again
  BootTime look_due_ = kLongAgo;    // at those that have lapsed
};

}  // namespace holdfast::runtime
