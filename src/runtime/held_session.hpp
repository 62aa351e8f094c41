// HeldSession: what a worker knows of a session that it holds.
#pragma once

#include "base/moments.hpp"
#include "runtime/session_memory.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/sessions.hpp>

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace holdfast::runtime {

/// One on its way out.
struct LeavingSession {
  store::SessionReason reason{};
  std::uint64_t number = 0;  ///< here; never given twice
  BootTime since{};
  bool ready = false;            ///< saved, or nothing to save
  bool asked = false;            ///< the store is about to answer whether it may go
  BootTime retry_at = kLongAgo;  ///< is the store asked again
  std::optional<store::SessionSave> save{};
};

/// Belongs to the books of the desk of sessions, which its mutex guards.
struct HeldSession {
  store::SessionHold hold{};
  std::uint64_t number = 0;  ///< here; never given twice
  Duration lease{};          ///< its length
  BootTime asked{};          ///< when it was claimed or renewed last
  BootTime renew_not_before = kLongAgo;
  BootTime lease_until{};
  Duration idle_timeout = never;
  bool fails = false;  ///< under `fail`: nobody else may claim it
  int activities = 0;  ///< in it, until both their code and their answer have come to an end
  BootTime quiet_since{};
  std::optional<store::ActivityId> first{};  ///< the activity that is fresh
  std::shared_ptr<SessionMemory> memory{};
  bool lapsed = false;
  BootTime looked_at = kLongAgo;  ///< since it has lapsed
  bool said_overdue = false;
  bool hand_over = false;
  bool wanted_back = false;
  bool unsaved = false;  ///< its state could not be saved: its work goes on, whoever asks for it
  bool refused = false;  ///< the store would not let it go
  bool said_stranded = false;
  std::optional<LeavingSession> leaving{};
  bool saving = false;                 ///< a thread saves it, for whichever leaving is the newest
  BootTime not_before = kLongAgo;      ///< is it tried again to let it go
  BootTime look_at = BootTime::max();  ///< when the agenda has it; max: never
  Gauge* shown_in = nullptr;           ///< where its state is counted
  std::list<std::shared_ptr<HeldSession>>::iterator in_rest{};  ///< the order of rest

  [[nodiscard]] Duration quiet_for(BootTime now) const {
    return activities > 0 ? Duration::zero() : std::max(now - quiet_since, Duration::zero());
  }
  /// Somebody asks for it, and it could never leave if more and more of its activities began.
  [[nodiscard]] bool takes_no_more() const { return wanted_back && !fails && !unsaved; }
  /// When it may leave, if it stays at rest.
  [[nodiscard]] BootTime leaves_at() const {
    return std::max(hand_over ? kLongAgo : after(quiet_since, idle_timeout), not_before);
  }
  [[nodiscard]] BootTime renewal_due() const { return std::max(after(asked, lease / 3), renew_not_before); }
};

using HeldPointer = std::shared_ptr<HeldSession>;

/// Ids that verbs of Runtime are just asking the store for: those sessions stay.
using SessionWishes = std::multiset<std::string, std::less<>>;

}  // namespace holdfast::runtime
