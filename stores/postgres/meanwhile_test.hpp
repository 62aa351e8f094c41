// Other transactions at chosen moments of one: for tests of what happens between two statements.
#pragma once

#include "connection.hpp"
#include "server_test.hpp"

#include <holdfast/fault.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::postgres_store {

/// Does something once, in the middle of a transaction: right before a statement is asked for.
class Meanwhile final : public FaultPlan {
 public:
  void at(std::string point, std::function<void()> what) { after("", std::move(point), std::move(what)); }
  /// At the first passage of `point` after one of `before`.
  void after(std::string before, std::string point, std::function<void()> what) {
    before_ = std::move(before);
    point_ = std::move(point);
    what_ = std::move(what);
    passed_ = before_.empty();
    armed_ = true;
  }
  [[nodiscard]] bool happened() const { return happened_; }

  Fault at(std::string_view point) override {
    if (!armed_) return Fault::none;
    if (point == before_) passed_ = true;
    if (!passed_ || point != point_ || happened_.exchange(true)) return Fault::none;
    what_();
    return Fault::none;
  }

 private:
  std::string before_{};
  std::string point_{};
  std::function<void()> what_{};
  std::atomic<bool> passed_{false};
  std::atomic<bool> armed_{false};
  std::atomic<bool> happened_{false};
};

/// Another client of the database, in a transaction.
class Intruder {
 public:
  explicit Intruder(const TestSchema& schema) : connection_({.uri = schema.uri(), .schema = schema.name()}) {
    connection_.run("BEGIN");
  }
  void run(const std::string& sql) { connection_.run(sql); }
  void leave() { connection_.run("ROLLBACK"); }

 private:
  Connection connection_;
};

/// Whether `count` transactions wait for a lock on that server.
inline bool are_blocked(const TestSchema& schema, int count) {
  return schema.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") >= count;
}

/// Until so many wait for a lock, or `done()`.
template <class Done>
void until_blocked_or(const TestSchema& schema, int count, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && !are_blocked(schema, count)) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "nobody waits";
      return;
    }
    std::this_thread::yield();
  }
}

inline void until_blocked(const TestSchema& schema, int count = 1) {
  until_blocked_or(schema, count, [] { return false; });
}

template <class T>
void until_blocked_or_done(const TestSchema& schema, int count, const std::future<T>& call) {
  until_blocked_or(schema, count,
                   [&] { return call.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
}

/// Begins a call in a thread of its own, and lets it come as far as it can while its caller holds locks.
template <class Call>
auto until_done_or_blocked(const TestSchema& schema, Call call) {
  auto result = std::async(std::launch::async, std::move(call));
  until_blocked_or_done(schema, 1, result);
  return result;
}

}  // namespace holdfast::postgres_store
