// What nobody can read is kept with its bytes, and blocks nobody.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(set_aside);

namespace holdfast::testing::conformance {
namespace {

const std::string kDamaged("\x00\xff damaged", 10);

STORE_TEST(SetAside, AMessageIsKeptOutOfTheWay) {
  const Worker a = join("a");
  start("order-1");
  tell("order-1", kDamaged);
  Turn turn = a.fetch_turn();
  const MessageId damaged = turn->messages.at(1).id;
  a.commit(turn.sets_aside(1));
  EXPECT_TRUE(row("order-1").messages.empty());
  EXPECT_EQ(names(a.fetch_turns()), Texts{});

  const auto rows = must(store().set_aside(0, 10));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].number, 1U);
  EXPECT_EQ(rows[0].key, turn.key());
  EXPECT_EQ(rows[0].what, "message " + to_string(damaged) + " (control)");
  EXPECT_EQ(rows[0].problem, "can't be decoded");
  EXPECT_EQ(rows[0].bytes, kDamaged);
  EXPECT_EQ(rows[0].at, clock().calendar_now());
}

STORE_TEST(SetAside, AnActivityIsKeptAndItsInstanceTold) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules({.event = EventId{5}, .name = "charge", .body = kDamaged}));
  EXPECT_EQ(answer(a.set_aside(a.fetch_activity(), "not an order")), "ok");
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"taken 1/5: unreadable"});

  const auto rows = must(store().set_aside(0, 10));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key, turn.key());
  EXPECT_EQ(rows[0].what, "activity " + to_string(turn.key()) + "/1/5 (charge)");
  EXPECT_EQ(rows[0].problem, "not an order");
  EXPECT_EQ(rows[0].bytes, kDamaged);
}

STORE_TEST(SetAside, ARefusedTurnSetsNothingAside) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.sets_aside(0).commit.expected = token<TurnStamp>();
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(turn)), "lost"); });
}

STORE_TEST(SetAside, OthersOfTheBatchGoOn) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("ship"));
  const Works fetched = a.fetch_activities();
  ASSERT_EQ(fetched.works.size(), 2U);
  const std::vector<ActivityResult> results{
      {fetched.works[0].id(), fetched.works[0].token, store::SetAside{"unreadable"}},
      {fetched.works[1].id(), fetched.works[1].token, Finished{"shipped"}}};
  EXPECT_EQ(answers(store().finish_activities(results)), (Texts{"ok", "ok"}));
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"taken 1/2: unreadable", "outcome 1/3: shipped"}));
}

STORE_TEST(SetAside, RowsComeInPages) {
  const Worker a = join("a");
  start("order-1");
  for (int i = 1; i <= 4; ++i) tell("order-1", std::to_string(i));
  Turn turn = a.fetch_turn();
  for (std::size_t i = 1; i <= 4; ++i) turn.sets_aside(i);
  a.commit(turn);

  Texts bodies;
  std::uint64_t after = 0;
  for (auto page = must(store().set_aside(after, 3)); !page.empty();
       page = must(store().set_aside(after, 3))) {
    EXPECT_LE(page.size(), 3U);
    for (const SetAsideRow& row : page) bodies.push_back(row.bytes);
    after = page.back().number;
  }
  EXPECT_EQ(bodies, (Texts{"1", "2", "3", "4"}));
}

}  // namespace
}  // namespace holdfast::testing::conformance
