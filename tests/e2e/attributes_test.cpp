// Search attributes: from the code and its clients to lists and counts.
#include "stores_test.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::e2e::attributes_test {
namespace {

class AttributesTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(AttributesTest);

Task<std::string> moves_on(Context& ctx, int round) {
  const std::string customer = ctx.attribute<std::string>("customer").value_or("nobody");
  ctx.set_attribute("round", round);
  ctx.set_attribute("stage", "waiting");
  ctx.set_attribute("tags", {"rush", "gift"});
  co_await ctx.event<int>("next");
  ctx.clear_attribute<std::string>("stage");
  if (round == 2) {
    co_return customer + std::to_string(ctx.attribute<int>("round").value_or(-1)) +
        (ctx.attribute<std::string>("stage") ? "?" : "");
  }
  const int next = round + 1;
  co_await ctx.continue_as_new(next);
}

std::vector<std::string> ids(const Client& client, const std::string& filter) {
  std::vector<std::string> found;
  for (const RunInfo& run : client.list(parse_filter(filter)).runs) found.push_back(run.id);
  return found;
}

using Ids = std::vector<std::string>;

TEST_P(AttributesTest, FindInstancesFromTheirStartToTheirEnd) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("moves_on", moves_on); });
  Client client = rt->client();
  const Run run =
      client.start("moves_on", {.id = "m", .attributes = {{"customer", "acme"}, {"cents", 1200}}}, 1);
  EXPECT_EQ(ids(client, "customer = acme and cents > 1000"), Ids{"m"});
  EXPECT_TRUE(eventually([&] { return ids(client, "stage = waiting and tags has gift") == Ids{"m"}; }));
  EXPECT_EQ(run.info().attribute<int>("round"), 1);
  EXPECT_EQ(run.info().attribute<std::string>("round"), std::nullopt) << "that would be another attribute";
  run.raise("next", 1);
  EXPECT_TRUE(eventually([&] { return ids(client, "round = 2 and stage = waiting") == Ids{"m"}; }));
  EXPECT_EQ(run.info().attribute<Keywords>("tags"), (Keywords{"gift", "rush"}));
  run.raise("next", 1);
  EXPECT_EQ(run.wait<std::string>(kSoon), "acme2");
  EXPECT_EQ(ids(client, "customer = acme and status = completed"), Ids{"m"});
  EXPECT_EQ(ids(client, "stage = waiting"), Ids{});
  EXPECT_EQ(client.count(parse_filter("cents >= 1200")).count, 1U);
  client.delete_instance("m");
  EXPECT_EQ(client.count(parse_filter("cents >= 1200")).count, 0U);
}

Task<std::string> answers(Context& ctx) {
  co_return ctx.attribute<std::string>("customer").value_or("nobody");
}
Task<std::string> starts_others(Context& ctx, std::string customer) {
  const std::string child =
      co_await ctx.child<std::string>("answers", {.id = "child", .attributes = {{"customer", customer}}});
  const std::string detached =
      co_await ctx.start_detached("answers", {.id = "detached", .attributes = {{"customer", customer}}});
  ctx.launch("answers", {.id = "launched", .attributes = {{"customer", customer}}});
  co_return child;
}

TEST_P(AttributesTest, AreGivenToOthersWithTheirStart) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("answers", answers);
    r.orchestration("starts_others", starts_others);
  });
  Client client = rt->client();
  EXPECT_EQ(client.start("starts_others", "acme").wait<std::string>(kSoon), "acme");
  for (const char* const id : {"detached", "launched"})
    EXPECT_EQ(client.run(id).wait<std::string>(kSoon), "acme") << id;
  EXPECT_EQ(ids(client, "customer = acme"), (Ids{"launched", "detached", "child"}));
  EXPECT_EQ(client.restart("child").wait<std::string>(kSoon), "acme") << "a restart has them too";
}

Task<std::string> goes_too_far(Context& ctx, std::string what) {
  try {
    if (what == "long") ctx.set_attribute("t", std::string(kMaxAttributeText + 1, 'x'));
    if (what == "many") {
      for (std::size_t i = 0; i <= kMaxAttributes; ++i) ctx.set_attribute("a" + std::to_string(i), 1);
    }
  } catch (const LimitError& e) {
    co_return e.failure().type;
  }
  co_return "taken";
}

