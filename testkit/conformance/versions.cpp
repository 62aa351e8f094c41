// Which worker may take an instance, by the version that it asks for.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(versions);

namespace holdfast::testing::conformance {
namespace {

NewWorker with_versions(std::string node, std::set<std::string> versions) {
  NewWorker info = worker_info(std::move(node));
  info.code.orchestrations.clear();
  for (const std::string& version : versions) info.code.orchestrations.insert({"order", version});
  return info;
}

InstanceKey start_in(World& world, const std::string& id, const std::string& version) {
  StartRequest request = world.start_of(id);
  request.code.version = version;
  return world.start(request).key;
}

STORE_TEST(Versions, ARangeIsServedByWhoHasAVersionInIt) {
  const Worker old = join(with_versions("old", {"", "1", "2"}));
  const Worker later = join(with_versions("later", {"", "2.1", "3"}));
  start_in(*this, "compatible", "^2.1");
  start_in(*this, "many", ">=1 <2.1");
  EXPECT_EQ(names(old.fetch_turns()), Texts{"many"});
  EXPECT_EQ(names(later.fetch_turns()), Texts{"compatible"});
  EXPECT_EQ(describe("compatible").workers, 1U);
}

STORE_TEST(Versions, ARangeThatNobodyServesWaitsInNobodysWay) {
  const Worker a = join(with_versions("a", {"", "1"}));
  start_in(*this, "order-1", "^2");
  start_in(*this, "order-2", "1");
  start_in(*this, "order-3", "");
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"order-2", "order-3"}));
  EXPECT_EQ(describe("order-1").workers, 0U);
  const Worker b = join(with_versions("b", {"2.3"}));
  EXPECT_EQ(names(b.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Versions, ARangeThatAnotherHandleBroughtIsFoundAtOnce) {
  const Worker a = join(with_versions("a", {"", "1"}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  const auto other = another_handle();
  const auto start_there = [&](const std::string& id, const std::string& version) {
    StartRequest request = start_of(id);
    request.code.version = version;
    must(only(other->start(one(request))));
  };
  start_there("order-1", "~1");
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
  start_there("order-2", ">=1");
  start_there("order-3", "1");
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"order-2", "order-3"})) << "beside others, too";
}

STORE_TEST(Versions, TheFirstTurnDecides) {
  const Worker a = join(with_versions("a", {"", "1", "1.1"}));
  start_in(*this, "order-1", "^1");
  Turn turn = a.fetch_turn();
  EXPECT_EQ(turn->code.version, "^1");
  turn.commit.version = "1.1";
  a.commit(turn.schedules("charge"));
  EXPECT_EQ(find("order-1").code.version, "1.1");
  const Worker b = join(with_versions("b", {"", "1"}));
  must(a.finish(a.fetch_activity()));
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Versions, ANextExecutionMayAskForARange) {
  const Worker a = join(with_versions("a", {"", "1"}));
  start_in(*this, "order-1", "1");
  a.commit(a.fetch_turn().continues_as_new("again", ">=2"));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  const Worker b = join(with_versions("b", {"2"}));
  EXPECT_EQ(names(b.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Versions, AParkedInstanceOfARangeIsWoken) {
  const Worker a = join(with_versions("a", {"", "1"}));
  start_in(*this, "order-1", "^1");
  const Turn turn = a.fetch_turn();
  must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  EXPECT_EQ(must(store().wake_parked({.orchestrations = {{"order", "2"}}})), 0U);
  EXPECT_EQ(must(store().wake_parked({.orchestrations = {{"order", "1.5"}}})), 1U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
