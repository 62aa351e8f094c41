// Sessions in a store: one record, one claim rule and one sweeper, under the policies of three doors.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::store {

/// What may happen to a session. Fixed when the session begins.
struct SessionPolicy {
  enum class WhenLost : std::uint8_t {
    reclaim,  ///< another worker may claim it
    fail,     ///< its work fails with session_lost; nobody else may ever claim this generation
  };
  std::string queue{};       ///< of its activities that name none
  std::string connection{};  ///< stored and echoed
  std::vector<std::string> requirements{};
  std::optional<Duration> lease{};         ///< unset: what the claimer says
  std::optional<Duration> idle_timeout{};  ///< unset: what the claimer says; `never`: none
  Duration ttl = never;                    ///< from its beginning, never extended
  std::uint32_t max_concurrent = 0;        ///< activities at once; 0 = no limit
  WhenLost when_lost = WhenLost::reclaim;
  bool create_if_missing = true;
  bool outlives_opener = false;
  bool on_record = false;  ///< it was opened or given a policy: listed for a while after its end
  friend bool operator==(const SessionPolicy&, const SessionPolicy&) = default;
};
std::string_view to_string(SessionPolicy::WhenLost when) noexcept;

enum class SessionState : std::uint8_t {
  unclaimed,
  active,   ///< owned, with an unexpired lease
  lapsed,   ///< owned, the lease is over
  expired,  ///< its time to live passed
  closed,
  failed,  ///< lost under `fail`, or aborted
};
std::string_view to_string(SessionState state) noexcept;

/// Why a session changed, in the log and in its record.
enum class SessionReason : std::uint8_t {
  none,
  work,         ///< claimed for an item
  acquired,     ///< claimed by acquire_session
  taken_back,   ///< by a new incarnation of the same node
  idle,         ///< released: nothing to do for its idle timeout
  drained,      ///< released: its owner stops
  displaced,    ///< released to make room for one that waits
  handed_over,  ///< released: another worker has the handler that its work needs
  operated,     ///< released or closed by a person
  owner_lost,   ///< the lease of a `fail` session was over for too long
  owner_restarted,
  drain_deadline,
  ttl,
  closed_by_code,
  opener_ended,
  aborted,
  swept,   ///< the record was removed
  lapsed,  ///< claimed: the lease of the one who had it was over
};
std::string_view to_string(SessionReason reason) noexcept;

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

/// Which sessions to list, by id. What is not set does not filter.
struct SessionFilter {
  std::vector<SessionState> states{};
  std::optional<std::string> owner{};  ///< node; of one that has ended: who held it then
  std::optional<std::string> queue{};  ///< of its policy; "" is the default queue
  std::string after{};                 ///< those that come after this id
  std::size_t limit = 100;

  [[nodiscard]] bool takes(SessionState state, const std::string& its_owner,
                           const std::string& its_queue) const {
    return (states.empty() || std::ranges::find(states, state) != states.end()) &&
           (!owner || *owner == its_owner) && (!queue || *queue == its_queue);
  }
};

/// How many sessions are in which state.
struct SessionCounts {
  std::uint64_t unclaimed = 0;
  std::uint64_t active = 0;
  std::uint64_t lapsed = 0;
  std::uint64_t orphaned = 0;  ///< those of the lapsed ones whose owner is gone
  std::uint64_t expired = 0;   ///< by their time to live
  std::uint64_t closed = 0;
  std::uint64_t failed = 0;
  friend bool operator==(const SessionCounts&, const SessionCounts&) = default;

  void add(SessionState state, bool is_orphaned, std::uint64_t count = 1);
};

/// One line of the append-only session log.
struct SessionLogEntry {
  enum class Kind : std::uint8_t {
    claimed,
    reclaimed,
    released,
    displaced,
    moved,
    lost,
    closed,
    expired,
    aborted,
    swept
  };
  std::uint64_t number = 0;  ///< grows; for paging
  std::string session{};
  Kind kind = Kind::claimed;
  SessionReason reason = SessionReason::none;
  std::string owner{};
  std::string previous_owner{};
  Generation generation{};
  CalendarTime at{};
  Duration quiet_for{};
  friend bool operator==(const SessionLogEntry&, const SessionLogEntry&) = default;
};
std::string_view to_string(SessionLogEntry::Kind kind) noexcept;

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
enum class WishAnswer : std::uint8_t {
  asked,     ///< its owner was asked to save it and to give it up
  released,  ///< nobody owns it any more
  free,      ///< nobody owned it
  there,     ///< the node that is to have it has it already
};
std::string_view to_string(WishAnswer answer) noexcept;

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
