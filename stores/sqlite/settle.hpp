// What time alone has done since the last transaction: locks and leases that ended. Comes before all else in
// a transaction that writes.
#pragma once

#include "activities.hpp"
#include "sessions.hpp"
#include "turns.hpp"

namespace holdfast::sqlite_store {

inline void settle(Transaction& tx) {
  let_turns_lapse(tx);
  let_activities_lapse(tx);
  let_sessions_lapse(tx);
}

}  // namespace holdfast::sqlite_store
