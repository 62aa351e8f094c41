// A PostgreSQL server of the benchmark's own, whose commits wait for the disk.
#pragma once

#include <holdfast/store.hpp>

#include <cstdint>
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

  [[nodiscard]] const std::string& uri() const noexcept { return uri_; }
  /// A name that nobody has.
  std::string new_schema() { return "bench_" + std::to_string(++schemas_); }
  [[nodiscard]] std::shared_ptr<Store> open(const std::string& schema) const;
  /// A new, empty store.
  std::shared_ptr<Store> store() { return open(new_schema()); }
  /// How often autovacuum has come to a table.
  [[nodiscard]] std::uint64_t autovacuums() const;

 private:
  std::string state_;
  std::string uri_;
  int schemas_ = 0;
};

}  // namespace holdfast::bench
