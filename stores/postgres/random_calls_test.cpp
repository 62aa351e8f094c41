// Several handles of one database, few ids, and calls at random: nothing crashes, nobody is refused without a
// reason, no request takes effect twice, and what is left belongs together.
#include "server_test.hpp"

#include <holdfast/random.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::postgres_store::random_calls_test {
namespace {

using namespace std::chrono_literals;

constexpr int kCalls = 250;
constexpr int kHandles = 3;
constexpr int kThreads = 2;  // of each handle: their calls share transactions

/// What all of them have seen.
class Witness {
 public:
  /// Only these say that a call can't be done now, and what is in its way.
  void refused(const char* call, const StoreError& error) {
    using Kind = StoreError::Kind;
    if (error.kind != Kind::unavailable && error.kind != Kind::invalid && error.kind != Kind::damaged) return;
    ADD_FAILURE() << call << ": " << to_string(error.kind) << ", " << error.message;
  }
  void started(RequestId request, const store::StartAnswer& answer) {
    const std::lock_guard lock(mutex_);
    const auto [first, is_first] = keys_.try_emplace(request, answer.key);
    EXPECT_EQ(first->second, answer.key) << "one request, two instances: " << to_string(request);
    if (answer.is_new) {
      EXPECT_TRUE(began_.insert(request).second) << "one request began twice: " << to_string(request);
    }
  }
  /// One turn follows another.
  void committed(InstanceKey key, TurnStamp expected) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(committed_.emplace(key, expected).second) << "two turns came after the same one";
  }
  /// An activity has one outcome, whoever tells it.
  void ended(const store::ActivityId& id) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(ended_.insert(id).second) << "an activity ended twice";
  }
  void deleted(InstanceKey key) {
    const std::lock_guard lock(mutex_);
    deleted_.insert(key);
  }
  [[nodiscard]] const std::set<InstanceKey>& all_deleted() const { return deleted_; }

 private:
  std::mutex mutex_{};
  std::map<RequestId, InstanceKey> keys_{};
  std::set<RequestId> began_{};
  std::set<InstanceKey> deleted_{};
  std::set<store::ActivityId> ended_{};
  std::set<std::pair<InstanceKey, TurnStamp>> committed_{};
};

/// One process: it does everything that workers and clients do, badly.
class Actor {
 public:
  /// Events of an execution differ, whoever runs its turns: each actor has numbers of its own.
  Actor(std::shared_ptr<Store> store, Witness& witness, unsigned seed, std::uint64_t first_event)
      : store_(std::move(store)), witness_(witness), random_(seed), event_(first_event) {
    join();
  }

  void act() {
    switch (below(12)) {
      case 0:
      case 1:
        return start();
      case 2:
        return send();
      case 3:
      case 4:
        return take_turns();
      case 5:
      case 6:
        return commit();
      case 7:
        return take_activities();
      case 8:
        return finish();
      case 9:
        return use_session();
      case 10:
        return keep_order();
      default:
        return remove();
    }
  }

 private:
  int below(int bound) { return std::uniform_int_distribution(0, bound - 1)(random_); }
  std::string instance() { return "i" + std::to_string(below(4)); }
  std::string session() { return "s" + std::to_string(below(3)); }
  template <class TokenType>
  static TokenType token() {
    return random_token<TokenType>(system_random());
  }
  template <class T>
  void note(const char* call, const StoreResult<T>& answer) {
    if (answer) return;
    witness_.refused(call, answer.error());
    using Kind = StoreError::Kind;
    const bool unknown = answer.error().kind == Kind::superseded;
    if (unknown) join();
  }

  // Nodes are shared: whoever joins supersedes another one.
  void join() {
    const auto key =
        store_->join({.node = "n" + std::to_string(below(2)), .abilities = abilities_, .code = code_});
    note("join", key);
    if (key) worker_ = *key;
  }

  // Few requests, which are repeated by all of them, over ends and deletions. Each is about one id.
  void start() {
    const auto number = static_cast<std::uint64_t>(below(6));
    const std::uint64_t id = number % 4;
    const std::array requests{store::StartRequest{
        .instance = "i" + std::to_string(id),
        .code = {"order", "1"},
        .request = {1 + id, below(2) == 0 ? number : 100 + static_cast<std::uint64_t>(below(1000))},
        .fingerprint = token<Fingerprint>(),
        .reuse = Reuse::after_end}};
    const auto answer = store_->start(requests).front();
    note("start", answer);
    if (answer) witness_.started(requests[0].request, *answer);
  }

