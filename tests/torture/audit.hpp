// Audit: what a PostgreSQL server says of a run, whatever the library says.
#pragma once

#include "check.hpp"
#include "stores/postgres/connection.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace holdfast::torture {

/// A table and how much room it takes, in bytes.
struct Table {
  std::string name{};
  std::int64_t rows = 0;
  std::int64_t heap = 0;
  std::int64_t indexes = 0;
};

/// A connection of its own to the server. After a restart of the server: reconnect().
class Audit {
 public:
  explicit Audit(std::string uri);
  void reconnect();

  /// From now on the server notes each end of an instance. The schema is there.
  void begin();
  /// Those that should have ended and have not, ended more than once, or were never started.
  Problems ends(const std::set<std::string>& expected);
  /// The tables of the store, the largest first.
  std::vector<Table> tables();
  /// Deadlocks that the server has resolved since the last time that this was asked.
  std::int64_t deadlocks();
  void vacuum();
  /// Indexes that don't agree with their tables.
  Problems integrity();

 private:
  const std::string uri_;
  std::int64_t known_deadlocks_ = 0;
  std::unique_ptr<postgres_store::Connection> connection_;
};

}  // namespace holdfast::torture
