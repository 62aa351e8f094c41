// What tests of this store call it with.
#pragma once

#include "meanwhile_test.hpp"
#include "server_test.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/random.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

inline store::StartRequest start_of(const std::string& id, const std::string& code = "order") {
  return {
      .instance = id, .code = {code, "1"}, .body = "in", .request = random_token<RequestId>(system_random())};
}

inline StoreResult<store::StartAnswer> start(Store& store, const store::StartRequest& request) {
  const std::array requests{request};
  return store.start(requests).front();
}

inline store::ClientMessage tell(const std::string& id) {
  return {.instance = id,
          .message = {.kind = store::MessageKind::control, .body = "hello"},
          .request = random_token<RequestId>(system_random())};
}

inline StoreResult<InstanceKey> send(Store& store, const store::ClientMessage& message) {
  const std::array messages{message};
  return store.send(messages).front();
}

/// The answer, once nobody else has locked what it needs.
template <class Call>
auto patiently(Call call) {
  for (;;) {
    auto answer = call();
    if (answer || answer.error().kind != StoreError::Kind::busy) return answer;
  }
}

/// How many messages each instance has, its start included.
inline std::map<std::string, std::size_t> message_counts(Store& store) {
  std::map<std::string, std::size_t> counts;
  for (const store::InstanceRow& row : store.state().value().instances)
    counts[row.view.instance] = row.messages.size();
  return counts;
}
inline std::size_t message_count(Store& store, const std::string& id) { return message_counts(store).at(id); }

/// A worker that runs one orchestration and one activity, as a runtime would.
class TestWorker {
 public:
  TestWorker(std::shared_ptr<Store> its_store, const std::string& node, std::uint32_t session_limit = 10,
             const std::string& orchestration_name = "order", const std::string& activity_name = "say")
      : store(std::move(its_store)), orchestration(orchestration_name), activity(activity_name) {
    code.orchestrations = {{orchestration, "1"}};
    abilities.handlers = {activity};
    abilities.queues.any = true;
    abilities.session_limit = session_limit;
    abilities.session_lease = std::chrono::hours(1);
    key = store->join({.node = node, .abilities = abilities, .code = code}).value();
  }

  StoreResult<store::FetchedTurns> fetch_turns(std::size_t max = 10) {
    token = random_token<LockToken>(system_random());
    return store->fetch_turns(
        {.worker = key, .code = &code, .token = token, .lease = std::chrono::hours(1), .max = max});
  }
  StoreResult<store::FetchedActivities> fetch(std::size_t max = 10) {
    token = random_token<LockToken>(system_random());
    return store->fetch_activities(
        {.worker = key, .abilities = &abilities, .token = token, .lease = std::chrono::hours(1), .max = max});
  }
  /// The one that is ready; again while somebody has its row locked.
  store::LockedTurn next_turn() {
    for (;;) {
      const auto fetched = fetch_turns(1);
      if (!fetched) throw std::runtime_error(fetched.error().message);
      if (!fetched->turns.empty()) return fetched->turns.front();
    }
  }
  /// The end of a turn, to be filled in.
  static store::TurnCommit end_of(const store::LockedTurn& turn) {
    return {.key = turn.key,
            .token = turn.token,
            .expected = turn.stamp,
            .stamp = random_token<TurnStamp>(system_random()),
            .execution = turn.execution};
  }
  StoreResult<store::Committed> commit(const store::TurnCommit& turn) {
    const std::array commits{turn};
    return store->commit_turns({.worker = key, .abilities = &abilities}, commits).front();
  }
  StoreResult<void> finish(const store::ActivityId& id, LockToken its_token) {
    const std::array results{store::ActivityResult{.id = id, .token = its_token}};
    return store->finish_activities(results).front();
  }
  /// Starts an instance whose first turn schedules activities, each in the session named, if any. Its turn.
  store::LockedTurn schedule(const std::string& instance, const std::vector<std::string>& sessions,
                             bool keep_lock = false) {
    EXPECT_TRUE(start(*store, start_of(instance, orchestration)));
    store::LockedTurn turn = next_turn();
    store::TurnCommit commit_it = end_of(turn);
    commit_it.keep_lock = keep_lock;
    for (const store::Message& message : turn.messages) commit_it.consumed.push_back(message.id);
    for (std::uint64_t i = 0; i < sessions.size(); ++i) {
      store::NewActivity scheduled{.event = {i + 1}, .name = activity};
      if (!sessions[i].empty()) scheduled.session = store::SessionUse{.id = sessions[i]};
      commit_it.activities.push_back(std::move(scheduled));
    }
    EXPECT_TRUE(commit(commit_it));
    turn.stamp = commit_it.stamp;
    return turn;
  }

  std::shared_ptr<Store> store;
  std::string orchestration;
  std::string activity;
  store::Code code{};
  store::Abilities abilities{};
  WorkerKey key{};
  LockToken token{};  ///< of the last fetch
};

/// Stops whoever comes to a point, once it is told to, until it may go on.
class Pause final : public FaultPlan {
 public:
  explicit Pause(std::string_view point) : point_(point) {}

  Fault at(std::string_view point) override {
    if (point == point_ && --left_ == 0) {
      reached_ = true;
      reached_.notify_all();
      released_.wait(false);
    }
    return Fault::none;
  }
  /// At the nth passage from now on.
  void arm(int nth = 1) {
    reached_ = released_ = false;
    left_ = nth;
  }
  [[nodiscard]] bool is_reached() const { return reached_; }
  void until_reached() { reached_.wait(false); }
  void release() {
    released_ = true;
    released_.notify_all();
  }

 private:
  const std::string point_;
  std::atomic<int> left_{0};
  std::atomic<bool> reached_{false};
  std::atomic<bool> released_{false};
};

}  // namespace holdfast::postgres_store
