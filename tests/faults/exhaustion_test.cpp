// Connections run out, in this process or on the server: calls are unavailable and say why, and work when
// there are some again.
#include "workload_test.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/fault.hpp>

#include <atomic>
#include <cstdlib>
#include <future>

namespace holdfast::faults {
namespace {

/// All connections that the server has for clients.
class Crowd {
 public:
  explicit Crowd(const std::string& uri) {
    // The server takes a moment to notice that somebody has left.
    EXPECT_TRUE(eventually([&] {
      return number_of(uri, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") ==
             1;
    }));
    try {
      for (;;) add(uri);
    } catch (const SqlError&) {
      // There is no more.
    }
  }
  void leave() { connections_.clear(); }

 private:
  void add(const std::string& uri) {
    connections_.push_back(
        std::make_unique<Connection>(postgres_store::ConnectionSetup{.uri = uri, .schema = "holdfast"}));
  }
  std::vector<std::unique_ptr<Connection>> connections_{};
};

TEST(Exhaustion, AServerWithoutAFreeConnectionIsUnavailableUntilItHasSome) {
  ::setenv("HOLDFAST_POSTGRES_SETTINGS", "-c max_connections=12 -c superuser_reserved_connections=0", 1);
  const TestServer server;
  ::unsetenv("HOLDFAST_POSTGRES_SETTINGS");
  const auto log = std::make_shared<Lines>();
  const auto store = postgres(server.uri(), {.logger = log.get()});
  Crowd crowd(server.uri());
  // One that opens, one that starts, and one that reads.
  try {
    postgres(server.uri());
    ADD_FAILURE() << "it could be opened";
  } catch (const StoreOpenError& e) {
    EXPECT_NE(std::string(e.what()).find("too many clients"), std::string::npos) << e.what();
  }
  const auto refused = [](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "there was a connection left";
    } catch (const ClientError& e) {
      EXPECT_EQ(e.kind(), ClientError::Kind::unavailable);
      EXPECT_NE(std::string(e.what()).find("too many clients"), std::string::npos) << e.what();
    }
  };
  Client client(store, {.retry_for = 10ms});
  refused([&] { client.start("hello", {.id = "h"}, "Ada"); });
  refused([&] { static_cast<void>(client.find("h")); });
  crowd.leave();
  ASSERT_TRUE(eventually([&] {
    try {
      client.start("hello", {.id = "h"}, "Ada");
      return true;
    } catch (const ClientError&) {
      return false;  // the server notices a moment later that they have left
    }
  }));
  const auto worker = start_worker(store, e2e::quick(log));
  EXPECT_EQ(client.run("h").wait<std::string>(kSoon), "Hello, Ada!");
}

/// Keeps the first who reads busy, until it is told to let go.
class KeepsOneReader final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    if (point == "postgres.begin_read" && !met_.exchange(true)) {
      kept_ = true;
      EXPECT_TRUE(eventually([this] { return go_on_.load(); }));
    }
    return Fault::none;
  }
  [[nodiscard]] bool keeps() const { return kept_; }
  void let_go() { go_on_ = true; }

 private:
  std::atomic<bool> met_{false};
  std::atomic<bool> kept_{false};
  std::atomic<bool> go_on_{false};
};

TEST(Exhaustion, WhoReadsWaitsForAFreeConnectionAndIsToldWhenThereIsNone) {
  const postgres_store::TestSchema schema;
  KeepsOneReader plan;
  const auto store = schema.open({.readers = 1, .timeout = 200ms, .faults = &plan});
  const auto patient = schema.open({.readers = 1});
  Client(patient).start("hello", {.id = "h"}, "Ada");
  auto first = std::async(std::launch::async, [&] { return store->find("h"); });
  ASSERT_TRUE(eventually([&] { return plan.keeps(); }));
  const auto second = store->find("h");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, StoreError::Kind::unavailable);
  EXPECT_NE(second.error().message.find("PostgresOptions::readers"), std::string::npos)
      << second.error().message;
  plan.let_go();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(store->find("h"));
  // Many on one connection: one after the other.
  std::vector<std::future<StoreResult<store::InstanceView>>> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(std::async(std::launch::async, [&] { return patient->find("h"); }));
  }
  for (auto& one : many) EXPECT_TRUE(one.get());
}

}  // namespace
}  // namespace holdfast::faults
