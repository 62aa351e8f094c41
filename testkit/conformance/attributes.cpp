// Search attributes: what instances are found, ordered and counted by.
#include "testkit/conformance/story.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

HOLDFAST_CONFORMANCE_FILE(attributes);

namespace holdfast::testing::conformance {
namespace {

using Is = AttributeCondition::Is;
using store::InstanceCount;
using store::InstanceFilter;
using store::InstanceStatus;

std::int64_t number(std::int64_t value) { return value; }

InstanceFilter where(std::string name, Is is, AttributeValue value) {
  return {.attributes = {{std::move(name), is, std::move(value)}}};
}

/// The next turn of this instance; other ones are given back.
Turn turn_of(const Worker& worker, const std::string& id) {
  std::optional<Turn> wanted;
  Turns fetched = worker.fetch_turns(100);
  for (Turn& turn : fetched.turns) {
    if (turn->instance == id) {
      wanted.emplace(std::move(turn));
    } else {
      EXPECT_TRUE(worker.release(turn));
    }
  }
  return std::move(wanted).value();
}

void start_with(const World& world, const std::string& id, std::vector<Attribute> attributes) {
  store::StartRequest request = world.start_of(id);
  request.attributes = std::move(attributes);
  world.start(request);
}

STORE_TEST(Attributes, OfAStartAreShownAndFound) {
  start_with(*this, "order-1", {{"cents", number(1200)}, {"customer", "acme"}});
  start_with(*this, "order-2", {{"customer", "zeta"}});
  start("order-3");
  EXPECT_EQ(find("order-1").attributes,
            (std::vector<Attribute>{{"cents", number(1200)}, {"customer", "acme"}}));
  EXPECT_EQ(list(where("customer", Is::equal, "acme")), Texts{"order-1"});
  EXPECT_EQ(list(where("customer", Is::equal, "acm")), Texts{});
  EXPECT_EQ(list(where("colour", Is::equal, "acme")), Texts{});
}

STORE_TEST(Attributes, AreChangedByTurnsOneAfterTheOther) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.sets_attribute("stage", "new").sets_attribute("stage", "packing").keeps_lock());
  EXPECT_EQ(list(where("stage", Is::equal, "packing")), Texts{"order-1"});
  EXPECT_EQ(list(where("stage", Is::equal, "new")), Texts{});
  a.commit(turn.sets_attribute("stage", "sent").sets_attribute("late", true).keeps_lock());
  EXPECT_EQ(list(where("stage", Is::equal, "packing")), Texts{});
  EXPECT_EQ(list(where("late", Is::equal, true)), Texts{"order-1"});
  a.commit(turn.clears_attribute("stage", AttributeType::text)
               .clears_attribute("unknown", AttributeType::text)
               .keeps_lock());
  EXPECT_EQ(list(where("stage", Is::equal, "sent")), Texts{});
  EXPECT_EQ(find("order-1").attributes, (std::vector<Attribute>{{"late", true}}));
}

STORE_TEST(Attributes, OfOneNameAndSeveralTypesAreSeveral) {
  start_with(*this, "order-1", {{"size", "7"}});
  start_with(*this, "order-2", {{"size", number(7)}});
  start_with(*this, "order-3", {{"size", 7.0}});
  EXPECT_EQ(list(where("size", Is::equal, "7")), Texts{"order-1"});
  EXPECT_EQ(list(where("size", Is::equal, number(7))), Texts{"order-2"});
  EXPECT_EQ(list(where("size", Is::equal, 7.0)), Texts{"order-3"});
  const Worker a = join("a");
  a.commit(turn_of(a, "order-1").sets_attribute("size", number(8)));
  EXPECT_EQ(find("order-1").attributes, (std::vector<Attribute>{{"size", "7"}, {"size", number(8)}}));
  EXPECT_EQ(list(where("size", Is::above, number(6))), (Texts{"order-2", "order-1"}));
}

STORE_TEST(Attributes, OfChildrenComeWithTheirStart) {
  const Worker a = join("a");
  Turn parent = a.begin("parent");
  parent.starts_child("child-1").commit.starts.back().attributes = {{"customer", "acme"}};
  a.commit(parent);
  EXPECT_EQ(list(where("customer", Is::equal, "acme")), Texts{"child-1"});
}

