// The life of an activity: queued, locked by a worker, answered or taken away.
#pragma once

#include "transaction.hpp"

#include <optional>

namespace holdfast::rules {

/// The row of what a turn has scheduled, which the caller takes for a worker or places. Null when its session
/// has ended: its instance was told, and that is all.
Activity* schedule(Transaction& tx, Instance& instance, const NewActivity& wanted);

/// Locks one that is not placed for a worker, which knows what it has scheduled itself: its instance, name
/// and body are not in the answer. Its session, if it has one, is the worker's.
LockedActivity take(Transaction& tx, Activity& activity, WorkerKey worker, LockToken token, Duration lease);
/// The same with one that waits, and with all that the worker has to know of it.
LockedActivity lock(Transaction& tx, Activity& activity, WorkerKey worker, LockToken token, Duration lease);

/// The row that `token` locks, or why there is none.
StoreResult<Activity*> locked(Transaction& tx, const ActivityId& id, LockToken token);

/// It was answered: the row goes, without a trace.
void remove(Transaction& tx, Activity& activity);
/// It was answered, and stays: nobody runs it any more who would have to be told what becomes of it.
void unlock(Transaction& tx, Activity& activity);
/// It is to be tried again; or not, if its session has ended in the meantime.
void queue_again(Transaction& tx, Activity& activity, Duration delay);

/// It is about to be answered, but its code goes on.
void note_still_running(Transaction& tx, const Activity& activity);

/// The row goes, and whoever runs it is told. For the instance's own turn, and with the instance.
void take_away(Transaction& tx, Activity& activity, CancelReason reason);
/// The same by others: the instance is told too.
void fail(Transaction& tx, Activity& activity, CancelReason reason);

/// Attempts begun so far.
[[nodiscard]] std::uint32_t attempts_begun(const Activity& activity);

}  // namespace holdfast::rules
