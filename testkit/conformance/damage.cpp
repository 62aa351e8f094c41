// Rows that can't be decoded are set aside with their bytes, and become something that everybody can read:
// they stop nobody but themselves.
#include "testkit/conformance/story.hpp"
#include "testkit/dice.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

HOLDFAST_CONFORMANCE_FILE(damage);

namespace holdfast::testing::conformance {
namespace {

/// No form of the contract begins like that.
const std::string kDamaged("\xff\xff\xff\xff\x7f damaged", 13);

Damage to(Damage::To what, std::string id) { return {.to = what, .id = std::move(id), .bytes = kDamaged}; }

std::vector<SetAsideRow> aside(const World& world) { return must(world.store().set_aside(0, 1000)); }

DAMAGE_TEST(Damage, WhatAnInstanceWaitsForIsToldAnewByItsNextTurn) {
  const Worker a = join("a");
  Turn turn = a.begin("victim");
  const TurnStamp before = turn.commit.stamp;
  a.commit(turn.waits_for({event("paid")}));
  EXPECT_EQ(damage(to(Damage::To::waits, "victim")), 1U);
  raise("victim", "shipped", "not awaited");
  start("healthy");

  Turns fetched = a.fetch_turns();
  ASSERT_EQ(names(fetched), (Texts{"victim", "healthy"}));
  EXPECT_NE(fetched.turns[0]->stamp, before) << "a frame in memory would not tell what it waits for";
  const auto rows = aside(*this);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key, turn.key());
  EXPECT_EQ(rows[0].what, "instance " + to_string(turn.key()) + " (what it waits for)");
  EXPECT_EQ(rows[0].bytes, kDamaged);

  a.commit(fetched.turns[0].waits_for({event("paid")}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  raise("victim", "paid", "14");
  EXPECT_EQ(names(a.fetch_turns()), Texts{"victim"});
  EXPECT_EQ(aside(*this).size(), 1U);
}

DAMAGE_TEST(Damage, AnInstanceWhoseCodeIsNotKnownIsParkedAndDeletable) {
  const Worker a = join("a");
  start("victim");
  start("healthy");
  EXPECT_EQ(damage(to(Damage::To::code, "victim")), 1U);
  raise("victim", "paid", "14");  // whoever looks at it finds out
  EXPECT_EQ(names(a.fetch_turns()), Texts{"healthy"});
  EXPECT_EQ(find("victim").status, InstanceStatus::parked);
  EXPECT_NE(find("victim").parked_because, "");
  tell("victim", "terminate");
  EXPECT_EQ(names(a.fetch_turns()), Texts{"victim"}) << "whoever ends it needs no code";
  const auto rows = aside(*this);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].what, "instance " + to_string(find("victim").key) + " (its code)");
  EXPECT_EQ(list(), (Texts{"healthy", "victim"}));
  must(store().delete_instance("victim", true, {}));
  start("victim");
  EXPECT_EQ(names(a.fetch_turns()), Texts{"victim"});
}

DAMAGE_TEST(Damage, AMessageThatCantBeDecodedIsSetAsideByItsTurn) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules("charge"));
  must(a.set_aside(a.fetch_activity(), "not an order"));
  EXPECT_EQ(damage(to(Damage::To::messages, "order-1")), 1U);
  Turn next = a.fetch_turn();
  ASSERT_EQ(next->messages.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<std::string>(next->messages[0].body));
  a.commit(next.sets_aside(0));
  ASSERT_EQ(aside(*this).size(), 2U);
  EXPECT_EQ(aside(*this)[1].what, "message " + to_string(next->messages[0].id) + " (taken)");
  EXPECT_EQ(aside(*this)[1].bytes, kDamaged);
}

