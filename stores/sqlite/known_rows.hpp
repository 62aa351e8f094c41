// What is known to stand in the tables of rows that are in the space: what is compared with them, and written
// where it differs.
#pragma once

#include "rows.hpp"
#include "stores/rules/brought.hpp"
#include "stores/rules/transaction.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace holdfast::sqlite_store {

struct NumberRows {
  Counters counters{};
  Horizons horizons{};
  rules::StatusChanges statuses{};
  friend bool operator==(const NumberRows&, const NumberRows&) = default;
};
/// What stands in the tables of an instance in the space, as far as it was read.
struct KnownInstance : rules::Belongings {
  bool in_table = false;  ///< else it is new: all that belongs to it is in the space
  InstanceRow row{};
  std::optional<HeldRow> held{};
  std::optional<std::pair<std::int64_t, BootTime>> ready{};  ///< its place in `ready`
  TurnStamp last_segment{};                                  ///< its stamp
  MessageId start_in_row{};                                  ///< unread, and no row of `messages`
  std::optional<MessageId> all_after{};                      ///< messages after this are in the space
  bool timers_known = false;
  bool delayed_known = false;
  bool activities_known = false;
  bool sessions_known = false;
};
/// A row of `ready`.
struct ReadyPlace {
  std::int64_t lane = 0;
  BootTime at{};
  InstanceKey key{};
  friend auto operator<=>(const ReadyPlace&, const ReadyPlace&) = default;
};
/// An activity with a row of its own.
struct KnownActivity {
  bool queued = false;
  Image image{};
};
struct KnownSession {
  std::int64_t number = 0;
  SessionCodes codes{};
  Image image{};
  std::optional<std::string> saved{};  ///< once it was read
};
/// As it stands in `queued` or `running`.
struct ReadActivity {
  rules::Activity activity{};
  KnownActivity known{};
};

}  // namespace holdfast::sqlite_store
