// The calls about turns, inside a transaction.
#pragma once

#include "messages.hpp"
#include "transaction.hpp"

#include <holdfast/store/turns.hpp>
#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::sqlite_store {

StoreResult<store::FetchedTurns> fetch_turns(Transaction& tx, const store::TurnRequest& request);
StoreResult<store::Committed> commit_turn(Transaction& tx, const store::CommitRequest& request,
                                          const store::TurnCommit& commit);
StoreResult<void> release_turn(Transaction& tx, const store::TurnRelease& release);
StoreResult<void> renew_turn(Transaction& tx, WorkerKey worker, Duration lease,
                             const store::TurnRenewal& renewal);
StoreResult<std::vector<store::Segment>> read_history(Transaction& tx, InstanceKey key,
                                                      ExecutionNumber execution, EventId after,
                                                      std::size_t max_bytes);
StoreResult<std::uint64_t> wake_parked(Transaction& tx, const store::Code& code);

/// Whether a worker with that code may run instances of that route.
bool serves(const store::Code& code, const Route& route);

/// Timers and delayed messages that are due become messages, earliest first. How long until the next.
Duration deliver_due(Transaction& tx);
/// Instances whose locks are over go to `ready`, if they have work. How long until the next lock may end.
Duration let_turns_lapse(Transaction& tx);

}  // namespace holdfast::sqlite_store