STORE_TEST(Attributes, OfAnIdThatExistsAreLeftAlone) {
  store::StartRequest request = start_of("order-1");
  request.attributes = {{"customer", "acme"}};
  start(request);
  request.request = token<RequestId>();
  request.attributes = {{"customer", "zeta"}};
  EXPECT_FALSE(start(request).is_new);
  EXPECT_EQ(list(where("customer", Is::equal, "zeta")), Texts{});
  EXPECT_EQ(list(where("customer", Is::equal, "acme")), Texts{"order-1"});
}

STORE_TEST(Attributes, StayThroughContinueAsNewAndTheEnd) {
  const Worker a = join("a");
  start_with(*this, "order-1", {{"customer", "acme"}});
  a.commit(turn_of(a, "order-1").sets_attribute("round", number(1)).continues_as_new("again"));
  EXPECT_EQ(list(where("customer", Is::equal, "acme")), Texts{"order-1"});
  a.commit(turn_of(a, "order-1").sets_attribute("round", number(2)).ends());
  EXPECT_EQ(list(where("round", Is::equal, number(2))), Texts{"order-1"});
  EXPECT_EQ(list(where("customer", Is::equal, "acme")), Texts{"order-1"});
}

STORE_TEST(Attributes, GoWithTheirInstance) {
  const Worker a = join("a");
  start_with(*this, "order-1", {{"customer", "acme"}, {"tags", Keywords{"gift", "rush"}}});
  a.commit(turn_of(a, "order-1").ends());
  EXPECT_TRUE(store().delete_instance("order-1", false));
  EXPECT_EQ(must(store().count(where("customer", Is::equal, "acme"))), InstanceCount{});
  EXPECT_EQ(must(store().count(where("tags", Is::has, "rush"))), InstanceCount{});
  start("order-1");
  EXPECT_EQ(list(where("customer", Is::equal, "acme")), Texts{});
}

STORE_TEST(Attributes, OfALostTurnAreNotSet) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.sets_attribute("stage", "packing").commit.expected = token<TurnStamp>();
  EXPECT_EQ(answer(a.try_commit(turn)), "lost");
  EXPECT_EQ(list(where("stage", Is::equal, "packing")), Texts{});
}

STORE_TEST(Attributes, KeywordsAreFoundOneByOne) {
  start_with(*this, "order-1", {{"tags", Keywords{"gift", "rush"}}});
  start_with(*this, "order-2", {{"tags", Keywords{"rush"}}});
  start_with(*this, "order-3", {{"tags", "rush"}});
  EXPECT_EQ(list(where("tags", Is::has, "rush")), (Texts{"order-2", "order-1"}));
  EXPECT_EQ(list({.attributes = {{"tags", Is::has, "rush"}, {"tags", Is::has, "gift"}}}), Texts{"order-1"});
  const Worker a = join("a");
  a.commit(turn_of(a, "order-1").sets_attribute("tags", Keywords{"gift", "late"}));
  EXPECT_EQ(list(where("tags", Is::has, "rush")), Texts{"order-2"});
  EXPECT_EQ(list(where("tags", Is::has, "late")), Texts{"order-1"});
}

STORE_TEST(Attributes, TextsCompareByBytes) {
  for (const std::string text : {"", "a", "a\x01", "ab", "b", "\u00e9", "\U0001f600"})
    start_with(*this, "of-" + std::to_string(text.size()) + text, {{"t", text}});
  const auto count = [&](Is is, const std::string& text) {
    return must(store().count(where("t", is, text))).count;
  };
  EXPECT_EQ(count(Is::starts_with, "a"), 3U);
  EXPECT_EQ(count(Is::starts_with, ""), 7U);
  EXPECT_EQ(count(Is::starts_with, "\xf0"), 1U);
  EXPECT_EQ(count(Is::below, "ab"), 3U);
  EXPECT_EQ(count(Is::at_most, "ab"), 4U);
  EXPECT_EQ(count(Is::above, "b"), 2U);
  EXPECT_EQ(count(Is::at_least, "b"), 3U);
  EXPECT_EQ(count(Is::at_least, ""), 7U);
}