  void remove() {
    const auto found = store_->find(instance());
    if (!found) return;
    const auto answer = store_->delete_instance(found->instance, below(2) == 0, found->key);
    note("delete", answer);
    if (answer) witness_.deleted(found->key);
  }

  // To ids that come and go, or before there is one.
  void send() {
    if (below(2) == 0) {
      const std::array messages{store::ClientMessage{
          .instance = instance(), .message = {.kind = store::MessageKind::control, .body = "hello"}}};
      return note("send", store_->send(messages).front());
    }
    const auto number = static_cast<std::uint64_t>(below(50));
    const std::array messages{store::ClientMessage{
        .instance = "e" + std::to_string(number),
        .message = {.kind = store::MessageKind::delivery, .address = {Address::Kind::event, "e"}},
        .request = {10, number + 1},
        .keep_early = 1h}};
    note("send", store_->send(messages).front());
  }

  void take_turns() {
    std::vector<store::HeldInstance> held;
    for (const store::LockedTurn& turn : turns_) held.push_back({turn.key, turn.token, seen_by(turn)});
    std::ranges::sort(held, {}, &store::HeldInstance::key);
    const auto fetched = store_->fetch_turns({.worker = worker_,
                                              .code = &code_,
                                              .token = token<LockToken>(),
                                              .lease = lease(),
                                              .max = 3,
                                              .held = held});
    note("fetch_turns", fetched);
    if (!fetched) return;
    for (store::LockedTurn turn : fetched->turns) {
      const auto known = std::ranges::find(turns_, turn.key, &store::LockedTurn::key);
      if (known != turns_.end()) {
        // What it was given before, and has not used yet.
        if (turn.held)
          turn.messages.insert(turn.messages.begin(), known->messages.begin(), known->messages.end());
        turns_.erase(known);
      }
      turns_.push_back(std::move(turn));
    }
  }
  /// Some are over before anybody looks.
  Duration lease() { return below(2) == 0 ? 5ms : 200ms; }
  static MessageId seen_by(const store::LockedTurn& turn) {
    return turn.messages.empty() ? MessageId{} : turn.messages.back().id;
  }

  // A turn that keeps the lock is followed by another one, now or much later.
  void commit() {
    if (turns_.empty()) return;
    store::LockedTurn turn = turns_.back();
    turns_.pop_back();
    store::TurnCommit commit{.key = turn.key,
                             .token = turn.token,
                             .expected = turn.stamp,
                             .stamp = token<TurnStamp>(),
                             .execution = turn.execution,
                             .seen = seen_by(turn),
                             .activity_token = token<LockToken>(),
                             .keep_lock = below(3) != 0};
    for (const store::Message& message : turn.messages) commit.consumed.push_back(message.id);
    for (const store::ActivityResult& result : std::exchange(handed_off_[turn.key], {})) {
      if (below(4) == 0) {
        work_.push_back(result);
      } else {
        commit.completed.push_back({.event = result.id.event, .token = result.token});
      }
    }
    if (below(5) == 0) {
      commit.end = store::InstanceEnd{store::InstanceStatus::completed, "done"};
    } else {
      schedule(commit);
    }
    const auto committed =
        store_
            ->commit_turns({.worker = worker_, .abilities = &abilities_, .activity_lease = lease()},
                           std::array{commit})
            .front();
    note("commit", committed);
    if (!committed) return;
    witness_.committed(commit.key, commit.expected);
    for (const store::LocalCompletion& completion : commit.completed) {
      witness_.ended({commit.key, commit.execution, completion.event});
    }
    for (const auto& activity : committed->handed_off) {
      if (activity) handed_off_[turn.key].push_back({activity->id, commit.activity_token});
    }
    if (!commit.keep_lock || !std::holds_alternative<std::monostate>(commit.end)) return;
    turn.stamp = commit.stamp;
    turn.messages.clear();
    turns_.insert(turns_.begin() + below(static_cast<int>(turns_.size()) + 1), std::move(turn));
  }
  void schedule(store::TurnCommit& commit) {
    for (int i = below(3); i > 0; --i) {
      commit.activities.push_back({.event = {++event_}, .name = "say", .hand_off = below(4) != 0});
    }
    if (below(3) != 0) return;
    commit.activities.push_back(
        {.event = {++event_}, .name = "say", .session = store::SessionUse{.id = session()}});
    commit.watch_sessions = {session()};
  }

