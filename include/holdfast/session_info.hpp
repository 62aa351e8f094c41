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

enum class SessionStatus : std::uint8_t {
  unclaimed,
  active,   ///< owned, with an unexpired lease
  lapsed,   ///< owned, the lease is over
  expired,  ///< its time to live passed
  closed,
  failed,  ///< lost under `fail`, or aborted
};
std::string_view to_string(SessionStatus state) noexcept;

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

/// A session as it is now.
struct SessionInfo {
  std::string id{};
  SessionStatus state = SessionStatus::unclaimed;
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
  std::optional<std::uint64_t>
      saved_size{};  ///< in bytes; none: nothing was saved. See Client::saved_state()
  std::uint64_t saved_version = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};
  friend bool operator==(const SessionInfo&, const SessionInfo&) = default;
};

/// The state of a session in a word, as operators know it: unclaimed, active, expired (its lease or its time
/// to live is over), orphaned (its lease is over, and its worker is gone), closed, failed.
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
  there,     ///< the node that is to have it has it already
};
std::string_view to_string(SessionReleased answer) noexcept;

/// Which sessions to list, by id. What is not set does not filter.
struct SessionFilter {
  std::vector<SessionStatus> states{};
  std::optional<std::string> owner{};  ///< node; of one that has ended: who held it then
  std::optional<std::string> queue{};  ///< of its policy; "" is the default queue
  std::string after{};                 ///< those that come after this id
  std::size_t limit = 100;

  /// Whether it is one of them, wherever it stands in their order.
  [[nodiscard]] bool takes(SessionStatus state, const std::string& its_owner,
                           const std::string& its_queue) const;
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

  void add(SessionStatus state, bool is_orphaned, std::uint64_t count = 1);
};

}  // namespace holdfast
