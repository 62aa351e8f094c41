// The sweep: what is due and nobody else does.
#pragma once

#include "sessions.hpp"
#include "transaction.hpp"

#include <holdfast/store/instances.hpp>

#include <map>
#include <string>

namespace holdfast::sqlite_store {

/// Since when the sweeps of one store handle see that somebody is late.
struct Lateness {
  LeaseTime since = 0;
  LeaseTime last = 0;
};
/// Of a `fail` session whose lease is over.
struct Lapse {
  Generation generation{};
  LeaseTime lease_until = 0;
  Lateness late{};
};
/// Of a worker without a sign of life.
struct Silence {
  LeaseTime heard = 0;
  Lateness late{};
};
/// What the sweeps of one store handle have seen; to be cleared when one of its calls was `unavailable`.
struct Lapses {
  std::map<std::string, Lapse, std::less<>> sessions{};
  std::map<WorkerKey, Silence> workers{};
  void clear() noexcept {
    sessions.clear();
    workers.clear();
  }
};

/// `lapses` is changed as the sweep goes on: throw it away when the sweep fails.
StoreResult<store::Swept> sweep(Transaction& tx, const store::SweepRequest& request, Lapses& lapses);

}  // namespace holdfast::sqlite_store
