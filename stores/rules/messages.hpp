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

/// The instance of that id; when there is none, there will be none until the transaction is over.
Instance* find_or_reserve(Transaction& tx, const std::string& id);
/// Keeps a delivery for an instance that doesn't exist yet; it was reserved. It counts from `delay` on.
void keep_early(Transaction& tx, const std::string& id, const NewMessage& message, Duration keep,
                Duration delay = {});
/// The instance shows that somebody asked it to stop.
void note_cancel_request(const Transaction& tx, Instance& instance);

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
