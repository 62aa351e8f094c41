// Many threads at one store: nothing is done twice, nothing is lost.
#include "testkit/conformance/story.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

HOLDFAST_CONFORMANCE_FILE(threads);

namespace holdfast::testing::conformance {
namespace {

constexpr int kThreads = 4;

/// Runs `body(i)` in each of several threads, all at once.
void at_once(const std::function<void(int)>& body) {
  const auto run = [&body](int i) {
    try {
      body(i);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(run, i);
}

/// Takes what is ready: an instance that starts schedules two activities, one of which it would run at once;
/// outcomes are counted.
void work(const Worker& worker, std::atomic<int>& outcomes) {
  Turns fetched = worker.fetch_turns(3);
  for (Turn& turn : fetched.turns) {
    const LockToken token = turn.commit.activity_token;
    if (turn->messages.at(0).kind == MessageKind::start) {
      turn.schedules({.name = "charge", .hand_off = true}).schedules("ship");
    } else {
      outcomes += static_cast<int>(turn->messages.size());
    }
    const Committed committed = worker.commit(turn);
    for (const auto& locked : committed.handed_off) {
      if (!locked) continue;
      EXPECT_EQ(answer(worker.finish({*locked, token})), "ok");
    }
  }
  const Works works = worker.fetch_activities(3);
  for (const Work& taken : works.works) EXPECT_EQ(answer(worker.finish(taken)), "ok");
}

STORE_TEST(Threads, ManyWorkersShareTheWork) {
  constexpr int kInstances = 40;
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.push_back(join("worker-" + std::to_string(i)));
  std::atomic<int> outcomes = 0;
  at_once([&](int i) {
    for (int n = i; n < kInstances; n += kThreads) start("order-" + std::to_string(n));
    for (int rounds = 0; outcomes < 2 * kInstances && rounds < 10'000; ++rounds) {
      work(workers[static_cast<std::size_t>(i)], outcomes);
    }
  });
  EXPECT_EQ(outcomes, 2 * kInstances);
  const StoreState after = state();
  EXPECT_TRUE(after.activities.empty());
  for (const InstanceRow& row : after.instances) EXPECT_TRUE(row.messages.empty()) << row.view.instance;
}

STORE_TEST(Threads, OneOfManyStartsOfAnIdWins) {
  std::atomic<int> started = 0;
  std::atomic<int> refused = 0;
  std::vector<StartRequest> requests;
  for (int i = 0; i < kThreads; ++i) requests.push_back(start_of("order-1"));
  at_once([&](int i) { ++(try_start(requests[static_cast<std::size_t>(i)]) ? started : refused); });
  EXPECT_EQ(started, 1);
  EXPECT_EQ(refused, kThreads - 1);
}

STORE_TEST(Threads, MessagesOfManySendersAllArrive) {
  constexpr int kEach = 25;
  const Worker a = join("a");
  at_once([&](int i) {
    for (int n = 0; n < kEach; ++n) post("order-1", "from " + std::to_string(i), std::to_string(n));
    if (i == 0) start("order-1");
  });
  std::vector<int> next(kThreads, 0);
  const Turn turn = a.fetch_turn();
  for (const Message& message : turn->messages) {
    if (message.kind == MessageKind::start) continue;
    const auto sender = static_cast<std::size_t>(message.address.name.back() - '0');
    EXPECT_EQ(message.body, MessageBody(std::to_string(next[sender]++)));
  }
  EXPECT_EQ(next, std::vector<int>(kThreads, kEach));
}

STORE_TEST(Threads, OneOfManyClaimsASession) {
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.push_back(join("worker-" + std::to_string(i)));
  std::atomic<int> created = 0;
  at_once([&](int i) {
    if (workers[static_cast<std::size_t>(i)].acquire("gpu").kind == Acquired::Kind::created) ++created;
  });
  EXPECT_EQ(created, 1);
}

// Whoever comes too late has claimed nothing either.
STORE_TEST(Threads, OneOfManyFetchesTheFirstItemOfASession) {
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.push_back(join("worker-" + std::to_string(i)));
  for (const char* id : {"one", "two", "three"}) {
    Turn turn = workers[0].begin(id);
    workers[0].commit(turn.schedules({.name = "charge", .session = SessionUse{.id = id}}));
    std::atomic<int> taken = 0;
    std::atomic<std::uint64_t> owner = 0;
    at_once([&](int i) {
      const Worker& worker = workers[static_cast<std::size_t>(i)];
      const Works works = worker.fetch_activities(1);
      taken += static_cast<int>(works.works.size());
      if (!works.works.empty()) owner = worker.key.value;
    });
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(session(id).worker.value, owner);
    EXPECT_EQ(session(id).in_flight, 1U);
    EXPECT_EQ(must(store().session_log(id, 0, 10)).size(), 1U);
  }
  std::uint32_t owned = 0;
  for (const WorkerView& view : must(store().workers())) owned += view.sessions_owned;
  EXPECT_EQ(owned, 3U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
