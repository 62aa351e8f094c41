// Sessions in a store. Implicit, explicit and worker sessions differ in their policy only: they share one
// record, one rule for claims and one sweep.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/session_info.hpp>

#include <chrono>
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
using holdfast::SessionStatus;

/// Proves ownership: the current generation of a session.
struct SessionHold {
  std::string id{};
  Generation generation{};
  friend bool operator==(const SessionHold&, const SessionHold&) = default;
};

/// The state that a worker saves for the next owner.
struct SessionSave {
  std::string bytes{};
  /// The result that it comes with counts only together with it: it is `lost` if the worker no longer holds
  /// the session in the generation that the activity ran in, unless the session has ended.
  bool required = false;
  friend bool operator==(const SessionSave&, const SessionSave&) = default;
};

/// What a view of a session includes of its saved state, which may be large.
enum class Saved : std::uint8_t {
  size,   ///< its size
  bytes,  ///< its size and its bytes
};

struct SessionView {
  std::string id{};
  SessionStatus state = SessionStatus::unclaimed;
  bool orphaned = false;  ///< lapsed, and the owner's registration is stale or missing
  SessionReason reason = SessionReason::none;
  std::string note{};   ///< the reason that an activity gave to abort_session()
  std::string owner{};  ///< node; after the end: the last one
  WorkerKey worker{};
  Generation generation{};
  /// The generation in which its last owner began to hold it. No other worker has held it since, so what that
  /// worker has in memory since then is current.
  Generation held_since{};
  /// An operator has asked its owner to release it: for this node, or, when empty, for any worker.
  /// Of a session without an owner: only this node may claim it for a while, since an operator has named it
  /// or it has displaced another session for this one.
  std::optional<std::string> wanted{};
  Duration kept_for{};  ///< without an owner: how long only one node may claim it
  SessionPolicy policy{};
  Duration lease_left{};  ///< 0 when over
  std::optional<Duration> ttl_left{};
  Duration quiet_for{};      ///< since its last activity, as of its last claim or renewal
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

/// The answer of acquire_session().
struct Acquired {
  enum class Kind : std::uint8_t {
    created,
    reused,            ///< the caller owned it already; its lease begins anew
    reacquired,        ///< it was unclaimed, lapsed, or failed under `reclaim`
    closed,            ///< it has ended, by close or by its time to live
    missing,           ///< there is none, and the policy says not to create it
    owned_by_another,  ///< or reserved for a node: the former one after its restart, or that of a wish
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

/// An operator asks the owner of a session to save and release it, so that another worker may claim it.
struct SessionWish {
  std::string to{};     ///< the node that is to claim it next; empty: any
  Duration keep_for{};  ///< how long only that node may claim it after its release
  bool force = false;   ///< take it from its owner at once, without a save
};
/// The answer to a wish.
using WishAnswer = SessionReleased;

/// A session that its owner is to let go.
struct WantedSession {
  SessionHold hold{};
  std::optional<SessionReason> ended{};  ///< it has ended, for this reason; none: somebody asks for it
  friend bool operator==(const WantedSession&, const WantedSession&) = default;
};

/// So long work of a session waits for a worker with room before a worker without displaces another session
/// for it; and so long it is kept for that worker then, so that no other one displaces a session too.
inline constexpr Duration kWaitsForRoom = std::chrono::seconds(1);

/// A hold to renew.
struct SessionRenewal {
  SessionHold hold{};
  Duration quiet_for{};  ///< since the last fetch, renewal, heartbeat or answer of its activities
};

/// A hold to release.
struct SessionRelease {
  SessionHold hold{};
  SessionReason reason = SessionReason::idle;  ///< idle, displaced, drained, handed_over or operated
  std::optional<SessionSave> save{};
};

}  // namespace holdfast::store