DAMAGE_TEST(Damage, ASessionWithoutItsPolicyIsAbortedAndItsActivitiesFail) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.schedules({.name = "charge", .session = SessionUse{.id = "bad"}}).schedules("ship");
  turn.schedules({.name = "render", .session = SessionUse{.id = "good"}}).watches_session("bad");
  a.commit(turn);
  EXPECT_EQ(damage(to(Damage::To::policy, "bad")), 1U);
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"ship", "render"}));
  sweep();
  EXPECT_EQ(session("bad").state, SessionStatus::failed);
  EXPECT_EQ(session("bad").reason, SessionReason::aborted);
  EXPECT_NE(session("bad").note, "");
  EXPECT_EQ(session("good").state, SessionStatus::active);
  const auto rows = aside(*this);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].what, "session bad (its policy)");
  EXPECT_EQ(rows[0].bytes, kDamaged);
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"taken 1/2: session_aborted", "news bad: lost"}));
  EXPECT_EQ(must(store().session_log("bad", 0, 100)).back().kind, SessionLogEntry::Kind::aborted);
}

DAMAGE_TEST(Damage, WhatRunsInASessionWithoutItsPolicyMayFinishAndItsOwnerIsTold) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "charge", .session = SessionUse{.id = "bad"}}));
  const Work work = a.fetch_activity();
  EXPECT_EQ(damage(to(Damage::To::policy, "bad")), 1U);
  EXPECT_FALSE(a.renew(work->session->hold));
  const auto wanted = must(store().wanted_sessions(a.key));
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(wanted[0].hold.id, "bad");
  EXPECT_EQ(wanted[0].ended, SessionReason::aborted);
  EXPECT_EQ(answer(a.finish(work)), "ok");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/2: result"});
  EXPECT_EQ(a.acquire("bad").kind, Acquired::Kind::reacquired);
  EXPECT_EQ(session("bad").state, SessionStatus::active);
}

DAMAGE_TEST(Damage, AWorkerOfWhichNobodyKnowsWhatItCanDoJoinsAgain) {
  const Worker a = join("a");
  const Worker b = join("b");
  EXPECT_EQ(damage(to(Damage::To::worker, "b")), 1U);
  const auto store = another_handle();  // which has not seen it yet
  must(store->refresh(a.key, false));
  EXPECT_EQ(answer(store->refresh(b.key, false)), "not_found");
  EXPECT_EQ(must(store->workers()).size(), 1U);
  const auto rows = aside(*this);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].what, "worker " + to_string(b.key) + " (what it can do)");
  must(store->join(b.info));
  EXPECT_EQ(must(store->workers()).size(), 2U);
}

// ---- at random -----------------------------------------------------------------------------------

/// Instances that run activities and wait for events by turns, while rows are damaged. Those that were not
/// hit have exactly the outcomes that they would have had; the others end, or are parked, and none waits for
/// ever.
class Game {
 public:
  Game(const World& world, std::uint64_t seed)
      : worlds_{World(world, "default"), World(world, "default")}, random_(seed) {
    for (std::size_t i = 0; i < worlds_.size(); ++i) join(i);
    for (int i = 0; i < kInstances; ++i) {
      const std::string id = "order-" + std::to_string(i);
      orders_.try_emplace(id, Order{.session = "s" + std::to_string(i % kSessions)});
      worlds_[0].start(id);
    }
  }

  void play() {
    for (int step = 0; step < kStepsWithDamage; ++step) {
      if (dice_.one_in(6)) {
        damage_something();
      } else {
        move();
      }
    }
    for (int step = 0; step < kStepsAfterwards && !all_ended(); ++step) move();
    for (const auto& [id, order] : orders_) {
      EXPECT_TRUE(order.ended || order.parked) << id << " did not end; it was at step " << order.step;
      EXPECT_EQ(worlds_[0].find(id).status, order.parked ? InstanceStatus::parked : InstanceStatus::completed)
          << id;
    }
    look_at_all();
    expect_all_set_aside();
  }

 private:
  static constexpr int kInstances = 6;
  static constexpr int kSessions = 3;
  static constexpr int kSteps = 6;
  static constexpr int kStepsWithDamage = 120;
  static constexpr int kStepsAfterwards = 2000;

