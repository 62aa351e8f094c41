// An activity completes at the very moment in which it is cancelled. Whichever commits first wins: one
// outcome is recorded, never both and never none, and it is the same after a restart.
#include "stores_test.hpp"
#include "tests/watch/needs_time.hpp"

#include <holdfast/random.hpp>

#include <atomic>
#include <set>
#include <thread>

namespace holdfast::e2e::race_test {
namespace {

// ---- at the store -------------------------------------------------------------------------------

constexpr std::uint64_t kActivities = 20;  // of one instance: as many tries

/// Two threads that meet before each try.
class Meeting {
 public:
  void meet(std::uint64_t nth) {
    ++here_;
    while (here_ < 2 * nth) std::this_thread::yield();
  }

  /// Passes so many moments, so that now one and now the other is a little ahead.
  void dawdle(std::uint64_t moments) const {
    for (std::uint64_t i = 0; i < moments; ++i) static_cast<void>(here_.load());
  }

 private:
  std::atomic<std::uint64_t> here_{0};
};

/// Plays a worker: instances of 20 activities each, of which every one is finished by one thread at the
/// moment in which the other commits a turn that cancels it.
class Contest {
 public:
  Contest(std::shared_ptr<Store> store, int tries)
      : store_(std::move(store)), rounds_(tries), instances_(tries / static_cast<int>(kActivities)) {
    info_.abilities.handlers = {"step"};
    info_.code.orchestrations = {{"order", "1"}};
    worker_ = *store_->join(info_);
  }

  void run() {
    std::jthread finisher([this] { finish_all(); });
    for (int i = 0; i < instances_; ++i) run_instance("i" + std::to_string(i));
  }

  /// What each instance has recorded as its end.
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }
  [[nodiscard]] std::uint64_t completed() const { return completed_; }
  [[nodiscard]] std::uint64_t cancelled() const { return cancelled_; }
  [[nodiscard]] int instances() const { return instances_; }

 private:
  template <class Token>
  Token token() {
    return random_token<Token>(random_);
  }

  store::TurnCommit commit_of(const store::LockedTurn& turn, TurnStamp expected) {
    return {.key = turn.key,
            .token = turn.token,
            .expected = expected,
            .stamp = token<TurnStamp>(),
            .execution = turn.execution,
            .activity_token = token<LockToken>()};
  }
  store::Committed commit(const store::TurnCommit& turn) {
    const store::CommitRequest request{
        .worker = worker_, .abilities = &info_.abilities, .activity_lease = 1h};
    return std::move(store_->commit_turns(request, {&turn, 1}).front()).value();
  }
  store::LockedTurn fetch(std::span<const store::HeldInstance> held) {
    auto fetched = store_->fetch_turns({.worker = worker_,
                                        .code = &info_.code,
                                        .token = token<LockToken>(),
                                        .lease = 1h,
                                        .max = 1,
                                        .held = held});
    return fetched->turns.empty() ? store::LockedTurn{} : std::move(fetched->turns.front());
  }

  void run_instance(const std::string& id) {
    const store::StartRequest request{.instance = id, .code = {"order", "1"}, .request = token<RequestId>()};
    ASSERT_TRUE(store_->start({&request, 1}).front());
    const store::LockedTurn turn = fetch({});
    store::TurnCommit first = commit_of(turn, turn.stamp);
    first.seen = turn.messages.back().id;
    first.consumed = {first.seen};
    first.keep_lock = true;
    for (std::uint64_t i = 1; i <= kActivities; ++i)
      first.activities.push_back({.event = EventId{i}, .name = "step", .hand_off = true});
    for (const auto& locked : commit(first).handed_off) ASSERT_TRUE(locked);
    activity_token_ = first.activity_token;
    key_ = turn.key;

    TurnStamp stamp = first.stamp;
    for (std::uint64_t i = 1; i <= kActivities; ++i) {
      store::TurnCommit cancels = commit_of(turn, stamp);
      cancels.seen = first.seen;
      cancels.keep_lock = true;
      cancels.cancelled = {{EventId{i}, CancelReason::dropped}};
      stamp = cancels.stamp;
      begin_.meet(++tries_);
      if (tries_ % 2 == 0) begin_.dawdle(tries_ * 37 % 20000);
      // However the machine treats the two, each is first now and then.
      while (tries_ % 16 == 0 && answered_ < tries_) std::this_thread::yield();
      commit(cancels);
      asked_to_stop_ = tries_;
      end_.meet(tries_);
    }
    check_and_end(turn, first.seen, stamp);
  }

  // The instance got a message for each answer that was accepted, and for no other.
  void check_and_end(const store::LockedTurn& turn, MessageId seen, TurnStamp stamp) {
    const store::HeldInstance held{turn.key, turn.token, seen};
    const store::LockedTurn news = fetch({&held, 1});
    std::set<EventId> told;
    store::TurnCommit last = commit_of(turn, stamp);
    last.seen = seen;
    for (const store::Message& message : news.messages) {
      EXPECT_TRUE(told.insert(message.source).second) << "told twice";
      last.seen = message.id;
      last.consumed.push_back(message.id);
    }
    EXPECT_EQ(told, accepted_);
    std::string output;
    for (const EventId event : told) output += to_string(event) + " ";
    outputs_.push_back(output);
    completed_ += told.size();
    cancelled_ += kActivities - told.size();
    accepted_.clear();
    last.end = store::InstanceEnd{.output = output};
    commit(last);
  }

