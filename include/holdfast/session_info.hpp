// Sessions as clients and operators see them.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// The policy of a session. Fixed when the session begins.
struct SessionPolicy {
  enum class WhenLost : std::uint8_t {
    reclaim,  ///< another worker may claim it
    fail,     ///< its activities fail with session_lost; no other worker may ever claim this generation
  };
  std::string queue{};       ///< of its activities that name none
  std::string connection{};  ///< a text for its activities: ctx.connection()
  std::vector<std::string> requirements{};
  std::optional<Duration> lease{};         ///< unset: RuntimeOptions::session_lease of its owner
  std::optional<Duration> idle_timeout{};  ///< unset: session_idle_timeout of its owner; `never`: none
  Duration ttl = never;                    ///< from its beginning, never extended
  std::uint32_t max_concurrent = 0;        ///< activities at once; 0 = no limit
  WhenLost when_lost = WhenLost::reclaim;
  bool create_if_missing = true;
  bool outlives_opener = false;
  bool on_record = false;  ///< it was opened or given a policy: listed for a while after its end
  friend bool operator==(const SessionPolicy&, const SessionPolicy&) = default;
};
std::string_view to_string(SessionPolicy::WhenLost when) noexcept;

enum class SessionStatus : std::uint8_t {
  unclaimed,
  active,   ///< owned, with an unexpired lease
  lapsed,   ///< owned, but the lease is over
  expired,  ///< its time to live passed
  closed,
  failed,  ///< lost under `fail`, or aborted
};
std::string_view to_string(SessionStatus state) noexcept;

/// Why a session changed: in the session log, in its record, in events and hooks.
enum class SessionReason : std::uint8_t {
  none,
  work,             ///< claimed for an activity
  acquired,         ///< claimed by Runtime::acquire_session()
  taken_back,       ///< claimed by its former node, which was started again
  idle,             ///< released: no activity for its idle timeout
  drained,          ///< released: its owner stops
  displaced,        ///< released to make room for a session whose work waits
  handed_over,      ///< released: another worker has the code for its next activity
  operated,         ///< released or closed by a client
  owner_lost,       ///< lost: its owner did not renew it, and no other worker may take over
  owner_restarted,  ///< its owner was started again
  drain_deadline,   ///< lost: its owner stopped, and could not save it
  ttl,
  closed_by_code,
  opener_ended,  ///< closed: the instance that opened it has ended
  aborted,
  swept,   ///< its record was removed
  lapsed,  ///< claimed: the lease of the worker before was over
};
std::string_view to_string(SessionReason reason) noexcept;

/// A session as it is now.
struct SessionInfo {
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
  /// Set by Client::release_session() (empty) and move_session() (the node) until the owner has released it.
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
  std::optional<std::uint64_t>
      saved_size{};  ///< in bytes; none: nothing was saved. See Client::saved_state()
  std::uint64_t saved_version = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};
  friend bool operator==(const SessionInfo&, const SessionInfo&) = default;
};

/// The state of a session in one word: unclaimed, active, expired (its lease or its time to live is over),
/// orphaned (its lease is over, and its worker is gone), closed, failed.
std::string_view session_status(const SessionInfo& session) noexcept;

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
/// A line of the log as a sentence: "moved from a to b (drained), generation 7, quiet for 250 ms".
std::string to_string(const SessionLogEntry& entry);

/// What became of a request to release or move a session.
enum class SessionReleased : std::uint8_t {
  asked,     ///< its owner was asked to save it and to give it up
  released,  ///< nobody owns it any more
  free,      ///< nobody owned it
  there,     ///< the node that it was to move to holds it already
};
std::string_view to_string(SessionReleased answer) noexcept;

/// Which sessions to list, in the order of their ids. Unset members don't filter.
struct SessionFilter {
  std::vector<SessionStatus> states{};
  std::optional<std::string> owner{};  ///< node; of a session that has ended: the last one
  std::optional<std::string> queue{};  ///< of its policy; "" is the default queue
  std::string after{};                 ///< those that come after this id
  std::size_t limit = 100;             ///< of a page, above zero

  /// Whether a session matches, apart from `after` and `limit`.
  [[nodiscard]] bool takes(SessionStatus state, const std::string& its_owner,
                           const std::string& its_queue) const;
};

/// How many sessions are in which state.
struct SessionCounts {
  std::uint64_t unclaimed = 0;
  std::uint64_t active = 0;
  std::uint64_t lapsed = 0;
  std::uint64_t orphaned = 0;  ///< the lapsed ones whose owner is gone
  std::uint64_t expired = 0;   ///< by their time to live
  std::uint64_t closed = 0;
  std::uint64_t failed = 0;
  friend bool operator==(const SessionCounts&, const SessionCounts&) = default;

  void add(SessionStatus state, bool is_orphaned, std::uint64_t count = 1);
};

}  // namespace holdfast
