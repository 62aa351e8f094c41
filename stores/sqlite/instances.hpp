// Rows of instances: read and written, and when they stand among the ready ones.
#pragma once

#include "instance.hpp"
#include "transaction.hpp"

#include <holdfast/address.hpp>
#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::sqlite_store {

/// Of this namespace; null when there is none. The same key gives the same object, all through a transaction.
Instance* load_instance(Transaction& tx, InstanceKey key);
/// Of any: for what is due whoever looks.
Instance* load_instance_anywhere(Transaction& tx, InstanceKey key);
std::optional<InstanceKey> key_of(Transaction& tx, std::string_view name);
/// Writes what a turn or a lock may change in its row.
void save_instance(Transaction& tx, const Instance& instance);

/// Of its last commit.
TurnStamp stamp_of(Transaction& tx, Instance& instance);
/// How often it was handed out since its last commit.
std::uint32_t delivery_of(Transaction& tx, Instance& instance);

/// Takes it out of `ready`, if it stands there. `ready_at` stays.
void take_out(Transaction& tx, const Instance& instance);
/// Puts one that is free and not in `ready` there if it needs a turn: where `ready_at` says, else at the end.
/// Changes `ready_at`, whose row is to be saved by the caller.
void place(Transaction& tx, Instance& instance, bool needs_turn);

void set_aside(Transaction& tx, std::int64_t ns, InstanceKey key, std::string_view what,
               std::string_view problem, std::string_view bytes);

}  // namespace holdfast::sqlite_store
