// The books of sessions and their keeper, one call at a time, in a time that stands still.
#include "runtime/session_desk.hpp"

#include "runtime/session_keeper.hpp"
#include "testkit/support/nosy_logger.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/log.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime::session_desk_test {
namespace {

using support::NosyLogger;
using namespace std::chrono_literals;

/// Runs what was posted when it is told to.
class LaterExecutor final : public Executor {
 public:
  LaterExecutor() = default;
  LaterExecutor(const LaterExecutor&) = delete;
  LaterExecutor& operator=(const LaterExecutor&) = delete;
  // What is dropped here may post what it held, to be destroyed.
  ~LaterExecutor() override {
    while (!work_.empty()) {
      const auto dropped = std::move(work_.front());
      work_.pop_front();
    }
  }
  void post(Work work) override { work_.push_back(std::move(work)); }
  void run_all() {
    while (!work_.empty()) {
      Work work = std::move(work_.front());
      work_.pop_front();
      work();
    }
  }

 private:
  std::deque<Work> work_;
};

/// A number that calls `while_saved` in the middle of being saved.
class NumberCode final : public detail::SessionStateCode {
 public:
  NumberCode(std::string name, SaveState when) : SessionStateCode(std::move(name), false, true, when) {}
  [[nodiscard]] std::shared_ptr<void> make(const SessionStart& start) const override {
    return std::make_shared<int>(start.saved<int>().value_or(0));
  }
  [[nodiscard]] Payload save(const void* state) const override {
    const Payload payload = encode(*static_cast<const int*>(state));
    if (const auto call = std::exchange(while_saved, nullptr)) call();
    return payload;
  }
  mutable std::function<void()> while_saved;
};

/// Points of the store that fail as long as they are in here.
struct Broken final : FaultPlan {
  Fault at(std::string_view point) override {
    return points.contains(std::string(point)) ? Fault::fail_before : Fault::none;
  }
  std::set<std::string> points{};
};

class SessionDeskTest : public ::testing::Test {
 protected:
  SessionDeskTest() {
    standing.set_key(*store->join({.node = "n", .abilities = settings.abilities}));
    standing.set_accepts(true);
    standing.heard_at(clock.boot_now());
    logger->ask = [this] { static_cast<void>(desk.size()); };
  }
  ~SessionDeskTest() override { logger->ask = nullptr; }
  [[nodiscard]] RuntimeOptions options() const { return {.session_limit = 100, .logger = logger}; }

  store::SessionHold acquire(const std::string& id, Duration lease = 30s) {
    const auto acquired = store->acquire_session(standing.key(), settings.abilities, id, {.lease = lease});
    desk.acquired(*acquired, clock.boot_now());
    return {id, acquired->session.generation};
  }
  std::unique_ptr<SessionStay> enter(const store::SessionHold& hold) {
    const auto view = store->session(hold.id);
    const Generation since = view ? view->held_since : Generation{};
    return desk.enter({.id = {.event = EventId{++events}},
                       .session = store::SessionGrant{.hold = hold, .held_since = since, .lease = 30s}},
                      clock.boot_now());
  }
  static int& number(SessionStay& stay, const NumberCode& code) {
    return *static_cast<int*>(stay.state(code, std::stop_token(), false));
  }
  std::optional<int> in_store(const std::string& id, const NumberCode& code) {
    const auto saved = store->session(id, store::Saved::bytes)->saved;
    if (!saved) return std::nullopt;
    for (const SavedStates::Part& part : read_saved_states(*saved).parts) {
      if (part.name == code.name()) return decode<int>(part.state).value();
    }
    return std::nullopt;
  }

