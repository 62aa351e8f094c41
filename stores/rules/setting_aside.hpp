// What nobody can read is put out of the way, with its bytes, and becomes something that everybody can read:
// it is in the way of nothing else. Which row becomes what is said here, for all stores.
#pragma once

#include "transaction.hpp"

#include <cstdint>
#include <string>

namespace holdfast::rules {

// ---- what a worker can't read --------------------------------------------------------------------

void set_aside(Transaction& tx, const Instance& instance, const Message& message);
void set_aside(Transaction& tx, const Activity& activity, const std::string& problem);

// ---- what a store can't read of a row ------------------------------------------------------------

// A store that writes calls these while the row is on its way into the space, before it is placed, and writes
// what has become of it. Who only looks shows what can be read.

/// How the body of a message stands in a row. One that can't be decoded is handed to the turn as it is, which
/// sets it aside.
[[nodiscard]] MessageBody body_in_row(MessageKind kind, std::string bytes);

/// What an instance waits for follows from its history: its next turn says it anew, which comes at once.
void waits_are_damaged(Transaction& tx, Instance& instance, std::string bytes);
/// Nobody knows who waits for its end, so they are not told of it.
void end_watchers_are_damaged(Transaction& tx, Instance& instance, std::string bytes);
/// The attributes of an instance are lost, and so is what it was found by.
void attributes_are_damaged(Transaction& tx, Instance& instance, std::string bytes);
/// Nobody can run it without knowing its code: it is parked. `row` tells where that should have been.
void code_is_missing(Transaction& tx, Instance& instance, const std::string& row);
/// Nobody can run it without knowing what it is: it fails at the next sweep, unless it runs already and is
/// answered.
void kind_is_missing(Transaction& tx, Activity& activity, const std::string& row);
/// Which activities stood in the bytes nobody knows, so none of them can be answered: their instance, which
/// is in the space, is parked.
void activities_are_damaged(Transaction& tx, Instance& instance, std::string bytes);
/// Nobody knows what was agreed for a session, so nobody may go on with it: whoever asks for it next, or the
/// next sweep, ends it as aborted, see expire().
void policy_is_damaged(Transaction& tx, Session& session, std::string bytes);
/// A worker of which nobody knows what it can do is not registered any more: the store removes its row. It
/// joins again when it hears of that.
void worker_is_damaged(Transaction& tx, WorkerKey worker, std::string bytes);

}  // namespace holdfast::rules
