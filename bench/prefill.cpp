#include "bench/prefill.hpp"

#include "bench/answers.hpp"
#include "bench/workload.hpp"

#include <holdfast/random.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBatch = 1000;

/// Starts instances and lets each take one turn, with what `finish_turn` adds to its commit.
class Filler {
 public:
  using Turn = std::function<void(store::TurnCommit&, CalendarTime now)>;
  /// What the instance of this number is started with.
  std::function<std::vector<Attribute>(std::size_t)> attributes{};

  Filler(Store& store, const std::string& prefix, std::size_t before, Turn turn)
      : store_(store), prefix_(prefix), turn_(std::move(turn)), last_id_(before) {
    code_.orchestrations = {{.name = "filler", .version = "1"}};
    auto joined = store_.join({.node = "filler", .abilities = abilities_, .code = code_});
    worker_ = require(joined, "join");
  }

  void fill(std::size_t count) {
    for (std::size_t done = 0; done < count; done += kBatch) {
      batch(std::min(kBatch, count - done));
      // It takes long, and other workers remove one that gives no sign of life.
      auto alive = store_.refresh(worker_, false);
      require(alive, "refresh");
    }
    auto left = store_.leave(worker_);
    require(left, "leave");
  }

 private:
  void batch(std::size_t size) {
    std::vector<store::StartRequest> requests;
    for (std::size_t i = 0; i < size; ++i) {
      requests.push_back({.instance = prefix_ + std::to_string(++last_id_),
                          .code = *code_.orchestrations.begin(),
                          .body = std::string(kBodyBytes, 'b'),
                          .request = random_token<RequestId>(random_),
                          .fingerprint = random_token<Fingerprint>(random_)});
      if (attributes) requests.back().attributes = attributes(last_id_);
    }
    for (auto& answer : store_.start(requests)) require(answer, "start");
    auto fetched = store_.fetch_turns({.worker = worker_,
                                       .code = &code_,
                                       .token = random_token<LockToken>(random_),
                                       .lease = 60s,
                                       .max = size});
    std::vector<store::TurnCommit> commits;
    for (const store::LockedTurn& turn : require(fetched, "fetch_turns").turns) {
      commits.push_back({.key = turn.key,
                         .token = turn.token,
                         .expected = turn.stamp,
                         .stamp = random_token<TurnStamp>(random_),
                         .execution = turn.execution,
                         .first_event = {1},
                         .segment = std::string(130, 'h'),
                         .seen = turn.messages.back().id,
                         .consumed = {turn.messages.back().id}});
      turn_(commits.back(), fetched->now);
    }
    for (auto& answer :
         store_.commit_turns({.worker = worker_, .abilities = &abilities_, .activity_lease = 60s}, commits)) {
      require(answer, "commit_turns");
    }
  }

  Store& store_;
  std::string prefix_;
  Turn turn_;
  store::Abilities abilities_;
  store::Code code_;
  WorkerKey worker_{};
  std::uint64_t last_id_;
  SeededRandom random_{4711 + last_id_};
};

}  // namespace

void fill_with_timers(Store& store, std::size_t count, std::size_t before) {
  Filler filler(store, "sleeper-", before, [](store::TurnCommit& commit, CalendarTime now) {
    commit.timers.push_back({.event = {3}, .due = now + 24h * 365});
  });
  filler.fill(count);
}

void fill_with_unservable(Store& store, std::size_t count) {
  constexpr std::size_t kEach = 100;
  constexpr std::size_t kKinds = 20;
  Filler filler(store, "stuck-", 0, [](store::TurnCommit& commit, CalendarTime) {
    for (std::size_t i = 0; i < kEach; ++i) {
      const std::string kind = std::to_string(i % kKinds);
      const bool by_queue = i % 2 == 0;
      commit.activities.push_back({.event = {3 + i},
                                   .name = by_queue ? std::string(kActivityName) : "unknown-" + kind,
                                   .queue = by_queue ? "elsewhere-" + kind : "",
                                   .body = std::string(kBodyBytes, 'b')});
    }
  });
  filler.fill(count / kEach);
}

void fill_with_finished(Store& store, std::size_t count, std::size_t before) {
  Filler filler(store, "past-", before, [](store::TurnCommit& commit, CalendarTime) {
    commit.end = store::InstanceEnd{.output = std::string(kBodyBytes, 'b')};
  });
  filler.fill(count);
}

void fill_with_attributes(Store& store, std::size_t count,
                          const std::function<std::vector<Attribute>(std::size_t)>& attributes) {
  constexpr std::size_t kOneIn = 100;
  Filler filler(store, "found-", 0,
                [turns = std::size_t{0}](store::TurnCommit& commit, CalendarTime) mutable {
                  if (++turns % kOneIn != 0)
                    commit.end = store::InstanceEnd{.output = std::string(kBodyBytes, 'b')};
                });
  filler.attributes = attributes;
  filler.fill(count);
}

}  // namespace holdfast::bench
