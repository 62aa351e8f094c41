// Messages on their way to an instance: inserted, delayed, or due at a time on the calendar.
#pragma once

#include "transaction.hpp"

namespace holdfast::rules {

/// Inserts a message; its id is given here. False when the instance has ended and takes no more of its kind.
bool deliver(Transaction& tx, Instance& instance, Message message);
/// A message as its sender made it.
bool deliver(Transaction& tx, Instance& instance, const NewMessage& message);
/// The same once lease time has come to `visible`.
void deliver_at(Transaction& tx, Instance& instance, BootTime visible, const NewMessage& message);

void set_timer(Transaction& tx, Instance& instance, const NewTimer& timer);
void cancel_timer(Transaction& tx, Instance& instance, EventId timer);
void cancel_timers(Transaction& tx, Instance& instance);

/// Those that an instance doesn't take after its end.
void drop_all_but_starts(Transaction& tx, Instance& instance);
void drop_delayed(Transaction& tx, Instance& instance);

/// Timers and delayed messages that are due become messages.
void deliver_due(Transaction& tx);
/// Until the next of them is due.
[[nodiscard]] Duration next_delivery(const Transaction& tx);

}  // namespace holdfast::rules
