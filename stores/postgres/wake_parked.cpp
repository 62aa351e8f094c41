// Parked instances are woken, slice by slice: there may be many, and each slice is a transaction.
#include "calls.hpp"

namespace holdfast::postgres_store {

WokenSlice wake_parked(WorkingSet& set, const store::Code& code, InstanceKey after) {
  constexpr std::size_t kSlice = 200;
  set.want_parked(after, kSlice);
  set.bring();
  const auto& instances = set.tx().space.instances;
  WokenSlice slice;
  if (instances.size() == kSlice) slice.last = instances.rbegin()->first;
  slice.woken = rules::wake_parked(set.tx(), code);
  return slice;
}

}  // namespace holdfast::postgres_store
