// The PostgreSQL store: for programs that run on several machines. Link holdfast::postgres.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

class Clock;
class FaultPlan;
class Logger;
class Store;

struct PostgresOptions {
  std::string ns = "default";  ///< 1 to 255 bytes of UTF-8 without control characters
  /// The schema that holds the tables. It is created if it doesn't exist, and upgraded if it is older than
  /// this library, if the role has the rights; see docs/postgres.md for a role that has not.
  std::string schema = "holdfast";
  /// False: a schema or namespace that doesn't exist is an error (StoreOpenError, missing).
  bool create = true;
  /// True: nothing is created or upgraded, and calls that would change something are refused (ClientError,
  /// invalid). A role that may only SELECT is enough.
  bool read_only = false;
  /// Connections for calls that only read; one more writes, and one listens. A call waits for a free one.
  std::size_t readers = 4;
  /// False: `synchronous_commit=off`. A crash of the server may lose the last commits, all from some moment
  /// on; a crash of this process alone loses nothing.
  bool wait_for_disk = true;
  /// How long a statement may take, how long a call waits for a free connection, and (with a second more) how
  /// long the server may be silent, before a call answers `unavailable`.
  std::chrono::milliseconds timeout{30'000};
  /// For tests: replaces the server's clock.
  const Clock* clock = nullptr;
  FaultPlan* faults = nullptr;
  Logger* logger = nullptr;
};

/// Connects to a server, version 15 or later. `uri` is all that libpq understands ("postgresql://host/db",
/// "host=... dbname=..."), TLS and passwords included; it is never logged. Throws StoreOpenError when the
/// database can't be used, having changed nothing.
std::shared_ptr<Store> postgres(std::string_view uri, PostgresOptions options = {});

}  // namespace holdfast
