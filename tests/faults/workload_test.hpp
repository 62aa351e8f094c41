// Runtimes and clients at work while something fails: what was acknowledged is remembered, and looked for at
// the end.
#pragma once

#include "stores/postgres/connection.hpp"
#include "stores/postgres/server_test.hpp"
#include "testkit/support/eventually.hpp"
#include "testkit/support/lines.hpp"
#include "tests/e2e/program_test.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::faults {

using support::eventually;
using support::Lines;
using namespace std::chrono_literals;
using e2e::kSoon;
using postgres_store::Connection;
using postgres_store::Parameters;
using postgres_store::SqlError;
using postgres_store::Statement;
using postgres_store::TestServer;

/// Runs one statement on a connection of its own.
inline void run_sql(const std::string& uri, const std::string& sql) {
  Connection({.uri = uri, .schema = "holdfast"}).run(sql);
}
/// The first column of its first row.
inline std::int64_t number_of(const std::string& uri, const char* sql) {
  Connection connection({.uri = uri, .schema = "holdfast"});
  connection.queue(Statement{"test.number", sql}, Parameters());
  return connection.exchange().front().integer(0, 0);
}

/// One line after the other in a session.
inline Task<int> talk(Context& ctx, std::string session, int lines) {
  int said = 0;
  for (int i = 0; i < lines; ++i) said += co_await ctx.activity<int>("say", {.session = session}, i);
  co_return said;
}

inline std::unique_ptr<Runtime> start_worker(const std::shared_ptr<Store>& store, RuntimeOptions options) {
  auto runtime = std::make_unique<Runtime>(store, std::move(options));
  e2e::add_program(*runtime);
  runtime->activity("say", [](ActivityContext&, int) { return 1; });
  runtime->orchestration("talk", talk);
  runtime->start();
  return runtime;
}

/// Clients that start instances, each in a thread of its own, until they are stopped. A third of the
/// instances are told to end by an event.
class Clients {
 public:
  Clients(const std::string& uri, std::size_t count) : counts_(count) {
    for (std::size_t client = 0; client < count; ++client) {
      threads_.emplace_back([this, client, c = Client(postgres(uri), {.retry_for = kSoon})]() mutable {
        while (!stop_) one_more(c, client);
      });
    }
  }
  ~Clients() { stop(); }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  /// Until each of them got on with so many more.
  [[nodiscard]] bool get_on(int more) const {
    std::vector<int> goals;
    for (const auto& count : counts_) goals.push_back(count + more);
    return eventually([&] {
      for (std::size_t i = 0; i < goals.size(); ++i) {
        if (counts_[i] < goals[i]) return false;
      }
      return true;
    });
  }

  void stop() {
    stop_ = true;
    threads_.clear();
  }

  /// Ids whose start, and whose event if they wait for one, was acknowledged.
  [[nodiscard]] std::vector<std::string> acknowledged() const {
    const std::lock_guard lock(mutex_);
    return acknowledged_;
  }

 private:
  void one_more(Client& client, std::size_t number) {
    const int i = counts_[number];
    const std::string id = std::to_string(number) + "-" + std::to_string(i);
    try {
      switch (i % 3) {
        case 0:
          client.start("sum_of_squares", {.id = id}, 3);
          break;
        case 1:
          client.start("told", {.id = id});
          client.raise(id, "end", 14);
          break;
        default:
          client.start("talk", {.id = id}, "session-" + std::to_string(i % 4), 14);
          break;
      }
      const std::lock_guard lock(mutex_);
      acknowledged_.push_back(id);
    } catch (const ClientError& e) {
      // A server that took over may not know it: then it was never acknowledged.
      if (e.kind() != ClientError::Kind::not_found) ADD_FAILURE() << id << ": " << e.what();
    }
    ++counts_[number];
  }

  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_{};
  std::vector<std::string> acknowledged_{};
  std::vector<std::atomic<int>> counts_;
  std::vector<std::jthread> threads_{};
};

/// All of them have been kept, and end as they should.
inline void expect_kept(const std::string& uri, const std::vector<std::string>& ids) {
  Client client(postgres(uri));
  for (const std::string& id : ids) {
    const auto run = client.find(id);
    ASSERT_TRUE(run) << id << " was acknowledged, and is lost";
    const auto result = run->result<int>(kSoon);
    ASSERT_TRUE(result) << id << ": " << result.error().message;
    EXPECT_EQ(*result, 14) << id;
  }
}

}  // namespace holdfast::faults
