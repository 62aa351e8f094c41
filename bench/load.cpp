#include "bench/load.hpp"

#include "bench/answers.hpp"
#include "bench/load_frame.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr Duration kLease = 60s;
constexpr std::size_t kMost = 512;  // in one call

/// What there is to do in a round, and who waits for it.
class Desk {
 public:
  explicit Desk(std::size_t in_flight) : alive_(in_flight) {}

  /// Empty: it is over.
  std::vector<Frame*> take_starts() {
    std::unique_lock lock(mutex_);
    start_wanted_.wait(lock, [this] { return over() || !to_start_.empty(); });
    return std::exchange(to_start_, {});
  }
  struct Turns {
    bool fetch = false;
    std::vector<Frame*> run{};
    [[nodiscard]] bool over() const noexcept { return !fetch && run.empty(); }
  };
  Turns take_turns() {
    std::unique_lock lock(mutex_);
    turns_wanted_.wait(lock, [this] { return over() || fetch_turns_ || !to_run_.empty(); });
    if (over()) return {};
    if (std::exchange(fetch_turns_, false)) {
      if (!to_run_.empty()) turns_wanted_.notify_one();
      return {.fetch = true};
    }
    return {.run = std::exchange(to_run_, {})};
  }
  /// False: it is over.
  bool take_activities() {
    std::unique_lock lock(mutex_);
    activities_wanted_.wait(lock, [this] { return over() || fetch_activities_; });
    fetch_activities_ = false;
    return !over();
  }