STORE_TEST(Attributes, NumbersAndTimesCompareAsSuch) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> integers{kLeast, -256, -1, 0, 1, 255, 256, kMost};
  const std::vector<double> reals{
      -std::numeric_limits<double>::infinity(), -1e300, -1.5, -1e-300, 0, 1e-300, 1.5,
      std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < integers.size(); ++i) {
    start_with(*this, "order-" + std::to_string(i),
               {{"i", integers[i]}, {"r", reals[i]}, {"t", CalendarTime(Duration(integers[i]))}});
  }
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const std::vector<std::pair<std::string, AttributeValue>> bounds{
        {"i", integers[i]}, {"r", reals[i]}, {"t", CalendarTime(Duration(integers[i]))}};
    for (const auto& [name, value] : bounds) {
      const auto count = [&](Is is) { return must(store().count(where(name, is, value))).count; };
      EXPECT_EQ(count(Is::below), i) << name << i;
      EXPECT_EQ(count(Is::at_most), i + 1) << name << i;
      EXPECT_EQ(count(Is::equal), 1U) << name << i;
      EXPECT_EQ(count(Is::above), integers.size() - i - 1) << name << i;
      EXPECT_EQ(count(Is::at_least), integers.size() - i) << name << i;
    }
  }
}

STORE_TEST(Attributes, ConditionsHoldTogetherAndWithOtherFilters) {
  const Worker a = join("a");
  start_with(*this, "order-1", {{"customer", "acme"}, {"cents", number(100)}});
  start_with(*this, "order-2", {{"customer", "acme"}, {"cents", number(300)}});
  start_with(*this, "order-3", {{"customer", "zeta"}, {"cents", number(300)}});
  a.commit(turn_of(a, "order-2").ends());
  InstanceFilter filter{.attributes = {{"customer", Is::equal, "acme"}, {"cents", Is::above, number(50)}}};
  EXPECT_EQ(list(filter), (Texts{"order-2", "order-1"}));
  filter.attributes.push_back({"cents", Is::at_most, number(100)});
  EXPECT_EQ(list(filter), Texts{"order-1"});
  filter.attributes = {{"cents", Is::equal, number(300)}};
  filter.statuses = {InstanceStatus::running};
  EXPECT_EQ(list(filter), Texts{"order-3"});
  filter.attributes.push_back({"cents", Is::below, number(300)});
  EXPECT_EQ(list(filter), Texts{}) << "these contradict each other";
}

STORE_TEST(Attributes, GiveListsTheirOrder) {
  start_with(*this, "a", {{"cents", number(300)}});
  start_with(*this, "b", {{"cents", number(-5)}});
  start_with(*this, "c", {{"cents", number(300)}});
  start_with(*this, "d", {{"cents", "none"}});
  start_with(*this, "e", {{"cents", number(7)}});
  InstanceFilter filter{.attributes = {{"cents", Is::at_least, number(-100)}},
                        .order = {"cents", AttributeType::integer, false}};
  EXPECT_EQ(list(filter), (Texts{"b", "e", "c", "a"})) << "of equal ones the newest first";
  filter.order.descending = true;
  EXPECT_EQ(list(filter), (Texts{"a", "c", "e", "b"})) << "the same from its end";
  filter.attributes.clear();
  EXPECT_EQ(list(filter), (Texts{"a", "c", "e", "b"}));
}

// Which index finds instances depends on how many there are: here few and many are mixed.
STORE_TEST(Attributes, PagesFollowOnEachOther) {
  constexpr std::size_t kMany = 1200;
  std::vector<store::StartRequest> requests;
  for (std::size_t i = 0; i < kMany; ++i) {
    store::StartRequest& request = requests.emplace_back(start_of("order-" + std::to_string(i)));
    request.attributes = {{"all", "yes"}, {"rank", number(static_cast<std::int64_t>(i * 7 % 10))}};
    if (i % 100 == 0) request.attributes.insert(request.attributes.begin(), {"a few", "yes"});
  }
  for (const auto& answer : store().start(requests)) ASSERT_TRUE(answer);
  const auto pages = [&](InstanceFilter filter) {
    std::vector<InstanceKey> keys;
    for (bool more = true; more;) {
      const store::InstancePage page = must(store().list(filter));
      for (const store::InstanceView& view : page.instances) keys.push_back(view.key);
      more = page.next.has_value();
      filter.after = page.next.value_or(ListPlace());
    }
    return keys;
  };
  for (const std::string name : {"all", "a few"}) {
    for (const bool descending : {false, true}) {
      InstanceFilter filter{.attributes = {{name, Is::equal, "yes"}}, .limit = 97};
      const std::vector<InstanceKey> newest = pages(filter);
      EXPECT_EQ(newest.size(), name == "all" ? kMany : kMany / 100);
      EXPECT_TRUE(std::ranges::is_sorted(newest, std::ranges::greater()));
      filter.order = {"rank", AttributeType::integer, descending};
      filter.limit = name == "all" ? 97 : 5;
      std::vector<InstanceKey> ordered = pages(filter);
      ASSERT_EQ(ordered.size(), newest.size());
      std::vector<std::pair<std::int64_t, std::int64_t>> places;
      for (const auto& view : must(store().look(ordered))) {
        places.emplace_back(std::get<std::int64_t>(view->attributes.back().value),
                            -static_cast<std::int64_t>(view->key.value));
      }
      if (descending) std::ranges::reverse(places);
      EXPECT_TRUE(std::ranges::is_sorted(places)) << name;
    }
  }
}

