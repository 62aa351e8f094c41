// A full worker gives up a session for one that waits: one for one, whoever else is full.
#include "testkit/conformance/session_story.hpp"

HOLDFAST_CONFORMANCE_FILE(session_displacement);

namespace holdfast::testing::conformance {
namespace {

/// Has room for one session, and holds that one.
struct Full {
  Full(World& world, const std::string& node, const std::set<std::string>& capabilities = {})
      : worker(world.join(with_room_for_one(node, capabilities))),
        hold{"of " + node, worker.acquire("of " + node).session.generation} {}

  static NewWorker with_room_for_one(const std::string& node, const std::set<std::string>& capabilities) {
    NewWorker info = worker_info(node);
    info.abilities.session_limit = 1;
    info.abilities.capabilities = {capabilities.begin(), capabilities.end()};
    return info;
  }
  /// What the store says to its being displaced.
  [[nodiscard]] std::string displaced() const {
    return answer(worker.release(hold, SessionReason::displaced));
  }
  /// Whether a fetch says that room is wanted.
  [[nodiscard]] bool is_asked_for_room() const {
    const Works none = worker.fetch_activities();
    EXPECT_TRUE(none.works.empty());
    return none.wants_capacity.has_value();
  }

  Worker worker;
  SessionHold hold;
};

void schedule(const Full& by, const std::string& id, SessionPolicy policy = {}) {
  by.worker.commit(by.worker.begin("order of " + id).schedules(of_session(id, std::move(policy))));
}

STORE_TEST(SessionDisplacement, OneThatWaitsDisplacesOne) {
  const Full a(*this, "a");
  const Full b(*this, "b");
  schedule(a, "waits");
  pass(kWaitsForRoom);
  EXPECT_TRUE(a.is_asked_for_room());
  EXPECT_TRUE(b.is_asked_for_room());
  EXPECT_EQ(a.displaced(), "ok");
  EXPECT_EQ(b.displaced(), "conflict");
  EXPECT_FALSE(b.is_asked_for_room());
  EXPECT_EQ(session("waits").wanted, "a");
  EXPECT_EQ(session("waits").kept_for, kWaitsForRoom);
  EXPECT_EQ(a.worker.fetch_activity()->session->hold.id, "waits");
  EXPECT_EQ(session("waits").wanted, std::nullopt);
  EXPECT_EQ(b.displaced(), "conflict");
  EXPECT_EQ(session("of b").owner, "b");
}

STORE_TEST(SessionDisplacement, AsManyAreDisplacedAsWait) {
  const Full a(*this, "a");
  const Full b(*this, "b");
  const Full c(*this, "c");
  schedule(a, "first");
  schedule(a, "second");
  pass(kWaitsForRoom);
  EXPECT_EQ(c.displaced(), "ok");
  EXPECT_EQ(a.displaced(), "ok");
  EXPECT_EQ(b.displaced(), "conflict");
  EXPECT_EQ(c.worker.fetch_activity()->session->hold.id, "first");
  EXPECT_EQ(a.worker.fetch_activity()->session->hold.id, "second");
}

STORE_TEST(SessionDisplacement, NobodyIsDisplacedWhileNobodyWaits) {
  const Full a(*this, "a");
  EXPECT_EQ(a.displaced(), "conflict");
  schedule(a, "waits");
  pass(kWaitsForRoom - 1ms);
  EXPECT_EQ(a.displaced(), "conflict") << "somebody with room may take it";
  pass(1ms);
  EXPECT_EQ(a.displaced(), "ok");
}

STORE_TEST(SessionDisplacement, NobodyIsDisplacedForWhatTheWorkerMayNotClaim) {
  const Full a(*this, "a");
  const Full gpu(*this, "gpu", {"gpu"});
  schedule(a, "waits", {.requirements = {"gpu"}});
  pass(kWaitsForRoom);
  EXPECT_EQ(a.displaced(), "conflict");
  EXPECT_EQ(gpu.displaced(), "ok");
}

STORE_TEST(SessionDisplacement, NobodyIsDisplacedWhereThereIsRoom) {
  const Full a(*this, "a");
  NewWorker with_room = worker_info("b");
  with_room.abilities.session_limit = 2;
  const Worker b = join(with_room);
  const SessionHold hold{"of b", b.acquire("of b").session.generation};
  schedule(a, "waits");
  pass(kWaitsForRoom);
  EXPECT_EQ(answer(b.release(hold, SessionReason::displaced)), "conflict");
}

// Whoever made room may have no slot any more, or be gone.
STORE_TEST(SessionDisplacement, AnotherMakesRoomWhereTheFirstDoesNotTakeWhatWaits) {
  const Full a(*this, "a");
  const Full b(*this, "b");
  schedule(a, "waits");
  pass(kWaitsForRoom);
  EXPECT_EQ(a.displaced(), "ok");
  const Works none = b.worker.fetch_activities();
  EXPECT_LE(none.next_due, kWaitsForRoom);
  pass(kWaitsForRoom);
  EXPECT_TRUE(b.is_asked_for_room());
  EXPECT_EQ(b.displaced(), "ok");
  EXPECT_EQ(b.worker.fetch_activity()->session->hold.id, "waits");
}

STORE_TEST(SessionDisplacement, WhatALapsedOwnerLeftIsKeptForWhoMakesRoomForIt) {
  const Full lost(*this, "lost");
  schedule(lost, lost.hold.id);
  pass(lost.worker.info.abilities.session_lease);
  const Full a(*this, "a");
  const Full b(*this, "b");
  EXPECT_EQ(a.displaced(), "ok");
  EXPECT_EQ(b.displaced(), "conflict");
  EXPECT_EQ(session(lost.hold.id).state, SessionStatus::unclaimed);
  const Work work = a.worker.fetch_activity();
  EXPECT_EQ(work->session->hold.id, lost.hold.id);
  EXPECT_EQ(work->session->reason, SessionReason::lapsed);
  EXPECT_EQ(work->session->previous_owner, "lost");
}

// What it has in memory is still true.
STORE_TEST(SessionDisplacement, WhatLapsedUnderTheWorkerItselfStaysItsOwn) {
  const Full a(*this, "a");
  schedule(a, a.hold.id);
  pass(a.worker.info.abilities.session_lease);
  const SessionHold other{"other", a.worker.acquire("other").session.generation};
  EXPECT_EQ(answer(a.worker.release(other, SessionReason::displaced)), "ok");
  EXPECT_EQ(session(a.hold.id).state, SessionStatus::lapsed);
  EXPECT_TRUE(a.worker.fetch_activity()->session->same_owner);
}

// A move by an operator lasts as long as the operator said.
STORE_TEST(SessionDisplacement, WhatIsKeptForTheWorkerStaysSo) {
  const Full a(*this, "a");
  const Full b(*this, "b");
  must(b.worker.release(b.hold, SessionReason::idle));
  must(store().ask_for_session(b.hold.id, {.to = "a", .keep_for = 1min}));
  schedule(a, b.hold.id);
  pass(kWaitsForRoom);
  EXPECT_EQ(a.displaced(), "ok");
  EXPECT_EQ(session(b.hold.id).kept_for, 1min - kWaitsForRoom);
}

}  // namespace
}  // namespace holdfast::testing::conformance
