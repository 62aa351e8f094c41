// Transaction: what the rules of the store work with, inside one call. Time stands still in it, and what it
// has to tell to those who wait is told when it is over.
#pragma once

#include "contract/wake_bus.hpp"
#include "database.hpp"

#include <holdfast/store/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::memory_store {

struct Transaction {
  Space& space;
  Counters& counters;
  BootTime now;
  CalendarTime calendar;
  News news{};

  /// A sweep has something to do at `moment`.
  void sweep_by(BootTime moment);
};

/// What time alone has done since the last transaction: locks lapse, delays end. Comes before all else.
void settle(Transaction& tx);

Instance* find_instance(Space& space, InstanceKey key);
Instance* find_instance(Space& space, std::string_view id);
Activity* find_activity(Space& space, const ActivityId& id);
Session* find_session(Space& space, std::string_view id);
/// The name of a worker's node; empty when it is not registered.
std::string node_of(const Space& space, WorkerKey worker);

Unexpected<StoreError> refuse(StoreError::Kind kind, std::string message);
Unexpected<StoreError> gone(CancelReason reason, std::string message);
Unexpected<StoreError> no_instance(std::string_view id);
Unexpected<StoreError> no_instance(InstanceKey key);

}  // namespace holdfast::memory_store
