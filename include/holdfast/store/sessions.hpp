// Sessions in a store: one record, one claim rule and one sweeper, under the policies of three doors.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/session_info.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::store {

using holdfast::SessionCounts;
using holdfast::SessionFilter;
using holdfast::SessionLogEntry;
using holdfast::SessionPolicy;
using holdfast::SessionReason;
using SessionState = SessionStatus;

/// Proves ownership: the current generation of a session.
struct SessionHold {
  std::string id{};
  Generation generation{};
  friend bool operator==(const SessionHold&, const SessionHold&) = default;
};

/// The state that a worker saves for the next owner.
struct SessionSave {
  std::string bytes{};
  /// The result that it comes with counts only together with it: `lost` once the session is no longer the
  /// worker's in the generation that the activity ran in. An end of the session is no hindrance.
  bool required = false;
  friend bool operator==(const SessionSave&, const SessionSave&) = default;
};

/// What a view of a session tells of the state that was saved in it, which may be long.
enum class Saved : std::uint8_t {
  size,   ///< how long it is
  bytes,  ///< that, and all of it
};

struct SessionView {
  std::string id{};
  SessionState state = SessionState::unclaimed;
  bool orphaned = false;  ///< lapsed, and the owner's registration is stale or missing
  SessionReason reason = SessionReason::none;
  std::string note{};   ///< what an activity said when it aborted
  std::string owner{};  ///< node; after the end: who held it then
  WorkerKey worker{};
  Generation generation{};
  /// The generation in which its last owner began to hold it: since then nobody else has. What that worker
  /// keeps in memory from there on is still true.
  Generation held_since{};
  /// A person wants its owner to give it up: for this node, or for whoever needs it when this is empty. Of
  /// one that nobody owns: it is kept for this node.
  std::optional<std::string> wanted{};
  SessionPolicy policy{};
  Duration lease_left{};  ///< 0 when over
  std::optional<Duration> ttl_left{};
  Duration quiet_for{};      ///< since its last activity, as far as claims and renewals have told
  std::string opened_by{};   ///< instance id, may be empty
  std::uint64_t queued = 0;  ///< ready or backing off
  std::uint64_t in_flight = 0;
  std::optional<std::uint64_t> saved_size{};  ///< none: nothing was saved
  std::optional<std::string> saved{};         ///< only where its bytes were asked for
  std::uint64_t saved_version = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};
  friend bool operator==(const SessionView&, const SessionView&) = default;
};

/// What acquire_session did.
struct Acquired {
  enum class Kind : std::uint8_t {
    created,
    reused,            ///< the caller owned it already; its lease begins anew
    reacquired,        ///< it was unclaimed, lapsed, or failed under `reclaim`
    closed,            ///< it has ended, by close or by its time to live
    missing,           ///< there is none, and the policy says not to create it
    owned_by_another,  ///< or kept for the node that held it, which was started again
    requirements_not_met,
    limit_exceeded,
    reacquire_not_allowed,
  };
  Kind kind = Kind::created;
  SessionView session{};    ///< of one that the caller owns now: with the bytes that were saved
  bool same_owner = false;  ///< when reacquired: the last owner was this worker, with no other in between
  std::string previous_owner{};  ///< when reacquired: the node that held it before, if any
  friend bool operator==(const Acquired&, const Acquired&) = default;
};

/// What a person wants of a session: that its owner saves it and gives it up, so that another worker may have
/// it.
struct SessionWish {
  std::string to{};     ///< the node that is to have it next; empty: whoever needs it first
  Duration keep_for{};  ///< how long it is kept for that node once nobody owns it
  bool force = false;   ///< it is taken from its owner at once, which saves nothing any more
};
/// What became of it.
using WishAnswer = SessionReleased;

/// A hold to renew.
struct SessionRenewal {
  SessionHold hold{};
  Duration quiet_for{};  ///< since the last fetch, renewal, heartbeat or answer of its activities
};

/// A hold to give up.
struct SessionRelease {
  SessionHold hold{};
  SessionReason reason = SessionReason::idle;  ///< idle, displaced, drained, handed_over or operated
  std::optional<SessionSave> save{};
};

}  // namespace holdfast::store