TEST_P(AttributesTest, HaveLimitsThatCodeCanCatch) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("goes_too_far", goes_too_far); });
  Client client = rt->client();
  EXPECT_EQ(client.start("goes_too_far", "long").wait<std::string>(kSoon), "attribute_too_large");
  EXPECT_EQ(client.start("goes_too_far", {.id = "many"}, "many").wait<std::string>(kSoon),
            "too_many_attributes");
  EXPECT_EQ(client.run("many").info().attributes.size(), kMaxAttributes);
  const std::string large(kMaxAttributeText + 1, 'x');
  EXPECT_THROW(client.start("goes_too_far", {.attributes = {{"t", large}}}, ""), LimitError);
}

Task<void> waits(Context& ctx) { co_await ctx.event<int>("never"); }

TEST_P(AttributesTest, OrderAndCountInstances) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("waits", waits); });
  Client client = rt->client();
  std::vector<StartItem> items;
  for (int i = 0; i < 30; ++i) {
    items.push_back(start_item("w-" + std::to_string(i)));
    items.back().attributes = {{"cents", std::int64_t{(i * 7) % 30}},
                               {"customer", i % 3 == 0 ? "acme" : "zeta"}};
  }
  client.start_all("waits", items);
  ListFilter filter = parse_filter("cents >= 0 and customer = acme order by cents asc");
  filter.limit = 3;
  std::vector<int> cents;
  for (bool more = true; more;) {
    const RunPage page = client.list(filter);
    for (const RunInfo& run : page.runs) cents.push_back(run.attribute<int>("cents").value());
    more = page.next.has_value();
    if (more) filter.after = *page.next;
  }
  EXPECT_EQ(cents.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(cents));
  EXPECT_EQ(client.count(parse_filter("customer = zeta")).count, 20U);
  EXPECT_EQ(client.count().count, 30U);
  client.terminate("w-3", "enough");
  EXPECT_TRUE(eventually([&] { return client.count_by_status()[Status::terminated] == 1; }));
  EXPECT_EQ(client.count_by_status()[Status::running], 29U);
  const BulkResult ended = client.terminate_all(parse_filter("customer = acme and cents > 10"), "enough");
  EXPECT_GT(ended.done, 0U);
}

TEST_P(AttributesTest, ConditionsAndOrdersThatMakeNoSenseAreRefused) {
  const Client client(store());
  const auto why = [&](const ListFilter& filter) -> std::string {
    try {
      static_cast<void>(client.list(filter));
    } catch (const ClientError& e) {
      return e.failure().message;
    }
    return "";
  };
  using Is = AttributeCondition::Is;
  EXPECT_EQ(why({.attributes = {{"t", Is::has, std::int64_t{1}}}}),
            "keywords are texts: the attribute 't' has \"...\"");
  EXPECT_EQ(why({.attributes = {{"t", Is::equal, Keywords{"a"}}}}),
            "a list of keywords is asked for one of them: the attribute 't' has \"...\"");
  EXPECT_EQ(why({.attributes = {{"t", Is::starts_with, true}}}),
            "only texts start with something, and the attribute 't' is compared with one of type boolean");
  EXPECT_EQ(
      why({.attributes = {{"t", Is::above, std::int64_t{1}}}, .order = {"t", AttributeType::text, true}}),
      "no index serves a list by 't' of type text without a condition on it; possible are: created desc, t "
      "asc, t desc");
  EXPECT_EQ(why({.order = {"", AttributeType::text, false}}),
            "no index serves a list by created asc; possible are: created desc");
}

TEST_P(AttributesTest, SchedulesGiveThemToTheirRuns) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("answers", answers); });
  Client client = rt->client();
  ScheduleOptions options{.spec = {.cron = {"0 0 1 1 *"}}};
  options.attributes = {{"customer", "acme"}};
  const Schedule yearly = client.create_schedule("yearly", "answers", options);
  yearly.trigger();
  EXPECT_TRUE(eventually([&] { return client.count(parse_filter("customer = acme")).count == 1; }));
  options.attributes = {{"", "acme"}};
  EXPECT_THROW(yearly.update(options), Error);
}

}  // namespace
}  // namespace holdfast::e2e::attributes_test
