#include "testkit/simulator/witness.hpp"

#include "codec/segment.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::simulator::witness_test {
namespace {

using namespace std::chrono_literals;

constexpr LockToken kFirst{1, 1};
constexpr LockToken kSecond{2, 2};

/// A witness, and what it complained about.
class WitnessTest : public ::testing::Test {
 protected:
  void fetch(LockToken token, TurnStamp stamp = {}) {
    const store::Code code;
    const store::TurnRequest request{.worker = {1}, .code = &code, .token = token, .lease = 5s};
    store::FetchedTurns answer;
    answer.turns.push_back({.key = {1}, .instance = "i-1", .token = token, .stamp = stamp, .execution = {1}});
    witness_.fetched(request, answer);
  }
  void commit(store::TurnCommit turn) {
    turn.key = {1};
    turn.execution = {1};
    store::Committed answer;
    answer.handed_off.resize(turn.activities.size());
    witness_.committed({.worker = {1}}, turn, answer);
  }
  /// A turn that schedules the activity of event 3.
  void schedule() {
    history::SegmentWriter writer(EventId{1});
    writer.add(history::TurnStarted{});
    writer.add(history::Started{});
    writer.add(history::ActivityScheduled{.name = "a"});
    fetch(kFirst);
    commit({.token = kFirst,
            .stamp = {1, 0},
            .first_event = {1},
            .segment = writer.finish(),
            .activities = {{.event = {3}, .name = "a"}}});
  }
  void fetch_activity(LockToken token, std::uint32_t delivery) {
    store::FetchedActivities answer;
    answer.activities.push_back({.id = {{1}, {1}, {3}}, .name = "a", .delivery = delivery});
    witness_.fetched(store::ActivityRequest{.worker = {1}, .token = token, .lease = 5s}, answer);
  }
  void finish(LockToken token) {
    witness_.finished({.id = {{1}, {1}, {3}}, .token = token, .result = store::Finished{}},
                      StoreResult<void>());
  }
  [[nodiscard]] bool complained(std::string_view about) const {
    return complaints_.size() == 1 && complaints_.front().find(about) != std::string::npos;
  }

