// Transaction: what the logic of the calls works with, inside one transaction of one connection.
#pragma once

#include "contract/wake_bus.hpp"
#include "instance.hpp"
#include "interned.hpp"
#include "lease_time.hpp"
#include "session.hpp"
#include "statements.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::sqlite_store {

/// The row of `counters`.
struct Counters {
  std::uint64_t instances = 0;
  std::uint64_t messages = 0;
  std::uint64_t workers = 0;
  std::uint64_t generations = 0;
  std::uint64_t session_log = 0;
  std::uint64_t set_aside = 0;
  LeaseTime turn_horizon = kNoTime;
  LeaseTime activity_horizon = kNoTime;
  LeaseTime session_horizon = kNoTime;
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// What this process knows of the file because it read or wrote it, and nobody else has written since: the
/// writer drops it when the file's data version moves, and after every rollback.
struct Memo {
  struct Worker {
    bool superseded = false;
    bool draining = false;
    std::string node{};
  };
  std::optional<Counters> counters{};
  std::unordered_map<std::uint64_t, Worker> workers{};  ///< some of those that are registered
  std::optional<bool> nothing_queued{};
  std::optional<std::int64_t> top_rank{};  ///< nothing queued has a lower one; at most 0
  std::optional<bool> nothing_early{};
  std::optional<bool> nothing_requested{};
  InstanceCache instances{};
  SessionCache sessions{};
  std::optional<LeaseTime> next_sweep{};  ///< when this handle's last sweep said that the next is due
};

/// What a worker wants to do. One that drains may go on with what it has when a newer incarnation of its node
/// has joined: that is what it drains for.
enum class WorkerCall : std::uint8_t { takes_work, keeps_what_it_has };

/// A connection and what belongs to it. One thread at a time.
struct Link {
  Link(Connection opened, std::int64_t ns_number, FaultPlan* fault_plan)
      : connection(std::move(opened)),
        ns(ns_number),
        faults(fault_plan),
        interned(connection, statements, faults, ns) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  Connection connection;
  std::int64_t ns;
  FaultPlan* faults;
  Statements statements{};
  Interned interned;
  Memo memo{};

  void forget() {
    memo = Memo{};
    interned.forget();
  }
};

/// Times stand still in it. What it changes becomes true with its commit, `news` is published after that.
class Transaction {
 public:
  enum class Mode : std::uint8_t { reads, writes };

  Transaction(Link& link, Mode mode, LeaseTime lease_now, CalendarTime calendar)
      : sql(link.statements),
        memo(link.memo),
        writes(mode == Mode::writes),
        ns(link.ns),
        now(lease_now),
        calendar_now(calendar),
        link_(link) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Statements& sql;
  Memo& memo;
  const bool writes;  ///< else whatever is found has to stay as it is
  const std::int64_t ns;
  const LeaseTime now;
  const CalendarTime calendar_now;
  store::News news{};

  template <class... Values>
  void run(Query& query, const Values&... values) {
    query.use(link_.connection, link_.faults).run(values...);
  }
  /// The same; how many rows it changed.
  template <class... Values>
  std::int64_t change(Query& query, const Values&... values) {
    run(query, values...);
    return link_.connection.changes();
  }
  template <class... Values>
  [[nodiscard]] Cursor rows(Query& query, const Values&... values) {
    return Cursor(query.use(link_.connection, link_.faults), values...);
  }

  const Route& route(std::int64_t number) { return link_.interned.route(number); }
  std::int64_t route_number(const store::CodeVersion& code, std::uint64_t build) {
    return link_.interned.route_number(code, build);
  }
  const Kind& kind(std::int64_t number) { return link_.interned.kind(number); }
  std::int64_t kind_number(std::string_view queue, std::string_view name, std::string_view requirements) {
    return link_.interned.kind_number(queue, name, requirements);
  }

  /// Read at the first use, written by finish() if it was changed.
  Counters& counters();
  /// To be called before the commit.
  void finish();

  /// An error unless the worker is registered and the last incarnation of its node.
  [[nodiscard]] std::optional<StoreError> refuse_worker(WorkerKey worker, WorkerCall call);
  /// Whether it has said so, by refresh().
  [[nodiscard]] bool is_draining(WorkerKey worker);
  /// Empty when it is not registered.
  [[nodiscard]] std::string node_of(WorkerKey worker);

  MessageId next_message() { return MessageId{++counters().messages}; }
  void wake(store::WorkMask work) { news.work |= work; }
  /// A sweep has something to do at that time.
  void sweep_by(LeaseTime time) {
    if (time == kNoTime || (memo.next_sweep && time >= *memo.next_sweep)) return;
    if (memo.next_sweep) memo.next_sweep = time;
    wake(store::kSweep);
  }

 private:
  const Memo::Worker* find_worker(WorkerKey worker);

  Link& link_;
  Counters counters_as_read_{};
  bool counters_read_ = false;
};

template <class Enum>
  requires std::is_enum_v<Enum>
constexpr int to_row(Enum value) noexcept {
  return static_cast<int>(value);
}

inline StoreError store_error(StoreError::Kind kind, std::string message) {
  return StoreError{.kind = kind, .message = std::move(message)};
}
inline Unexpected<StoreError> refuse(StoreError::Kind kind, std::string message) {
  return Unexpected(store_error(kind, std::move(message)));
}

}  // namespace holdfast::sqlite_store
