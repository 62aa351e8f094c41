// A PostgreSQL server of the benchmark's own, whose commits wait for the disk.
#pragma once

#include <holdfast/store.hpp>

#include <memory>
#include <string>

namespace holdfast::bench {

class PostgresServer {
 public:
  /// Throws when there is none to start.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// A new, empty store.
  std::shared_ptr<Store> store();

 private:
  std::string state_;
  std::string uri_;
  int schemas_ = 0;
};

}  // namespace holdfast::bench