  ManualClock clock_;
  std::vector<std::string> complaints_;
  Witness witness_{clock_, [this](std::string what) { complaints_.push_back(std::move(what)); }};
};

TEST_F(WitnessTest, HasNothingToSayAboutAnOrdinaryTurn) {
  schedule();
  fetch_activity(kFirst, 1);
  finish(kFirst);
  EXPECT_TRUE(complaints_.empty()) << complaints_.front();
}

TEST_F(WitnessTest, SeesAnInstanceInTwoHands) {
  fetch(kFirst);
  clock_.advance(4s);
  fetch(kSecond);
  EXPECT_TRUE(complained("holds its lock"));
}

TEST_F(WitnessTest, AllowsALockToBeTakenOnceItsLeaseIsOver) {
  fetch(kFirst);
  clock_.advance(5s);
  fetch(kSecond);
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(WitnessTest, SeesALockThatItsOwnerForgot) {
  witness_.expect_no_lapses();
  clock_.advance(1s);
  fetch(kFirst);
  clock_.advance(5s);
  fetch(kSecond);
  EXPECT_TRUE(complained("waited for the end of the lease"));
}

TEST_F(WitnessTest, AllowsALockToBeForgottenByWhoDied) {
  witness_.expect_no_lapses();
  clock_.advance(1s);
  fetch(kFirst);
  witness_.allow_lapses();
  clock_.advance(5s);
  fetch(kSecond);
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(WitnessTest, SeesAnInstanceThatIsHeldAndNotRun) {
  store::StoreState state;
  state.instances.push_back(
      {.view = {.key = {1}, .instance = "i-1"}, .token = kFirst, .lease_left = 5s, .ready = true});
  state.instances.front().messages.push_back({.id = {1}, .kind = store::MessageKind::outcome});
  witness_.expect_progress();
  witness_.inspect(state);
  clock_.advance(30s);
  witness_.inspect(state);
  EXPECT_TRUE(complaints_.empty());
  clock_.advance(1s);
  witness_.inspect(state);
  EXPECT_TRUE(complained("does nothing with them"));
}

TEST_F(WitnessTest, SeesACommitWithAStaleLock) {
  fetch(kFirst);
  clock_.advance(5s);
  fetch(kSecond);
  commit({.token = kFirst, .stamp = {1, 0}});
  EXPECT_TRUE(complained("stale lock"));
}

TEST_F(WitnessTest, SeesACommitOverAnotherStamp) {
  fetch(kFirst);
  commit({.token = kFirst, .expected = {9, 9}, .stamp = {1, 0}});
  EXPECT_TRUE(complained("stamp"));
}

TEST_F(WitnessTest, SeesAMessageThatIsConsumedTwice) {
  fetch(kFirst);
  commit({.token = kFirst, .stamp = {1, 0}, .consumed = {{7}}, .keep_lock = true});
  commit({.token = kFirst, .expected = {1, 0}, .stamp = {2, 0}, .consumed = {{7}}});
  EXPECT_TRUE(complained("consumed twice"));
}

TEST_F(WitnessTest, SeesACompletionOfWhatIsNotOpen) {
  schedule();
  history::SegmentWriter writer(EventId{4});
  writer.add(history::TurnStarted{});
  writer.add(history::Completed{.source = {3}});
  writer.add(history::Completed{.source = {3}});
  fetch(kSecond, {1, 0});
  commit({.token = kSecond, .expected = {1, 0}, .stamp = {2, 0}, .segment = writer.finish()});
  EXPECT_TRUE(complained("is not open"));
}

TEST_F(WitnessTest, SeesARefusedTurnThatNamesTheEndOfWhatIsNotOpen) {
  schedule();
  fetch(kSecond, {1, 0});
  const StoreResult<store::Committed> refused =
      Unexpected(StoreError{.kind = StoreError::Kind::lost, .message = "its activity is gone"});
  const auto commit_end_of = [&](EventId event) {
    witness_.committed({.worker = {1}},
                       {.key = {1},
                        .token = kSecond,
                        .expected = {1, 0},
                        .stamp = {2, 0},
                        .execution = {1},
                        .completed = {{.event = event, .token = kFirst}}},
                       refused);
  };
  commit_end_of({3});
  EXPECT_TRUE(complaints_.empty());
  commit_end_of({4});
  EXPECT_TRUE(complained("names the end of operation 4"));
}

TEST_F(WitnessTest, SeesAGapInHistory) {
  history::SegmentWriter writer(EventId{2});
  writer.add(history::TurnStarted{});
  fetch(kFirst);
  commit({.token = kFirst, .stamp = {1, 0}, .segment = writer.finish()});
  EXPECT_TRUE(complained("event 2 instead of 1"));
}

TEST_F(WitnessTest, SeesAnAnswerThatIsAcceptedWithAStaleLock) {
  schedule();
  fetch_activity(kFirst, 1);
  clock_.advance(5s);
  fetch_activity(kSecond, 2);
  finish(kFirst);
  EXPECT_TRUE(complained("stale lock"));
}

TEST_F(WitnessTest, SeesADeliveryThatIsNotCounted) {
  schedule();
  fetch_activity(kFirst, 1);
  clock_.advance(5s);
  fetch_activity(kSecond, 1);
  EXPECT_TRUE(complained("delivery 1 instead of"));
}

TEST_F(WitnessTest, SeesARowThatIsStranded) {
  store::StoreState state;
  state.instances.push_back({.view = {.key = {1}, .instance = "i-1"}});
  state.instances.front().messages.push_back({.id = {1}, .kind = store::MessageKind::outcome});
  witness_.inspect(state);
  EXPECT_TRUE(complained("stranded"));
}

}  // namespace
}  // namespace holdfast::simulator::witness_test