  void finish_all() {
    for (std::uint64_t n = 1; n <= static_cast<std::uint64_t>(rounds_); ++n) {
      begin_.meet(n);
      if (n % 2 != 0) begin_.dawdle(n * 53 % 5000);
      while (n % 16 == 8 && asked_to_stop_ < n) std::this_thread::yield();
      const EventId event{(n - 1) % kActivities + 1};
      const store::ActivityResult result{
          .id = {key_, ExecutionNumber{1}, event}, .token = activity_token_, .result = store::Finished{"r"}};
      const StoreResult<void> answer = store_->finish_activities({&result, 1}).front();
      answered_ = n;
      if (answer) {
        accepted_.insert(event);
      } else {
        EXPECT_EQ(answer.error().kind, StoreError::Kind::gone);
        EXPECT_EQ(answer.error().reason, CancelReason::dropped);
      }
      end_.meet(n);
    }
  }

  std::shared_ptr<Store> store_;
  SeededRandom random_{7};
  store::NewWorker info_{.node = "a"};
  WorkerKey worker_{};
  Meeting begin_;
  Meeting end_;
  std::uint64_t tries_ = 0;
  std::atomic<std::uint64_t> asked_to_stop_{0};
  std::atomic<std::uint64_t> answered_{0};
  // Written by one thread, read by the other after they met.
  InstanceKey key_{};
  const int rounds_;
  const int instances_;
  LockToken activity_token_{};
  std::set<EventId> accepted_;
  std::vector<std::string> outputs_;
  std::uint64_t completed_ = 0;
  std::uint64_t cancelled_ = 0;
};

class RaceTest : public OnEachStore {
 protected:
  std::shared_ptr<Store> fast_store() {
    if (GetParam() == Kept::in_a_file) return sqlite(folder / "app.db", {.durability = Durability::off});
    return store();
  }
};
HOLDFAST_ON_EACH_STORE(RaceTest);

#ifdef HOLDFAST_SANITIZED
constexpr int kTries = 10'000;
#else
constexpr int kTries = 100'000;
#endif

TEST_P(RaceTest, InManyTriesOneOutcomeIsRecordedAndStaysSoAfterARestart) {
  // Each try is two transactions of the server.
  const int tries = GetParam() == Kept::on_a_server ? 2'000 : kTries;
  needs_time(600s);  // threads that meet at each try take long on a busy machine
  std::vector<std::string> outputs;
  int instances = 0;
  {
    const auto opened = fast_store();
    Contest contest(opened, tries);
    contest.run();
    if (HasFatalFailure()) return;
    EXPECT_EQ(contest.completed() + contest.cancelled(), static_cast<std::uint64_t>(tries));
    EXPECT_GT(contest.completed(), 0U);
    EXPECT_GT(contest.cancelled(), 0U);
    // A record for each that was taken away, and for no other.
    EXPECT_EQ(opened->state()->cancels.size(), contest.cancelled());
    EXPECT_TRUE(opened->state()->activities.empty());
    outputs = contest.outputs();
    instances = contest.instances();
  }
  const auto again = fast_store();
  for (int i = 0; i < instances; ++i) {
    const auto found = again->find("i" + std::to_string(i));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->output, outputs[static_cast<std::size_t>(i)]);
  }
}

// ---- through the runtime ------------------------------------------------------------------------

// Which of the two was first, told again by replay.
Task<int> first_of_two(Context& ctx) {
  const auto won = co_await race(ctx.activity<int>("step"), ctx.event<int>("stop"));
  const int index = static_cast<int>(won.index());
  ctx.set_status(index);
  co_await ctx.event<int>("end");
  co_return index;
}

TEST_P(RaceTest, CodeSeesOneOutcomeAndTheSameOneAfterARestart) {
  constexpr int kRuns = 300;
  std::atomic<int> begun{0};
  std::atomic<int> may_end{0};
  const auto add = [&](Runtime& r) {
    r.orchestration("first_of_two", first_of_two);
    r.activity("step", [&](ActivityContext&) {
      const int nth = ++begun;
      while (may_end < nth) std::this_thread::yield();
      return 0;
    });
  };
  std::vector<Run> runs;
  std::vector<int> first;
  {
    const auto rt = runtime({.logger = null_logger()}, add);
    for (int i = 1; i <= kRuns; ++i) {
      const Run run = rt->client().start("first_of_two", {.id = "r" + std::to_string(i)});
      ASSERT_TRUE(eventually([&] { return begun >= i; }));
      // Now this is first, now that.
      if (i % 2 == 0) may_end = i;
      run.raise("stop", 1);
      may_end = i;
      std::optional<int> shown;
      ASSERT_TRUE(eventually([&] { return (shown = run.custom_status<int>()).has_value(); }));
      first.push_back(*shown);
      runs.push_back(run);
    }
  }
  EXPECT_EQ(begun, kRuns);
  const auto again = runtime({.logger = null_logger()}, add);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].raise("end", 1);
    EXPECT_EQ(runs[i].wait<int>(kSoon), first[i]);
    EXPECT_EQ(runs[i].describe().unread_messages, 0U);
  }
  EXPECT_EQ(begun, kRuns);
}

}  // namespace
}  // namespace holdfast::e2e::race_test
