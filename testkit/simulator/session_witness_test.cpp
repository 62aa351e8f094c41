#include "testkit/simulator/session_witness.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::simulator::session_witness_test {
namespace {

using namespace std::chrono_literals;

constexpr WorkerKey kFirst{1};
constexpr WorkerKey kSecond{2};

/// A witness, and what it complained about.
class SessionWitnessTest : public ::testing::Test {
 protected:
  SessionWitnessTest() {
    witness_.joined({.node = "a"}, kFirst);
    witness_.joined({.node = "b"}, kSecond);
  }
  void claim(WorkerKey worker, std::uint64_t generation) {
    witness_.granted(worker, {.hold = {"s", Generation{generation}}, .claimed = true, .lease = 30s});
  }
  void work(WorkerKey worker, std::uint64_t generation) {
    witness_.granted(worker, {.hold = {"s", Generation{generation}}, .lease = 30s});
  }
  [[nodiscard]] bool complained(std::string_view about) const {
    return complaints_.size() == 1 && complaints_.front().find(about) != std::string::npos;
  }

  ManualClock clock_;
  std::vector<std::string> complaints_;
  std::vector<store::SessionLogEntry> log_;
  std::vector<store::SessionView> sessions_;
  WorkerKey gone_{};
  SessionWitness witness_{clock_, [this](std::string what) { complaints_.push_back(std::move(what)); },
                          [this](std::string_view) { return log_; },
                          [this](WorkerKey worker) { return worker != gone_; }, [this] { return sessions_; }};
};

TEST_F(SessionWitnessTest, HasNothingToSayOfClaimsOneAfterTheOther) {
  claim(kFirst, 1);
  work(kFirst, 1);
  clock_.advance(31s);
  claim(kSecond, 2);
  work(kSecond, 2);
  EXPECT_TRUE(complaints_.empty()) << complaints_.front();
}

TEST_F(SessionWitnessTest, HasNothingToSayOfAClaimAfterTheHolderWasRemoved) {
  claim(kFirst, 1);
  gone_ = kFirst;
  claim(kSecond, 2);
  EXPECT_TRUE(complaints_.empty()) << complaints_.front();
}

TEST_F(SessionWitnessTest, SeesThatASessionWasTakenFromANodeThatWasStartedAgain) {
  claim(kFirst, 1);
  witness_.joined({.node = "a", .take_back_within = 5s}, WorkerKey{3});
  log_ = {{.session = "s",
           .kind = store::SessionLogEntry::Kind::released,
           .reason = store::SessionReason::owner_restarted,
           .generation = Generation{1}}};
  clock_.advance(4s);
  claim(kSecond, 2);
  EXPECT_TRUE(complained("kept for node 'a'"));
}

TEST_F(SessionWitnessTest, HasNothingToSayOfASessionThatANodeDidNotTakeBackInTime) {
  claim(kFirst, 1);
  witness_.joined({.node = "a", .take_back_within = 5s}, WorkerKey{3});
  log_ = {{.session = "s",
           .kind = store::SessionLogEntry::Kind::released,
           .reason = store::SessionReason::owner_restarted,
           .generation = Generation{1}}};
  clock_.advance(5s);
  claim(kSecond, 2);
  EXPECT_TRUE(complaints_.empty()) << complaints_.front();
}

TEST_F(SessionWitnessTest, HasNothingToSayOfASessionThatAnOperatorWantedToLeaveThatNode) {
  claim(kFirst, 1);
  witness_.asked_for("s");
  witness_.joined({.node = "a", .take_back_within = 5s}, WorkerKey{3});
  log_ = {{.session = "s",
           .kind = store::SessionLogEntry::Kind::released,
           .reason = store::SessionReason::owner_restarted,
           .generation = Generation{1}}};
  clock_.advance(4s);
  claim(kSecond, 2);
  EXPECT_TRUE(complaints_.empty()) << complaints_.front();
}

TEST_F(SessionWitnessTest, SeesThatARecordWasSweptAwayWhoseOwnerIsRegistered) {
  using Kind = store::SessionLogEntry::Kind;
  claim(kFirst, 1);
  store::StoreState state{.workers = {{.key = kFirst}}};
  state.session_log = {
      {.number = 1, .session = "s", .kind = Kind::swept, .previous_owner = "a", .generation = Generation{1}}};
  witness_.inspect(state);
  EXPECT_TRUE(complained("swept away"));
  witness_.inspect(state);
  EXPECT_EQ(complaints_.size(), 1U);
}

TEST_F(SessionWitnessTest, SeesNothingWrongInASweepOfWhatHasEndedOrWhoseOwnerIsGone) {
  using Kind = store::SessionLogEntry::Kind;
  claim(kFirst, 1);
  claim(kSecond, 2);
  complaints_.clear();
  store::StoreState state{.workers = {{.key = kFirst}}};
  state.session_log = {
      {.number = 1, .session = "s", .kind = Kind::closed, .generation = Generation{1}},
      {.number = 2, .session = "s", .kind = Kind::swept, .previous_owner = "a", .generation = Generation{1}},
      {.number = 3, .session = "s", .kind = Kind::swept, .previous_owner = "b", .generation = Generation{2}}};
  witness_.inspect(state);
  EXPECT_TRUE(complaints_.empty()) << complaints_.front();
}

TEST_F(SessionWitnessTest, SeesThatAWorkerWasTakenForGoneThatWasNeverSilent) {
  const StoreResult<void> not_found = Unexpected(StoreError{.kind = StoreError::Kind::not_found});
  witness_.workers_agree_on(60s);
  for (int i = 0; i < 10; ++i) {
    clock_.advance(15s);
    witness_.refreshing(kFirst);  // and was not heard
  }
  witness_.refreshed(kFirst, not_found);
  EXPECT_TRUE(complained("taken for gone"));
}

TEST_F(SessionWitnessTest, HasNothingToSayOfAWorkerThatWasSilentOrHasLeft) {
  const StoreResult<void> not_found = Unexpected(StoreError{.kind = StoreError::Kind::not_found});
  witness_.workers_agree_on(60s);
  clock_.advance(90s);
  witness_.refreshing(kFirst);
  witness_.refreshed(kFirst, not_found);
  witness_.left(kSecond);
  witness_.refreshing(kSecond);
  witness_.refreshed(kSecond, not_found);
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(SessionWitnessTest, SeesAClaimOfWhatAnotherHolds) {
  claim(kFirst, 1);
  claim(kSecond, 2);
  EXPECT_TRUE(complained("while worker 1 holds it"));
}

TEST_F(SessionWitnessTest, LetsTheLogExplainIt) {
  claim(kFirst, 1);
  log_.push_back(
      {.session = "s", .kind = store::SessionLogEntry::Kind::released, .generation = Generation{1}});
  claim(kSecond, 2);
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(SessionWitnessTest, SeesAGenerationThatIsNotNew) {
  claim(kFirst, 5);
  clock_.advance(31s);
  claim(kSecond, 4);
  EXPECT_TRUE(complained("not newer"));
}

TEST_F(SessionWitnessTest, SeesWorkThatGoesToAnotherThanTheHolder) {
  claim(kFirst, 1);
  work(kSecond, 1);
  EXPECT_TRUE(complained("went to worker 2"));
}

TEST_F(SessionWitnessTest, SeesAClaimOfAFormerIncarnation) {
  witness_.joined({.node = "a"}, WorkerKey{3});
  claim(kFirst, 1);
  EXPECT_TRUE(complained("newer incarnation"));
}

TEST_F(SessionWitnessTest, SeesAReleaseByAnotherThanTheHolder) {
  claim(kFirst, 1);
  witness_.released(kSecond, {.hold = {"s", Generation{1}}}, {});
  EXPECT_TRUE(complained("released by a worker that does not hold it"));
}

TEST_F(SessionWitnessTest, SeesThatASessionWasDisplacedAndNoneWaits) {
  const store::SessionRelease release{.hold = {"s", Generation{1}},
                                      .reason = store::SessionReason::displaced};
  claim(kFirst, 1);
  sessions_ = {{.id = "waits", .wanted = "a", .kept_for = 1s, .queued = 1}};
  witness_.released(kFirst, release, {});
  EXPECT_TRUE(complaints_.empty());
  claim(kFirst, 2);
  sessions_ = {{.id = "waits", .wanted = "b", .kept_for = 1s, .queued = 1}};
  witness_.released(kFirst, {.hold = {"s", Generation{2}}, .reason = release.reason}, {});
  EXPECT_TRUE(complained("no session waits for its place"));
}

TEST_F(SessionWitnessTest, SeesThatWhatAWorkerAskedForWasReleasedAsIdle) {
  claim(kFirst, 1);
  witness_.promised(kFirst, "s", clock_.boot_now(), 10s);
  clock_.advance(9s);
  witness_.released(kFirst, {.hold = {"s", Generation{1}}}, {});
  EXPECT_TRUE(complained("had asked for it"));
}

TEST_F(SessionWitnessTest, SeesThatItWasWhileTheWorkerWasToldOtherwise) {
  claim(kFirst, 1);
  const BootTime asked = clock_.boot_now();
  clock_.advance(1ms);
  witness_.released(kFirst, {.hold = {"s", Generation{1}}}, {});
  witness_.promised(kFirst, "s", asked, 10s);
  EXPECT_TRUE(complained("had asked for it"));
}

TEST_F(SessionWitnessTest, HasNothingToSayOfOneThatIsIdleAgain) {
  claim(kFirst, 1);
  witness_.promised(kFirst, "s", clock_.boot_now(), 10s);
  clock_.advance(10s);
  witness_.released(kFirst, {.hold = {"s", Generation{1}}}, {});
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(SessionWitnessTest, SeesWorkThatWaitsForEver) {
  using store::SessionStatus;
  for (const SessionStatus over : {SessionStatus::closed, SessionStatus::expired, SessionStatus::failed}) {
    complaints_.clear();
    store::StoreState state;
    state.sessions.push_back({.id = "s", .state = over, .queued = 1});
    witness_.inspect(state);
    EXPECT_TRUE(complained("waits in it for ever"));
  }
}

TEST_F(SessionWitnessTest, SeesAWorkerThatHoldsTooMany) {
  claim(kFirst, 1);
  store::StoreState state;
  state.sessions.push_back({.id = "s",
                            .state = store::SessionStatus::active,
                            .worker = kFirst,
                            .generation = Generation{1},
                            .lease_left = 30s});
  state.workers.push_back({.key = kFirst, .info = {.node = "a", .abilities = {.session_limit = 0}}});
  witness_.inspect(state);
  EXPECT_TRUE(complained("holds 1 sessions, and may hold 0"));
}

}  // namespace
}  // namespace holdfast::simulator::session_witness_test
