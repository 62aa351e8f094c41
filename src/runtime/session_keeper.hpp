// SessionKeeper: the part of the keep step that is about sessions: renews their leases, and lets them go.
#pragma once

#include "runtime/session_desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/store_trouble.hpp"

#include <holdfast/store/sessions.hpp>

#include <atomic>
#include <cstddef>
#include <string_view>
#include <vector>

namespace holdfast::runtime {

/// One thread at a time, but for what is said to be for any.
class SessionKeeper {
 public:
  SessionKeeper(const Settings& settings, Standing& standing, SessionDesk& sessions)
      : settings_(settings),
        standing_(standing),
        sessions_(sessions),
        renewing_(settings),
        releasing_(settings),
        claiming_(settings),
        others_(settings) {}

  struct Done {
    BootTime next_due = BootTime::max();
    bool fetch = false;  ///< fetching may find more
  };
  Done step();
  /// Looks whether somebody asks for sessions of this worker, or has ended some.
  void look_for_wanted();
  /// This worker has no more time: sessions that can't be handed over are lost. Any thread.
  void give_up() noexcept { giving_up_ = true; }
  /// All that is left, at once: this worker leaves. Returns how many the store has not let go, which others
  /// have when their leases are over.
  std::size_t release_all();

 private:
  void renew(BootTime now);
  void look_after_lapsed(BootTime now);
  bool look_after(const store::SessionHold& hold);
  bool claim_again(const store::SessionHold& hold);
  void release();
  void fail_unmovable(SessionDesk::Which which);
  [[nodiscard]] store::SessionReason why_left(const store::SessionHold& hold, store::SessionReason otherwise);
  using Answers = std::vector<StoreResult<void>>;
  BootTime retry_time(StoreTrouble& trouble, std::string_view what, const Answers& answers);

  const Settings& settings_;
  Standing& standing_;
  SessionDesk& sessions_;
  StoreTrouble renewing_;
  StoreTrouble releasing_;
  StoreTrouble claiming_;
  StoreTrouble others_;
  std::atomic<bool> giving_up_{false};
  BootTime last_renewal_ = kLongAgo;
  BootTime look_due_ = kLongAgo;  // at those that have lapsed
  bool fetch_ = false;            // there may be work of what is held again, or room for other sessions
  BootTime fail_due_ = kLongAgo;  // those that can't be handed over, once there is no more time
};

}  // namespace holdfast::runtime
