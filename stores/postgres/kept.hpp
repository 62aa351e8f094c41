// Kept: rows of instances that workers of this process hold, from one transaction to the next, so that the
// next turn of such an instance reads nothing.
//
// Any other process may change them at any time. So whoever uses a kept row writes it back under a guard: the
// statement finds the row only if it is of the version that was kept, and fails otherwise. Then nothing has
// happened, all that is kept is forgotten, and the transaction is done again with rows that it reads and
// locks.
//
// For that, a version has to stand for all that is kept of an instance: whoever adds a message to an instance
// that is locked by a worker writes the row of the instance, too.
#pragma once

#include "parameters.hpp"
#include "stores/rules/rows.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

/// The transaction that has written a row: `xmin`. Another one that writes it leaves its own.
struct RowVersion {
  std::uint32_t transaction = 0;
  friend bool operator==(RowVersion, RowVersion) = default;
};

namespace wire {
template <>
struct Form<RowVersion> {
  static constexpr Oid kOid = kTransactionOid;
  static void put(std::string& out, RowVersion version) { append(out, version.transaction); }
};
}  // namespace wire

/// Locked by the worker that holds its instance, and in no session.
struct KeptActivity {
  rules::Activity row{};
  std::optional<RowVersion> version{};  ///< none: that of the transaction which keeps it
};

struct KeptInstance {
  rules::Instance row{};
  std::optional<RowVersion> version{};  ///< likewise
  // What else is known of it. Its messages are in the row.
  std::optional<MessageId> waiting_after{};  ///< all deliveries after this, and all that wake
  std::optional<MessageId> all_after{};      ///< all messages after this
  bool timers_known = false;                 ///< they are in the row
  bool sessions_known = false;               ///< it has opened none, and watches none
  bool activities_known = false;             ///< it has these, and no others
  std::map<store::ActivityId, KeptActivity> activities{};
};

/// One thread at a time.
class Kept {
 public:
  /// Whether the row is worth its memory until the next turn.
  static bool is_small(const rules::Instance& instance);
  static bool is_small(const rules::Activity& activity);
  /// So many activities of one instance.
  static constexpr std::size_t kMostActivities = 100;

  [[nodiscard]] bool contains(InstanceKey key) const { return instances_.contains(key); }
  [[nodiscard]] KeptInstance* find(InstanceKey key);
  /// It is in somebody's hands now.
  KeptInstance take(InstanceKey key);
  void keep(InstanceKey key, KeptInstance instance);
  void forget(InstanceKey key) { instances_.erase(key); }
  void forget() { *this = Kept(); }

  /// Workers that were neither replaced nor draining.
  std::map<WorkerKey, rules::Worker> workers{};
  /// No activity with a priority above 0 was there.
  bool nothing_urgent = false;

 private:
  static constexpr std::size_t kMost = 10'000;
  std::map<InstanceKey, KeptInstance> instances_{};
};

}  // namespace holdfast::postgres_store
