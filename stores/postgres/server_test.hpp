// The PostgreSQL server of a test run, and databases in it.
#pragma once

#include <holdfast/postgres.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::postgres_store {

/// The server of this run of all tests, which ctest has started (HOLDFAST_TEST_POSTGRES names its state); or
/// one of this process's own, which goes with it. Throws when there is none: tests are never skipped.
class TestServer {
 public:
  static TestServer& shared();
  /// One that nobody else uses: it may be stopped and started again.
  explicit TestServer(const std::string& arguments = "");
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] const std::string& uri() const noexcept { return uri_; }
  /// `how`: fast, or immediate, which is a crash.
  void restart(const std::string& how);
  void halt(const std::string& how);
  void resume();

  /// Another server, which follows this one until it is promoted. It has its files, and so its durability.
  [[nodiscard]] std::unique_ptr<TestServer> standby() const;
  void promote();
  /// Where it keeps its files, and listens.
  [[nodiscard]] std::string folder() const;

 private:
  struct Existing {
    std::string state{};
  };
  explicit TestServer(const Existing& existing);
  struct Following {
    std::string primary{};
  };
  explicit TestServer(const Following& following);

  std::string state_;
  std::string uri_;
  bool own_ = false;
};

/// A schema of its own, empty.
class TestSchema {
 public:
  TestSchema();
  explicit TestSchema(TestServer& server);
  ~TestSchema();
  TestSchema(const TestSchema&) = delete;
  TestSchema& operator=(const TestSchema&) = delete;

  [[nodiscard]] const std::string& uri() const noexcept { return server_.uri(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// One more handle of it.
  std::shared_ptr<Store> open(PostgresOptions options = {}) const;
  /// Runs statements in it.
  void run(const std::string& sql) const;
  /// The number that a query answers.
  [[nodiscard]] std::int64_t number(const std::string& query) const;

 private:
  TestServer& server_;
  std::string name_;
};

}  // namespace holdfast::postgres_store
