// Packs: activities that one commit has handed off share one row while they share their lock. What is plain
// and ends together, as most do, costs one row instead of one for each.
#pragma once

#include "activities.hpp"
#include "transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast::sqlite_store {

/// A row of `packs`: plain activities of one instance in their first delivery, locked by the same token, in
/// the same session or in none. Small, because it is written anew when one of them goes its own way. An
/// instance has at most one.
struct Pack {
  InstanceKey key{};
  std::int64_t ns = 0;
  ExecutionNumber execution{};
  WorkerKey worker{};
  LockToken token{};
  LeaseTime until = 0;
  std::int64_t session = 0;
  Generation generation{};
  std::size_t size = 0;
  std::string items{};  ///< encoded

  [[nodiscard]] bool has_room_for(const Activity& activity) const noexcept;
  void add(const Activity& activity);
};

/// Takes the place of the one that the instance has.
void write_pack(Transaction& tx, const Pack& pack);
/// The activities in the pack of an instance, if it has one, or in all packs of the namespace.
std::vector<Activity> packed_of(Transaction& tx, InstanceKey key);
std::vector<Activity> all_packed(Transaction& tx);
/// Those of a session, of all its instances and generations.
std::vector<Activity> packed_in_session(Transaction& tx, std::int64_t session);
/// Each of them gets a row of its own.
void unpack_session(Transaction& tx, std::int64_t session);
/// These leave the pack of that instance.
void take_from_pack(Transaction& tx, InstanceKey key, std::span<const EventId> events);
/// Removes the packs of all namespaces whose locks are over; their activities. What can't be decoded is set
/// aside.
std::vector<Activity> take_lapsed_packs(Transaction& tx);

}  // namespace holdfast::sqlite_store