  void want_starts(std::span<Frame* const> frames) {
    if (frames.empty()) return;
    const std::lock_guard lock(mutex_);
    to_start_.insert(to_start_.end(), frames.begin(), frames.end());
    start_wanted_.notify_one();
  }
  /// By a thread that takes turns itself, and comes back for them: nobody else need be woken.
  void want_turns(std::span<Frame* const> frames) {
    const std::lock_guard lock(mutex_);
    to_run_.insert(to_run_.end(), frames.begin(), frames.end());
  }
  void want_turn_fetch() {
    const std::lock_guard lock(mutex_);
    fetch_turns_ = true;
    turns_wanted_.notify_one();
  }
  void want_activity_fetch() {
    const std::lock_guard lock(mutex_);
    fetch_activities_ = true;
    activities_wanted_.notify_one();
  }
  /// These have ended and are not started again.
  void retire(std::size_t count) {
    const std::lock_guard lock(mutex_);
    alive_ -= count;
    if (over()) notify_all();
  }
  /// Something went wrong: everybody goes home.
  void give_up(std::exception_ptr problem) {
    const std::lock_guard lock(mutex_);
    if (!problem_) problem_ = std::move(problem);
    notify_all();
  }
  void rethrow_problem() const {
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  [[nodiscard]] bool over() const noexcept { return alive_ == 0 || problem_ != nullptr; }
  void notify_all() {
    start_wanted_.notify_all();
    turns_wanted_.notify_all();
    activities_wanted_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable start_wanted_;
  std::condition_variable turns_wanted_;
  std::condition_variable activities_wanted_;
  std::vector<Frame*> to_start_;
  std::vector<Frame*> to_run_;
  bool fetch_turns_ = false;
  bool fetch_activities_ = false;
  std::size_t alive_;
  std::exception_ptr problem_;
};

/// Requests that are filled in again and again.
template <class Request>
class Buffer {
 public:
  std::span<Request> first(std::size_t count) {
    if (requests_.size() < count) requests_.resize(count);
    return std::span(requests_).first(count);
  }

 private:
  std::vector<Request> requests_;
};

class StoreLoad final : public Contender {
 public:
  StoreLoad(std::shared_ptr<Store> store, const LoadOptions& options)
      : store_(std::move(store)), options_(options), last_id_(options.first_id) {
    abilities_.handlers = {std::string(kActivityName)};
    code_.orchestrations = {{.name = std::string(kOrchestrationName), .version = "1"}};
    auto joined = store_->join({.node = "bench", .slots = 1000, .abilities = abilities_, .code = code_});
    worker_ = require(joined, "join");
    for (std::size_t i = 0; i < options.in_flight; ++i) {
      frames_.emplace_back(options.shape, options.hand_off, i);
    }
  }
  ~StoreLoad() override {
    auto left = store_->leave(worker_);
    static_cast<void>(left);  // otherwise it is removed as stale
  }
  StoreLoad(const StoreLoad&) = delete;
  StoreLoad& operator=(const StoreLoad&) = delete;

  Round run(std::chrono::nanoseconds length) override {
    Desk desk(frames_.size());
    Round round;
    std::mutex round_mutex;
    const auto began = Clock::now();
    const auto as_thread = [&](auto&& body) {
      return std::thread([&desk, body] {
        try {
          body();
        } catch (...) {
          desk.give_up(std::current_exception());
        }
      });
    };

    std::vector<std::thread> threads;
    threads.push_back(as_thread([&] { be_client(desk); }));
    if (!options_.hand_off) threads.push_back(as_thread([&] { run_activities(desk); }));
    for (unsigned i = 0; i < options_.turn_threads; ++i) {
      threads.push_back(as_thread([&] {
        const Round part = run_turns(desk, began, length);
        const std::lock_guard lock(round_mutex);
        round.seconds = std::max(round.seconds, part.seconds);
        round.steps += part.steps;
        round.latencies.insert(round.latencies.end(), part.latencies.begin(), part.latencies.end());
      }));
    }
    std::vector<Frame*> all;
    for (Frame& frame : frames_) all.push_back(&frame);
    desk.want_starts(all);
    for (std::thread& thread : threads) thread.join();
    desk.rethrow_problem();
    return round;
  }

 private:
  [[nodiscard]] SeededRandom make_random() { return SeededRandom(system_random().next()); }

  void be_client(Desk& desk) {
    SeededRandom random = make_random();
    Buffer<store::StartRequest> buffer;
    for (std::vector<Frame*> frames; !(frames = desk.take_starts()).empty();) {
      const std::span requests = buffer.first(frames.size());
      for (std::size_t i = 0; i < frames.size(); ++i) frames[i]->start(++last_id_, random, requests[i]);
      for (auto& answer : store_->start(requests)) require(answer, "start");
      desk.want_turn_fetch();
    }
  }

  Round run_turns(Desk& desk, Clock::time_point began, std::chrono::nanoseconds length) {
    Round part;
    SeededRandom random = make_random();
    Buffer<store::TurnCommit> buffer;
    for (Desk::Turns turns; !(turns = desk.take_turns()).over();) {
      if (turns.fetch) {
        fetch_turns(desk, random);
      } else {
        const std::span commits = buffer.first(turns.run.size());
        for (std::size_t i = 0; i < commits.size(); ++i) turns.run[i]->next_turn(random, commits[i]);
        commit_turns(desk, turns.run, commits, part, {began, length});
      }
    }
    return part;
  }

  void fetch_turns(Desk& desk, Random& random) {
    auto fetched = store_->fetch_turns({.worker = worker_,
                                        .code = &code_,
                                        .token = random_token<LockToken>(random),
                                        .lease = kLease,
                                        .max = kMost});
    std::vector<Frame*> ready;
    for (const store::LockedTurn& turn : require(fetched, "fetch_turns").turns) {
      Frame& frame = frames_.at(Frame::number_in(std::get<std::string>(turn.messages.at(0).body)));
      frame.fetched(turn);
      ready.push_back(&frame);
    }
    if (fetched->left_behind) desk.want_turn_fetch();
    desk.want_turns(ready);
  }

  struct Span {
    Clock::time_point began{};
    std::chrono::nanoseconds length{};
  };
  void commit_turns(Desk& desk, std::span<Frame* const> frames, std::span<const store::TurnCommit> commits,
                    Round& part, const Span& counted) {
    auto answers = store_->commit_turns(
        {.worker = worker_, .abilities = &abilities_, .activity_lease = kLease}, commits);

    const auto now = Clock::now();
    const bool in_time = now - counted.began < counted.length;
    if (in_time) part.seconds = std::chrono::duration<double>(now - counted.began).count();
    std::vector<Frame*> ended;
    std::vector<Frame*> go_on;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      Frame& frame = *frames[i];
      frame.committed(require(answers[i], "commit_turns"));
      if (in_time) part.steps += frame.steps();
      (frame.ended() ? ended : go_on).push_back(&frame);
      if (!frame.ended()) continue;
      part.latencies.push_back(std::chrono::duration<double, std::micro>(now - frame.started()).count());
    }
    if (in_time) {
      desk.want_starts(ended);
    } else {
      desk.retire(ended.size());
    }
    if (options_.hand_off) {
      desk.want_turns(go_on);
    } else if (!go_on.empty()) {
      desk.want_activity_fetch();
    }
  }

  void run_activities(Desk& desk) {
    SeededRandom random = make_random();
    while (desk.take_activities()) {
      const auto token = random_token<LockToken>(random);
      auto fetched = store_->fetch_activities(
          {.worker = worker_, .abilities = &abilities_, .token = token, .lease = kLease, .max = kMost});
      std::vector<store::ActivityResult> results;
      for (store::LockedActivity& activity : require(fetched, "fetch_activities").activities) {
        results.push_back(
            {.id = activity.id, .token = token, .result = store::Finished{.body = std::move(activity.body)}});
      }
      if (fetched->left_behind) desk.want_activity_fetch();
      if (results.empty()) continue;
      for (auto& answer : store_->finish_activities(results)) require(answer, "finish_activities");
      desk.want_turn_fetch();
    }
  }

  std::shared_ptr<Store> store_;
  LoadOptions options_;
  store::Abilities abilities_;
  store::Code code_;
  WorkerKey worker_{};
  std::vector<Frame> frames_;
  std::uint64_t last_id_;
};

}  // namespace

std::unique_ptr<Contender> store_load(std::shared_ptr<Store> store, const LoadOptions& options) {
  return std::make_unique<StoreLoad>(std::move(store), options);
}

}  // namespace holdfast::bench
