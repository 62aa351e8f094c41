// The sweep: what is due and nobody else does.
#pragma once

#include "sessions.hpp"
#include "transaction.hpp"

#include <holdfast/store/instances.hpp>

#include <map>
#include <string>

namespace holdfast::sqlite_store {

/// What the sweeps of one store handle know of a `fail` session whose lease is over.
struct Lapse {
  Generation generation{};
  LeaseTime lease_until = 0;
  LeaseTime seen_since = 0;
};
using Lapses = std::map<std::string, Lapse, std::less<>>;

/// `lapses` is changed as the sweep goes on: throw it away when the sweep fails.
StoreResult<store::Swept> sweep(Transaction& tx, const store::SweepRequest& request, Lapses& lapses);

}  // namespace holdfast::sqlite_store