  void take_activities() {
    const auto given = token<LockToken>();
    const auto fetched = store_->fetch_activities(
        {.worker = worker_, .abilities = &abilities_, .token = given, .lease = 200ms, .max = 3});
    note("fetch_activities", fetched);
    if (!fetched) return;
    for (const store::LockedActivity& activity : fetched->activities) work_.push_back({activity.id, given});
  }

  void finish() {
    if (work_.empty()) return;
    const store::ActivityResult result = work_.back();
    work_.pop_back();
    const auto finished = store_->finish_activities(std::array{result}).front();
    note("finish", finished);
    if (finished) witness_.ended(result.id);
  }

  void use_session() {
    const std::string id = session();
    if (below(3) == 0) return note("close", store_->close_session(id, store::SessionReason::operated));
    note("acquire", store_->acquire_session(worker_, abilities_, id, {.lease = 300ms}));
  }

  void keep_order() {
    if (below(2) == 0) return note("refresh", store_->refresh(worker_, false));
    note("sweep", store_->sweep({.worker = worker_,
                                 .worker_stale_after = 1s,
                                 .session_state_retention = 200ms,
                                 .session_record_retention = 200ms}));
  }

  std::shared_ptr<Store> store_;
  Witness& witness_;
  std::mt19937 random_;
  store::Code code_{.orchestrations = {{"order", "1"}}};
  store::Abilities abilities_{.handlers = {"say"}, .queues = {.any = true}};
  WorkerKey worker_{};
  std::vector<store::LockedTurn> turns_{};
  std::map<InstanceKey, std::vector<store::ActivityResult>> handed_off_{};
  std::vector<store::ActivityResult> work_{};
  std::uint64_t event_;
};

TEST(PostgresRandomCalls, ThroughSeveralHandlesLeaveWhatBelongsTogether) {
  const TestSchema schema;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Witness witness;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kHandles; ++i) {
      const auto store = schema.open();
      for (unsigned k = 0; k < kThreads; ++k) {
        const unsigned number = kThreads * i + k + 1;
        threads.emplace_back([&, store, number] {
          Actor actor(store, witness, seed + number, std::uint64_t{1'000'000} * number);
          for (int call = 0; call < kCalls; ++call) actor.act();
        });
      }
    }
  }
  for (const InstanceKey key : witness.all_deleted()) {
    EXPECT_EQ(schema.number("SELECT count(*) FROM instances WHERE key = " + to_string(key)), 0)
        << "a deleted instance is there";
  }
  const std::string no_instance = " AS t WHERE NOT EXISTS (SELECT 1 FROM instances AS i WHERE i.key = t.key)";
  for (const char* table : {"activities", "messages", "timers", "delayed", "watches", "history"}) {
    EXPECT_EQ(schema.number("SELECT count(*) FROM " + std::string(table) + no_instance), 0) << table;
  }
  EXPECT_EQ(schema.number("SELECT count(*) FROM instances AS i WHERE NOT i.locked AND i.due_at IS NULL"
                          " AND i.status = 0 AND EXISTS (SELECT 1 FROM messages AS m WHERE m.key = i.key"
                          " AND m.waits = 0)"),
            0)
      << "an instance has messages, and nobody will run it";
  EXPECT_EQ(schema.number("SELECT count(*) FROM (SELECT instance FROM early GROUP BY instance"
                          " HAVING count(*) > 1) AS twice"),
            0)
      << "one request was kept twice";
  EXPECT_EQ(schema.number("SELECT count(*) FROM (SELECT node FROM workers WHERE NOT superseded GROUP BY node"
                          " HAVING count(*) > 1) AS alive"),
            0)
      << "an older incarnation is alive again";
}

}  // namespace
}  // namespace holdfast::postgres_store::random_calls_test
