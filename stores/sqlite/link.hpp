// Link: a connection and what belongs to it.
#pragma once

#include "interned.hpp"
#include "statements.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/store/workers.hpp>

#include <cstdint>
#include <map>
#include <utility>

namespace holdfast::sqlite_store {

/// One thread at a time.
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
  std::map<WorkerKey, store::NewWorker> workers{};  ///< what they joined with never changes

  template <class... Values>
  void run(Query& query, const Values&... values) {
    query.use(connection, faults).run(values...);
  }
  /// The same; how many rows it changed.
  template <class... Values>
  std::uint64_t change(Query& query, const Values&... values) {
    run(query, values...);
    return static_cast<std::uint64_t>(connection.changes());
  }
  template <class... Values>
  [[nodiscard]] Cursor rows(Query& query, const Values&... values) {
    return Cursor(query.use(connection, faults), values...);
  }
};

}  // namespace holdfast::sqlite_store