  /// An instance as its code knows it: even steps are activities, every other one in a session, odd steps are
  /// events.
  struct Order {
    std::string session{};
    int step = -1;  ///< that it is at; it has not begun
    bool raised = false;
    std::set<EventId> seen{};  ///< activities that were answered
    bool lost_message = false;
    bool parked = false;
    bool ended = false;
  };

  void join(std::size_t i) { workers_[i].emplace(worlds_[i].join("w" + std::to_string(i))); }

  template <class T>
  bool is_ours(std::size_t i, const StoreResult<T>& answer) {
    if (answer) return true;
    EXPECT_EQ(conformance::answer(answer), "not_found") << answer.error().message;
    join(i);
    return false;
  }

  void move() {
    const std::size_t i = dice_.below(worlds_.size());
    switch (dice_.below(6)) {
      case 0:
      case 1:
        return take_turns(i);
      case 2:
        return take_activities(i);
      case 3:
        return raise(i);
      case 4:
        static_cast<void>(is_ours(i, worlds_[i].store().refresh(workers_[i]->key, false)));
        static_cast<void>(worlds_[i].sweep());
        return;
      default:
        return worlds_[i].pass(dice_.between(1ms, 200ms));
    }
  }

  void take_turns(std::size_t i) {
    const auto fetched = workers_[i]->try_fetch_turns(2);
    if (!is_ours(i, fetched)) return;
    for (const LockedTurn& locked : fetched->turns) {
      // Between the fetch and the commit.
      if (dice_.one_in(10)) damage_something();
      Turn turn(worlds_[i], locked);
      Order next = orders_.at(locked.instance);
      run(locked.instance, turn, next);
      const auto committed = workers_[i]->try_commit(turn);
      if (committed) {
        orders_.at(locked.instance) = std::move(next);
      } else {
        // What it read is read again.
        EXPECT_TRUE(hit_.contains(locked.instance)) << locked.instance << ": " << committed.error().message;
      }
    }
  }

  void run(const std::string& id, Turn& turn, Order& order) {
    turn.commit.consumed.clear();
    bool answered = order.step < 0;
    for (std::size_t at = 0; at < turn->messages.size(); ++at) {
      const Message& message = turn->messages[at];
      const bool is_typed = message.kind == MessageKind::taken;
      if (is_typed && std::holds_alternative<std::string>(message.body)) {
        EXPECT_TRUE(hit_.contains(id)) << id;
        turn.sets_aside(at);
        answered = true;
        continue;
      }
      turn.consumes(at);
      if (message.kind == MessageKind::outcome || is_typed) {
        EXPECT_TRUE(order.seen.insert(message.source).second) << id << " had an answer twice";
        EXPECT_TRUE(!is_typed || hit_.contains(order.session)) << id << " lost " << text(message);
        answered = true;
      }
      if (message.kind == MessageKind::delivery) answered = true;
    }
    if (answered) begin_step(turn, order);
    // What it waits for is told by each turn, also by one that comes for nothing.
    if (!order.ended)
      turn.waits_for(order.step % 2 == 0 ? std::vector<Address>{} : std::vector{event(name_of(order.step))});
  }

  static std::string name_of(int step) { return "go-" + std::to_string(step); }

  static void begin_step(Turn& turn, Order& order) {
    order.raised = false;
    if (++order.step == kSteps) {
      order.ended = true;
      turn.ends();
    } else if (order.step % 4 == 0) {
      turn.schedules("charge");
    } else if (order.step % 2 == 0) {
      turn.schedules({.name = "render", .session = SessionUse{.id = order.session}});
    }
  }