STORE_TEST(Attributes, CountsAreExactUpToALimit) {
  constexpr std::size_t kMore = InstanceCount::kMost + 1;
  std::vector<store::StartRequest> requests;
  const auto start_all = [&] {
    for (const auto& answer : store().start(requests)) ASSERT_TRUE(answer);
    requests.clear();
  };
  for (std::size_t i = 0; i < kMore; ++i) {
    store::StartRequest& request = requests.emplace_back(start_of("order-" + std::to_string(i)));
    request.attributes = {{"customer", "acme"}};
    if (i + 1 < kMore) request.attributes.push_back({"early", true});
    if (requests.size() == 500) start_all();
  }
  start_all();
  EXPECT_EQ(must(store().count(where("early", Is::equal, true))),
            (InstanceCount{InstanceCount::kMost, false}));
  EXPECT_EQ(must(store().count(where("customer", Is::equal, "acme"))),
            (InstanceCount{InstanceCount::kMost, true}));
  EXPECT_EQ(must(store().count({.prefix = "order-"})), (InstanceCount{InstanceCount::kMost, true}));
  EXPECT_EQ(must(store().count({.statuses = {InstanceStatus::running}})), (InstanceCount{kMore, false}));
  EXPECT_EQ(must(store().count({})), (InstanceCount{kMore, false}));
  InstanceFilter both = where("customer", Is::equal, "acme");
  both.statuses = {InstanceStatus::running};
  EXPECT_EQ(must(store().count(both)), (InstanceCount{InstanceCount::kMost, true}));
  both.statuses = {InstanceStatus::failed};
  EXPECT_EQ(must(store().count(both)), InstanceCount{});
}

STORE_TEST(Attributes, CountsByStatusFollowEachChange) {
  using Counts = store::StatusCounts;
  const Worker a = join("a");
  EXPECT_EQ(must(store().count_by_status()), Counts{});
  for (const std::string id : {"a", "b", "c", "d"}) start(id);
  EXPECT_EQ(must(store().count_by_status()), (Counts{{InstanceStatus::running, 4}}));
  a.commit(turn_of(a, "a").ends());
  a.commit(turn_of(a, "b").ends(InstanceStatus::failed));
  suspend("c");
  Turn parks = turn_of(a, "d");
  EXPECT_TRUE(a.release({.key = parks.key(), .token = parks->token, .park = "no code"}));
  EXPECT_EQ(must(store().count_by_status()), (Counts{{InstanceStatus::suspended, 1},
                                                     {InstanceStatus::parked, 1},
                                                     {InstanceStatus::completed, 1},
                                                     {InstanceStatus::failed, 1}}));
  resume("c");
  EXPECT_EQ(must(store().wake_parked(a.info.code)), 1U);
  store::StartRequest anew = start_of("b");
  anew.reuse = Reuse::after_end;
  anew.request = token<RequestId>();
  start(anew);
  EXPECT_TRUE(store().delete_instance("a", false));
  a.commit(turn_of(a, "c").starts_child("e").continues_as_new("again"));
  EXPECT_EQ(must(store().count_by_status()), (Counts{{InstanceStatus::running, 4}}));
  EXPECT_EQ(must(another_handle()->count_by_status()), (Counts{{InstanceStatus::running, 4}}));
}

}  // namespace
}  // namespace holdfast::testing::conformance
