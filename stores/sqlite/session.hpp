// Session: a row of `sessions`, and what a transaction knows besides it. Kept from one transaction to the
// next while nobody else writes the file, so that a turn whose activities run in sessions reads none of them.
#pragma once

#include "lease_time.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/sessions.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::sqlite_store {

/// What changes in it is written by save_session().
struct Session {
  std::int64_t number = 0;
  std::string id{};
  bool begun = true;
  bool open = true;  ///< its items stand in the lanes of their kinds
  store::SessionPolicy policy{};
  std::optional<std::string> unreadable_policy{};  ///< the bytes in its row, in whose place `policy` is
  std::optional<store::SessionState> ended{};
  store::SessionReason reason = store::SessionReason::none;
  std::string note{};
  std::string owner{};  ///< node; after the end: who owned it then
  WorkerKey worker{};   ///< 0: unclaimed
  Generation generation{};
  Generation held_since{};
  /// Of its owner. When it was taken from an older incarnation of its owner's node: only that node may claim
  /// it until then.
  LeaseTime lease_until = 0;
  Duration lease{};
  Duration idle_timeout = never;
  std::string last_owner{};
  WorkerKey last_worker{};
  bool planned = false;
  bool restarted = false;
  bool ran = false;
  /// A person wants its owner to give it up: for this node, or for anybody (""). Of one that is unclaimed:
  /// only this node may claim it until `lease_until`. Of one that has ended (""): its owner has to be told.
  std::optional<std::string> wanted{};
  Duration wanted_for{};  ///< how long it is kept for that node once it is unclaimed
  LeaseTime last_activity = 0;
  LeaseTime changed = 0;
  LeaseTime ttl_until = kNoTime;
  InstanceKey opener{};
  std::string opened_by{};
  std::optional<std::string> saved{};
  std::uint64_t saved_version = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};

  /// How many rows of `queued` are its items; unknown until it is asked for.
  std::optional<std::uint64_t> queued{};
};

/// References to sessions stay valid until they are removed or the transaction ends.
class SessionCache {
 public:
  [[nodiscard]] Session* find(std::int64_t number);
  /// By the id in the namespace of this handle.
  [[nodiscard]] Session* find(std::string_view id);
  /// Takes the place of the one of that number, whose references are to this one then.
  Session& put(Session session);
  /// From now on it is found by its id.
  void name(const Session& session) { numbers_.insert_or_assign(session.id, session.number); }
  void remove(std::int64_t number);
  /// Those that are places for sessions to come.
  void remove_unbegun();

  /// At the end of a transaction: keeps what is worth its memory.
  void tidy();

 private:
  static constexpr std::size_t kMaxKept = 20'000;
  static constexpr std::size_t kMaxSaved = 1024;  // bytes of state

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view id) const noexcept { return std::hash<std::string_view>{}(id); }
  };

  std::unordered_map<std::int64_t, Session> sessions_{};
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> numbers_{};
  std::vector<std::int64_t> used_{};  // in this transaction
};

}  // namespace holdfast::sqlite_store
