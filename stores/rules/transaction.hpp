// Transaction: what the rules of a store work with, inside one call. Time stands still in it, and what it has
// to tell to those who wait is told when it is over.
#pragma once

#include "contract/wake_bus.hpp"
#include "source.hpp"
#include "space.hpp"

#include <holdfast/store/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::rules {

/// By the number of the status.
using StatusChanges = std::array<std::int64_t, static_cast<std::size_t>(InstanceStatus::terminated) + 1>;

struct Transaction {
  Space& space;
  Source& rows;      ///< brings into the space what the rules ask for
  Numbers& numbers;  ///< gives the next number of each kind
  BootTime now;
  CalendarTime calendar;
  News news{};
  /// How many instances more, or less, have each status since the transaction began.
  StatusChanges status_changes{};

  void count(InstanceStatus status, std::int64_t more) {
    status_changes[static_cast<std::size_t>(status)] += more;
  }
  /// A sweep has something to do at `moment`.
  void sweep_by(BootTime moment);
};

/// What time alone has done: locks lapse, delays end. Comes before all else.
void settle(Transaction& tx);
/// The same for one row, which has just come into the space and is not placed yet.
void settle_and_place(Transaction& tx, Instance& instance);
void settle_and_place(Transaction& tx, Activity& activity);

// ---- rows, or null -------------------------------------------------------------------------------

// These are for those who may change the row; look_at() is for the others, in places that many calls pass.

Instance* find_instance(const Transaction& tx, InstanceKey key);
Instance* find_instance(const Transaction& tx, std::string_view id);
Activity* find_activity(const Transaction& tx, const ActivityId& id);
Session* find_session(const Transaction& tx, std::string_view id);
Worker* find_worker(const Transaction& tx, WorkerKey key);
Cancel* find_cancel(const Transaction& tx, const ActivityId& id, LockToken token);
Request* find_request(const Transaction& tx, RequestId id);
const Instance* look_at(const Transaction& tx, InstanceKey key);
const Activity* look_at(const Transaction& tx, const ActivityId& id);
const Worker* look_at(const Transaction& tx, WorkerKey key);
std::optional<std::string> find_value(const Transaction& tx, Instance& instance, const std::string& key);

/// The name of a worker's node; empty when it is not registered.
std::string node_of(const Transaction& tx, WorkerKey worker);

Unexpected<StoreError> refuse(StoreError::Kind kind, std::string message);
Unexpected<StoreError> gone(CancelReason reason, std::string message);
Unexpected<StoreError> no_instance(std::string_view id);
Unexpected<StoreError> no_instance(InstanceKey key);

}  // namespace holdfast::rules
