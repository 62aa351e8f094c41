// Values and custom status: what an instance shows to others.
#include "testkit/conformance/story.hpp"

#include <map>

HOLDFAST_CONFORMANCE_FILE(values);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Values, AreSetReplacedAndRemoved) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.sets_value("colour", "blue").sets_value("size", "").keeps_lock());
  EXPECT_EQ(must(store().value("order-1", "colour")), "blue");
  EXPECT_EQ(must(store().value("order-1", "size")), "");
  a.commit(turn.sets_value("colour", "red").removes_value("size").removes_value("unknown").keeps_lock());
  EXPECT_EQ(must(store().value("order-1", "colour")), "red");
  EXPECT_EQ(must(store().value("order-1", "size")), std::nullopt);
}

STORE_TEST(Values, TheLastChangeOfATurnStands) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .sets_value("colour", "blue")
               .removes_value("colour")
               .sets_value("colour", "red")
               .sets_value("size", "large")
               .removes_value("size"));
  EXPECT_EQ(row("order-1").values, (std::map<std::string, std::string>{{"colour", "red"}}));
}

STORE_TEST(Values, OfAnInstanceThatIsNotThereAreNotFound) {
  EXPECT_EQ(answer(store().value("nobody", "colour")), "not_found");
  start("order-1");
  EXPECT_EQ(must(store().value("order-1", "colour")), std::nullopt);
}

STORE_TEST(Values, StayAfterTheEnd) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_value("colour", "blue").ends());
  EXPECT_EQ(must(store().value("order-1", "colour")), "blue");
}

STORE_TEST(Values, AnotherInstanceMayReadThem) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_value("colour", "blue").sets_value("empty", ""));
  Turn reader = a.begin("reader");
  EXPECT_TRUE(a.commit(reader.reads_value(EventId{5}, "order-1", "colour")
                           .reads_value(EventId{6}, "order-1", "size")
                           .reads_value(EventId{7}, "nobody", "colour")
                           .reads_value(EventId{8}, "order-1", "empty"))
                  .ready);
  EXPECT_EQ(a.fetch_turn().messages(),
            (Texts{"value 1/5: blue", "value 1/6: none", "value 1/7: no instance", "value 1/8: "}));
}

STORE_TEST(Values, AReadSeesWhatTheSameTurnSet) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_value("colour", "blue").reads_value(EventId{5}, "order-1", "colour"));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"value 1/5: blue"});
}

STORE_TEST(CustomStatus, ShowsTheLastOneAndCountsChanges) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  EXPECT_EQ(find("order-1").custom_status, std::nullopt);
  EXPECT_EQ(find("order-1").custom_status_version, 0U);
  a.commit(turn.shows("half done").keeps_lock());
  EXPECT_EQ(find("order-1").custom_status, "half done");
  EXPECT_EQ(find("order-1").custom_status_version, 1U);
  a.commit(turn.keeps_lock());
  EXPECT_EQ(find("order-1").custom_status_version, 1U);
  a.commit(turn.shows("").keeps_lock());
  EXPECT_EQ(find("order-1").custom_status, "");
  EXPECT_EQ(find("order-1").custom_status_version, 2U);
}

STORE_TEST(CustomStatus, StaysAfterTheEndAndTheNextExecution) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.shows("half done").continues_as_new("again").keeps_lock());
  EXPECT_EQ(find("order-1").custom_status, "half done");
  a.commit(turn.ends());
  EXPECT_EQ(find("order-1").custom_status, "half done");
}

STORE_TEST(CustomStatus, AChangeMovesTheTimeOfTheUpdate) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  EXPECT_EQ(find("order-1").updated_at, clock().calendar_now());
  pass(10s);
  a.commit(turn.keeps_lock());
  EXPECT_EQ(find("order-1").updated_at, clock().calendar_now() - 10s);
  a.commit(turn.shows("half done").keeps_lock());
  EXPECT_EQ(find("order-1").updated_at, clock().calendar_now());
  pass(10s);
  a.commit(turn.ends());
  EXPECT_EQ(find("order-1").updated_at, clock().calendar_now());
  EXPECT_EQ(find("order-1").created_at, clock().calendar_now() - 20s);
}

}  // namespace
}  // namespace holdfast::testing::conformance