  ManualClock clock;
  Broken broken;
  std::shared_ptr<Store> store = memory({.clock = &clock, .faults = &broken});
  SeededRandom random{1};
  std::shared_ptr<NosyLogger> logger = std::make_shared<NosyLogger>();
  Settings settings{store, options(), Registry(), random};
  Waker waker{[](Step) {}};
  Standing standing{waker, settings.options.worker_stale_after};
  LaterExecutor executor;
  SessionDesk desk{settings, standing, waker, executor};
  SessionKeeper keeper{settings, standing, desk};
  std::uint64_t events = 0;
  const NumberCode handed{"handed", SaveState::when_handed_over};
  const NumberCode recorded{"recorded", SaveState::with_each_activity};
};

TEST_F(SessionDeskTest, WhatItSaysIsSaidWithoutItsMutex) {
  const store::SessionHold hold = acquire("s");
  desk.lapsed(hold);
  desk.left(hold, store::SessionReason::lapsed);
  EXPECT_EQ(logger->lines, 3);
}

// While it is saved it has work again, and is on its way out once more when the first save comes to its end.
TEST_F(SessionDeskTest, WhatLeavesIsWhatIsThereWhenItLeavesForGood) {
  const store::SessionHold hold = acquire("s");
  number(*enter(hold), handed) = 1;
  handed.while_saved = [&] {
    const auto stay = std::make_shared<std::unique_ptr<SessionStay>>(enter(hold));
    const auto work = [this, stay] {
      number(**stay, handed) = 2;
      stay->reset();
      desk.choose_leavers(true);
    };
    EXPECT_EQ((*stay)->state(handed, work), nullptr) << "it is being saved";
  };
  desk.choose_leavers(true);
  executor.run_all();

  standing.set_accepts(false);
  keeper.step();
  EXPECT_EQ(desk.size(), 0U);
  EXPECT_EQ(in_store("s", handed), 2);
}

// Two that run side by side: one of them is fresh, and both can tell what is old.
TEST_F(SessionDeskTest, AllActivitiesAreToldSinceWhenThisWorkerHasHeldTheSession) {
  const store::SessionHold before = acquire("s");
  ASSERT_TRUE(
      store->release_sessions(standing.key(), std::vector{store::SessionRelease{.hold = before}}).front());
  desk.left(before, store::SessionReason::idle);
  const WorkerKey other = *store->join({.node = "other", .abilities = settings.abilities});
  const auto in_between = store->acquire_session(other, settings.abilities, "s", {});
  ASSERT_TRUE(store
                  ->release_sessions(other, std::vector{store::SessionRelease{
                                                .hold = {"s", in_between->session.generation}}})
                  .front());
  const store::SessionHold hold = acquire("s");
  const auto first = enter(hold);
  const auto second = enter(hold);
  EXPECT_TRUE(first->shown()->fresh);
  EXPECT_FALSE(second->shown()->fresh);
  EXPECT_EQ(first->shown()->held_since, hold.generation);
  EXPECT_EQ(second->shown()->held_since, hold.generation);
  EXPECT_GT(second->shown()->held_since, before.generation);
}

TEST_F(SessionDeskTest, NothingIsBegunInASessionWhoseReleaseIsUnderWay) {
  const store::SessionHold hold = acquire("s");
  desk.choose_leavers(true);
  EXPECT_EQ(desk.releases().size(), 1U);
  EXPECT_EQ(enter(hold), nullptr) << "what it changes would not reach the next owner";
  desk.not_released(hold, clock.boot_now());
  EXPECT_NE(enter(hold), nullptr);
}

TEST_F(SessionDeskTest, WhatIsAskedForStaysAndComesBackWhenItWasAboutToLeave) {
  acquire("s");
  desk.choose_leavers(true);
  {
    const SessionDesk::Wish wish(desk, "s");
    EXPECT_TRUE(desk.releases().empty());
    desk.choose_leavers(true);
    EXPECT_TRUE(desk.releases().empty());
  }
  EXPECT_TRUE(desk.holds("s"));
  desk.choose_leavers(true);
  EXPECT_EQ(desk.releases().size(), 1U);
}

// What one activity saved may be with the store or not; another state has not been saved at all.
TEST_F(SessionDeskTest, ADrainWaitsForAStoreThatDoesNotSayWhatItHas) {
  const store::SessionHold hold = acquire("s");
  {
    const auto stay = enter(hold);
    number(*stay, handed) = 7;
    number(*stay, recorded) = 1;
    EXPECT_TRUE(stay->end_of_code(true));
  }
  standing.set_accepts(false);
  broken.points = {"memory.session"};
  keeper.step();
  executor.run_all();
  keeper.step();
  EXPECT_EQ(desk.size(), 1U);

  broken.points.clear();
  clock.advance(1s);
  keeper.step();
  executor.run_all();
  keeper.step();
  EXPECT_EQ(desk.size(), 0U);
  EXPECT_EQ(in_store("s", handed), 7);
}

// The answer to its claim was lost, so what is saved has to be read; and by then it is another's.
TEST_F(SessionDeskTest, AStateIsNotMadeFromWhatALaterOwnerSaved) {
  const auto claimed = store->acquire_session(standing.key(), settings.abilities, "s", {.lease = 30s});
  const auto stay = enter({"s", claimed->session.generation});
  ASSERT_NE(stay, nullptr);
  clock.advance(31s);
  const WorkerKey other = *store->join({.node = "other", .abilities = settings.abilities});
  ASSERT_TRUE(store->acquire_session(other, settings.abilities, "s", {.lease = 30s}));
  EXPECT_THROW(number(*stay, recorded), NoAnswer);
}

TEST_F(SessionDeskTest, ACallThatFailsForManySessionsIsOneFailure) {
  for (int i = 0; i < 20; ++i) acquire("s" + std::to_string(i), 30s);
  clock.advance(10s);
  broken.points = {"memory.renew_sessions"};
  EXPECT_LE(keeper.step().next_due - clock.boot_now(), 10ms);

  broken.points = {"memory.release_sessions"};
  clock.advance(1s);
  standing.set_accepts(false);
  EXPECT_LE(keeper.step().next_due - clock.boot_now(), 10ms);
  broken.points.clear();
  clock.advance(10ms);
  keeper.step();
  EXPECT_EQ(desk.size(), 0U);
}

TEST_F(SessionDeskTest, ASessionThatTheStoreDoesNotAnswerForMakesNoOtherWait) {
  const store::SessionHold slow = acquire("slow", 30s);
  const store::SessionHold quick = acquire("quick", 3s);
  clock.advance(1s);
  const BootTime now = clock.boot_now();
  desk.not_renewed(slow, now + 1min);
  EXPECT_EQ(desk.renewal_due(), now);
  ASSERT_EQ(desk.renewals().size(), 1U);
  EXPECT_EQ(desk.renewals().front().hold, quick);
}

// Nothing runs what was posted: it is as if to save took for ever.
TEST_F(SessionDeskTest, OneThatIsSlowToSaveDoesNotKeepOthersFromMakingRoom) {
  const store::SessionHold slow = acquire("slow");
  number(*enter(slow), handed) = 1;
  acquire("quiet");
  clock.advance(1s);
  desk.want_room(clock.boot_now());
  desk.choose_leavers(false);
  desk.want_room(clock.boot_now());
  desk.choose_leavers(false);
  EXPECT_TRUE(desk.releases().empty()) << "the first may make enough room";
  clock.advance(1s);
  desk.want_room(clock.boot_now());
  desk.choose_leavers(false);
  const auto releases = desk.releases();
  ASSERT_EQ(releases.size(), 1U);
  EXPECT_EQ(releases[0].hold.id, "quiet");
}

// The store refuses it: others have made room meanwhile, or nobody waits any more.
TEST_F(SessionDeskTest, OneThatIsNotDisplacedAfterAllIsNoReasonToTryAnother) {
  acquire("first");
  acquire("second");
  desk.want_room(clock.boot_now());
  EXPECT_TRUE(keeper.step().fetch) << "it says whether one still waits";
  EXPECT_EQ(desk.size(), 2U);
  EXPECT_FALSE(keeper.step().fetch);
  EXPECT_TRUE(desk.releases().empty());
}

TEST_F(SessionDeskTest, OneThatHasEndedLeavesWhenItsWorkerLooks) {
  acquire("s");
  ASSERT_TRUE(store->close_session("s", store::SessionReason::operated));
  keeper.look_for_wanted();
  EXPECT_EQ(desk.size(), 0U);
  EXPECT_TRUE(keeper.step().fetch) << "there is room for others";
  EXPECT_TRUE(store->wanted_sessions(standing.key())->empty()) << "it is acknowledged";
}

TEST_F(SessionDeskTest, OneThatSomebodyAsksForTakesNoMore) {
  const store::SessionHold hold = acquire("s");
  const auto runs = enter(hold);
  ASSERT_TRUE(store->ask_for_session("s", {}));
  keeper.look_for_wanted();
  EXPECT_EQ(enter(hold), nullptr);
  EXPECT_FALSE(desk.holds("s"));
}

// ---- leases that were over ----------------------------------------------------------------------

TEST_F(SessionDeskTest, AnOutageTakesNothingFromASessionThatIsQuiet) {
  const store::SessionHold hold = acquire("s");
  number(*enter(hold), handed) = 7;
  broken.points = {"memory.renew_sessions"};
  clock.advance(31s);
  keeper.step();
  broken.points = {};
  clock.advance(2s);
  ASSERT_TRUE(store->sweep({}));
  EXPECT_TRUE(keeper.step().fetch) << "there may be work of it by now";
  executor.run_all();
  ASSERT_TRUE(desk.find("s"));
  EXPECT_GT(desk.find("s")->generation, hold.generation);
  EXPECT_EQ(store->session("s")->state, store::SessionStatus::active);
  EXPECT_EQ(number(*enter(*desk.find("s")), handed), 7);
}

// The store answers reads, and no claims.
TEST_F(SessionDeskTest, ClaimsOfWhatHasLapsedAreTriedLessAndLessOften) {
  acquire("s");
  broken.points = {"memory.renew_sessions"};
  clock.advance(31s);
  keeper.step();
  broken.points = {"memory.acquire_session"};
  std::vector<Duration> pauses;
  for (int i = 0; i < 10; ++i) {
    const BootTime due = keeper.step().next_due;
    pauses.push_back(due - clock.boot_now());
    clock.advance(std::max(pauses.back(), Duration(1ms)));
  }
  EXPECT_GT(pauses.back(), pauses[1] * 4);
}

TEST_F(SessionDeskTest, WhatBecameIdleInAnOutageIsSavedAfterIt) {
  const store::SessionHold hold = acquire("s");
  number(*enter(hold), handed) = 7;
  broken.points = {"memory.renew_sessions"};
  clock.advance(settings.options.session_idle_timeout + 1s);
  keeper.step();
  broken.points = {};
  clock.advance(2s);
  ASSERT_TRUE(store->sweep({}));
  keeper.step();
  executor.run_all();
  keeper.step();
  EXPECT_EQ(desk.size(), 0U);
  EXPECT_EQ(in_store("s", handed), 7);
}

// The answer to the claim is on its way, or was lost.
TEST_F(SessionDeskTest, ANewerGenerationOfItsOwnIsNotTakenForAnothers) {
  const store::SessionHold hold = acquire("s");
  number(*enter(hold), handed) = 7;
  clock.advance(31s);
  const auto claimed = store->acquire_session(standing.key(), settings.abilities, "s", {.lease = 30s});
  ASSERT_GT(claimed->session.generation, hold.generation);
  keeper.step();
  executor.run_all();
  ASSERT_TRUE(desk.find("s"));
  EXPECT_EQ(desk.find("s")->generation, claimed->session.generation);
  EXPECT_EQ(number(*enter(*desk.find("s")), handed), 7);
}

TEST_F(SessionDeskTest, WorkOfAClaimWhoseAnswerWasLostFindsWhatIsInMemory) {
  const store::SessionHold hold = acquire("s");
  number(*enter(hold), handed) = 7;
  clock.advance(31s);
  const auto claimed = store->acquire_session(standing.key(), settings.abilities, "s", {.lease = 30s});
  const store::SessionHold now{"s", claimed->session.generation};
  desk.granted({.hold = now, .held_since = claimed->session.held_since, .lease = 30s}, clock.boot_now());
  EXPECT_EQ(number(*enter(now), handed), 7);
}

TEST_F(SessionDeskTest, ButNotWhenAnotherWorkerHadTheSessionInBetween) {
  const store::SessionHold hold = acquire("s");
  number(*enter(hold), handed) = 7;
  const WorkerKey other{*store->join({.node = "other"})};
  clock.advance(31s);
  ASSERT_TRUE(store->acquire_session(other, {}, "s", {}));
  clock.advance(31s);
  standing.heard_at(clock.boot_now());
  const auto claimed = store->acquire_session(standing.key(), settings.abilities, "s", {.lease = 30s});
  const store::SessionHold now{"s", claimed->session.generation};
  desk.granted({.hold = now, .held_since = claimed->session.held_since, .lease = 30s}, clock.boot_now());
  EXPECT_EQ(number(*enter(now), handed), 0);
}

TEST_F(SessionDeskTest, ManyThatHaveLapsedAreClaimedAgainAFewAtATime) {
  for (int i = 0; i < 100; ++i) acquire("s" + std::to_string(i));
  clock.advance(31s);
  const auto active = [&] {
    return std::ranges::count(*store->sessions({.limit = 1000}), store::SessionStatus::active,
                              &store::SessionView::state);
  };
  keeper.step();
  const auto at_once = active();
  EXPECT_GT(at_once, 0);
  EXPECT_LT(at_once, 100);
  for (int i = 0; i < 10; ++i) {
    clock.advance(100ms);
    keeper.step();
  }
  EXPECT_EQ(active(), 100);
  EXPECT_EQ(desk.size(), 100U);
}

// ---- registrations ------------------------------------------------------------------------------

TEST_F(SessionDeskTest, AWorkerThatOthersMayTakeForGoneBeginsNothingOfItsSessions) {
  const store::SessionHold hold = acquire("s", 10min);
  clock.advance(settings.options.worker_stale_after - 1s);
  EXPECT_FALSE(desk.holds("s"));
  EXPECT_EQ(enter(hold), nullptr);
  standing.heard_at(clock.boot_now());
  EXPECT_TRUE(desk.holds("s"));
  EXPECT_NE(enter(hold), nullptr);
}

}  // namespace
}  // namespace holdfast::runtime::session_desk_test