  void take_activities(std::size_t i) {
    const auto token = worlds_[i].token<LockToken>();
    const auto fetched = worlds_[i].store().fetch_activities({.worker = workers_[i]->key,
                                                              .abilities = &workers_[i]->info.abilities,
                                                              .token = token,
                                                              .lease = 30s,
                                                              .max = 3});
    if (!is_ours(i, fetched)) return;
    for (const LockedActivity& activity : fetched->activities) works_.push_back({activity, token});
    while (!works_.empty() && !dice_.one_in(4)) {
      const Work work = std::move(works_.back());
      works_.pop_back();
      const auto finished = workers_[i]->finish(work);
      const bool may_be_gone = work->session && hit_.contains(work->session->hold.id);
      EXPECT_TRUE(finished || may_be_gone) << answer(finished);
    }
  }

  void raise(std::size_t i) {
    for (auto& [id, order] : orders_) {
      if (order.parked || order.ended || order.raised || order.step % 2 != 1) continue;
      order.raised = true;
      worlds_[i].raise(id, name_of(order.step), "go");
    }
  }

  void damage_something() {
    const std::string id = "order-" + std::to_string(dice_.below(kInstances));
    Order& order = orders_.at(id);
    Damage damage{.bytes = "\xff\xff\xff\xff\x7f " + std::to_string(++damages_)};
    switch (dice_.below(10)) {
      case 0:
        damage.to = Damage::To::code;
        damage.id = id;
        if (order.ended || order.parked || dice_.chance(60) || worlds_[0].damage(damage) == 0) return;
        hit_.insert(id);
        order.parked = true;
        // Whoever asks next notices.
        worlds_[0].tell(id, "are you there?");
        return;
      case 1:
        damage.to = Damage::To::worker;
        damage.id = "w" + std::to_string(dice_.below(workers_.size()));
        worlds_[0].damage(damage);
        static_cast<void>(worlds_[0].another_handle()->refresh(workers_[0]->key, false));
        static_cast<void>(worlds_[0].another_handle()->refresh(workers_[1]->key, false));
        return;
      case 2:
      case 3:
        damage.to = Damage::To::policy;
        damage.id = order.session;
        if (worlds_[0].damage(damage) == 0) return;
        hit_.insert(order.session);
        expected_.insert_or_assign("session " + order.session, damage.bytes);
        return;
      case 4:
      case 5:
        damage.to = Damage::To::messages;
        damage.id = id;
        if (worlds_[0].damage(damage) > 0) hit_.insert(id);
        return;
      default:
        damage.to = Damage::To::waits;
        damage.id = id;
        if (order.ended || worlds_[0].damage(damage) == 0) return;
        hit_.insert(id);
        expected_.insert_or_assign("instance " + id, damage.bytes);
    }
  }

  [[nodiscard]] bool all_ended() const {
    return std::ranges::all_of(orders_,
                               [](const auto& entry) { return entry.second.ended || entry.second.parked; });
  }

  /// What nobody has asked for since it was damaged is noticed now.
  void look_at_all() {
    for (const auto& [id, order] : orders_)
      static_cast<void>(worlds_[0].try_send(worlds_[0].message_to(id, control("?"))));
    for (int i = 0; i < kSessions; ++i)
      static_cast<void>(worlds_[0].store().close_session("s" + std::to_string(i), SessionReason::operated));
  }

  void expect_all_set_aside() {
    std::set<std::string> found;
    for (const SetAsideRow& row : aside(worlds_[0])) {
      if (row.bytes.empty()) continue;
      EXPECT_TRUE(found.insert(row.bytes).second) << row.what << " was set aside twice";
    }
    for (const auto& [what, bytes] : expected_)
      EXPECT_TRUE(found.contains(bytes)) << what << " was not set aside";
  }

  std::array<World, 2> worlds_;
  SeededRandom random_;
  Dice dice_{random_};
  std::array<std::optional<Worker>, 2> workers_{};
  std::map<std::string, Order> orders_{};
  std::vector<Work> works_{};
  std::set<std::string> hit_{};  ///< instances and sessions
  std::map<std::string, std::string> expected_{};
  int damages_ = 0;
};

DAMAGE_TEST(Damage, AtRandomIsInTheWayOfNobodyElse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const World world(under_test());
    Game(world, seed).play();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace holdfast::testing::conformance
