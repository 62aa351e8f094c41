// Search attributes: what a turn says of them, what history keeps, and what the next execution begins with.
#include "engine/driver_test.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::engine::attributes_test {
namespace {

using detail::AttributeSet;

std::vector<AttributeSet> changes(const Outcome& outcome) {
  std::vector<AttributeSet> all;
  for (const Action& action : outcome.actions) {
    if (const auto* set = std::get_if<AttributeSet>(&action.operation)) all.push_back(*set);
  }
  return all;
}

Task<std::string> keeps_attributes(Context& ctx) {
  const std::int64_t cents = ctx.attribute<std::int64_t>("cents").value_or(0);
  ctx.set_attribute("cents", cents + 1);
  ctx.set_attribute("tags", {"rush", "gift"});
  ctx.clear_attribute<std::string>("stage");
  co_await ctx.activity<void>("work");
  ctx.set_attribute("rate", 0.5);
  const std::string found =
      std::to_string(*ctx.attribute<int>("cents")) + ctx.attribute<Keywords>("tags")->front() +
      (ctx.attribute<std::string>("stage") ? "?" : "") + (ctx.attribute<std::string>("cents") ? "?" : "");
  co_return found + std::to_string(ctx.attribute<double>("rate").value_or(0));
}

TEST(Attributes, AreSetReadAndClearedByNameAndType) {
  Driver driver(keeps_attributes);
  driver.attributes = {{"cents", std::int64_t{5}}, {"stage", "new"}};
  const Outcome first = driver.start();
  EXPECT_EQ(changes(first),
            (std::vector<AttributeSet>{{"cents", AttributeType::integer, std::int64_t{6}},
                                       {"tags", AttributeType::keywords, Keywords{"gift", "rush"}},
                                       {"stage", AttributeType::text, std::nullopt}}));
  driver.forget_frames();
  const Outcome end = driver.step(driver.completes(started<detail::ActivityScheduled>(first).at(0)));
  EXPECT_EQ(changes(end), (std::vector<AttributeSet>{{"rate", AttributeType::real, 0.5}}));
  EXPECT_EQ(result_of<std::string>(end), "6gift0.500000");
}

Task<void> goes_on(Context& ctx) {
  ctx.set_attribute("round", 2);
  co_await ctx.continue_as_new();
}

TEST(Attributes, GoAlongWithContinueAsNew) {
  Driver driver(goes_on);
  driver.attributes = {{"customer", "acme"}};
  driver.start();
  EXPECT_EQ(driver.warm().next_start().attributes,
            (std::vector<Attribute>{{"customer", "acme"}, {"round", std::int64_t{2}}}));
}

Task<std::string> sets_in_an_effect(Context& ctx) {
  auto effect = [&ctx] { return ctx.set_attribute("t", 1), 1; };
  Result<int> outcome = co_await ctx.side_effect(effect).result();
  co_return outcome ? "taken" : outcome.error().message;
}

TEST(Attributes, AreNotSetInSideEffects) {
  Driver driver(sets_in_an_effect);
  EXPECT_NE(result_of<std::string>(driver.start()).find("an attribute was set inside"), std::string::npos);
}

template <int kValue>
Task<void> sets_one(Context& ctx) {
  ctx.set_attribute("cents", kValue);
  co_await ctx.activity<void>("work");
}
Task<void> sets_another(Context& ctx) {
  ctx.set_attribute("dollars", 1);
  co_await ctx.activity<void>("work");
}
Task<void> sets_another_type(Context& ctx) {
  ctx.set_attribute("cents", 1.0);
  co_await ctx.activity<void>("work");
}
Task<void> sets_none(Context& ctx) { co_await ctx.activity<void>("work"); }

TEST(Attributes, AreMatchedWithHistoryByNameAndType) {
  Driver driver(sets_one<1>);
  driver.start();
  EXPECT_TRUE(driver.replay_with(sets_one<2>)) << "values may be others, as inputs may";
  const auto said = [&](auto code, bool strict = false) {
    const auto outcome = driver.replay_with(code, strict);
    return outcome ? "the same" : outcome.error().history_says + " / " + outcome.error().code_did;
  };
  EXPECT_EQ(said(sets_one<2>, true), "setting the attribute 'cents' of type integer to 1 / set it to 2");
  EXPECT_EQ(said(sets_another),
            "setting the attribute 'cents' of type integer / started setting the attribute "
            "'dollars' of type integer");
  EXPECT_EQ(said(sets_another_type),
            "setting the attribute 'cents' of type integer / started setting the "
            "attribute 'cents' of type real");
  EXPECT_EQ(said(sets_none), "setting the attribute 'cents' of type integer / started activity 'work'");
}

Task<void> starts_others(Context& ctx) {
  ctx.launch("bill", {.id = "b-1", .attributes = {{"customer", "acme"}, {"cents", 5}}});
  co_await ctx.child<void>("ship", {.id = "s-1", .attributes = {{"tags", {"rush"}}}});
}

TEST(Attributes, OfOthersStandInTheirStart) {
  Driver driver(starts_others);
  const Outcome outcome = driver.start();
  EXPECT_EQ(std::get<detail::DetachedStarted>(outcome.actions.at(0).operation).attributes,
            (std::vector<Attribute>{{"cents", std::int64_t{5}}, {"customer", "acme"}}));
  EXPECT_EQ(std::get<detail::ChildStarted>(outcome.actions.at(1).operation).attributes,
            (std::vector<Attribute>{{"tags", Keywords{"rush"}}}));
}

}  // namespace
}  // namespace holdfast::engine::attributes_test
