// Instance: what a transaction knows of one instance, its row and more. Kept from one transaction to the next
// while nobody else writes the file, so that a turn of an instance that is held reads nothing.
#pragma once

#include "lease_time.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/messages.hpp>
#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {

/// The lock of an instance.
struct Held {
  WorkerKey worker{};
  LockToken token{};
  LeaseTime until = 0;
  std::uint32_t delivery = 0;  ///< counts only while `stamp` is the instance's
  TurnStamp stamp{};
  bool lapsed = false;  ///< a scan has seen it past its lease
};

/// An activity of an instance that runs.
struct RunningActivity {
  EventId event{};
  LockToken token{};
  std::int64_t session = 0;  ///< its number; 0 = none
  bool packed = false;       ///< it is in the instance's pack, and has no row of its own
};

/// Stands for what an instance waits for when that could not be decoded: it is no encoding of anything.
inline constexpr std::string_view kWaitsForAll = "*";

struct Instance {
  InstanceKey key{};
  std::int64_t ns = 0;
  std::string name{};
  std::int64_t route = 0;
  ExecutionNumber execution{};
  store::InstanceStatus status{};
  std::uint32_t delivery = 0;  ///< of no meaning while it is held
  std::optional<LeaseTime> ready_at{};
  TurnStamp stamp{};    ///< empty when the last segment has it
  std::string waits{};  ///< encoded, or kWaitsForAll
  MessageId start{};    ///< the start message in its row, if it has one and that is unread
  MessageId seen{};     ///< deliveries up to this don't make it ready
  bool woken = false;   ///< ready, whatever its messages are
  LeaseTime not_before = 0;
  CalendarTime updated_at{};
  std::optional<Held> held{};

  // What other tables say. What isn't known is read where it is needed.
  std::optional<TurnStamp> last_stamp{};                  ///< of its last commit
  std::optional<std::vector<store::Message>> messages{};  ///< all of them, by id
  std::optional<std::vector<RunningActivity>> running{};  ///< all of them, by event
  bool bare = false;  ///< known to have nothing queued, no timers, delayed messages, sessions and watches

  void note_running(const RunningActivity& activity);
  void note_not_running(EventId event);

  /// Whether `ready_at` says where it stands in `ready`.
  [[nodiscard]] bool is_free() const noexcept { return !held || held->lapsed; }
};

/// References to instances stay valid until they are removed or the transaction ends.
class InstanceCache {
 public:
  [[nodiscard]] Instance* find(InstanceKey key);
  Instance& put(Instance instance);
  void remove(InstanceKey key) { instances_.erase(key.value); }

  /// At the end of a transaction: keeps those that will be asked for again.
  void tidy();

 private:
  static constexpr std::size_t kMaxKept = 10'000;

  std::unordered_map<std::uint64_t, Instance> instances_{};
  std::vector<std::uint64_t> used_{};  // in this transaction
};

}  // namespace holdfast::sqlite_store
