#include <holdfast/client.hpp>
#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::filter_text_test {
namespace {

using namespace std::chrono_literals;

constexpr CalendarTime kNow = std::chrono::sys_days(std::chrono::year(2027) / 3 / 28);

TEST(FilterText, NamesFields) {
  const ListFilter filter = parse_filter(
      R"(status in (running, parked) and orchestration = bill and version="1.2" AND parent = "order \"7\"" and id starts with nightly-)",
      kNow);
  EXPECT_EQ(filter.statuses, (std::vector{Status::running, Status::parked}));
  EXPECT_EQ(filter.orchestration, "bill");
  EXPECT_EQ(filter.version, "1.2");
  EXPECT_EQ(filter.parent, "order \"7\"");
  EXPECT_EQ(filter.prefix, "nightly-");
  EXPECT_EQ(filter.limit, ListFilter{}.limit);
}

TEST(FilterText, MayBeEmptyOrAnOrderAlone) {
  for (const char* text : {"", "  \n", "order by created desc", " ORDER BY created DESC"}) {
    const ListFilter filter = parse_filter(text, kNow);
    EXPECT_TRUE(filter.statuses.empty());
    EXPECT_FALSE(filter.created_from);
  }
  EXPECT_EQ(parse_filter("status=failed order by created desc", kNow).statuses, std::vector{Status::failed});
}

TEST(FilterText, BoundsTimes) {
  ListFilter filter = parse_filter("created >= 2027-01-01 and created < 2027-02-01T12:00:00+02:00", kNow);
  EXPECT_EQ(filter.created_from, CalendarTime(std::chrono::sys_days(std::chrono::year(2027) / 1 / 1)));
  EXPECT_EQ(filter.created_before,
            CalendarTime(std::chrono::sys_days(std::chrono::year(2027) / 2 / 1)) + 10h);
  filter = parse_filter("created > -2d and created <= now", kNow);
  EXPECT_EQ(filter.created_from, kNow - 48h + 1us);
  EXPECT_EQ(filter.created_before, kNow + 1us);
  for (const auto& [text, ago] : std::vector<std::pair<std::string, Duration>>{
           {"-90s", 90s}, {"-30m", 30min}, {"-12h", 12h}, {"-1w", 168h}, {"-0d", 0s}}) {
    EXPECT_EQ(parse_filter("created >= " + text, kNow).created_from, kNow - ago) << text;
  }
}

TEST(FilterText, NamesAttributesByTheirValues) {
  using Is = AttributeCondition::Is;
  const auto parsed = [](const std::string& text) { return parse_filter(text, kNow).attributes; };
  const auto one = [](std::string name, Is is, AttributeValue value) {
    return std::vector<AttributeCondition>{{std::move(name), is, std::move(value)}};
  };
  EXPECT_EQ(parsed("customer = acme"), one("customer", Is::equal, "acme"));
  EXPECT_EQ(parsed("customer = \"12\""), one("customer", Is::equal, "12"));
  EXPECT_EQ(parsed("cents=12"), one("cents", Is::equal, std::int64_t{12}));
  EXPECT_EQ(parsed("cents > -12"), one("cents", Is::above, std::int64_t{-12}));
  EXPECT_EQ(parsed("rate <= 1.5e3"), one("rate", Is::at_most, 1500.0));
  EXPECT_EQ(parsed("rate < 12.0"), one("rate", Is::below, 12.0));
  EXPECT_EQ(parsed("late = true"), one("late", Is::equal, true));
  EXPECT_EQ(parsed("due >= 2027-03-28"), one("due", Is::at_least, kNow));
  EXPECT_EQ(parsed("due < -2d"), one("due", Is::below, kNow - 48h));
  EXPECT_EQ(parsed("due < +2d"), one("due", Is::below, kNow + 48h));
  EXPECT_EQ(parsed("due > now"), one("due", Is::above, kNow));
  EXPECT_EQ(parsed("tags HAS 12"), one("tags", Is::has, "12"));
  EXPECT_EQ(parsed("sku starts with \"a b\""), one("sku", Is::starts_with, "a b"));
  EXPECT_EQ(parsed("\"status\" = \"running\""), one("status", Is::equal, "running"));
  EXPECT_EQ(parsed("stage = e5"), one("stage", Is::equal, "e5"));
  EXPECT_EQ(parsed("a = 1 and b = x").size(), 2U);
}

TEST(FilterText, OrdersByAttributesThatItAsksFor) {
  const ListFilter filter = parse_filter("cents > 5 and customer = acme order by cents desc", kNow);
  EXPECT_EQ(filter.order, (ListOrder{"cents", AttributeType::integer, true}));
  EXPECT_EQ(parse_filter("rate > 5.0 order by rate", kNow).order,
            (ListOrder{"rate", AttributeType::real, false}));
  EXPECT_EQ(parse_filter("rate > 5.0 ORDER BY rate ASC", kNow).order,
            (ListOrder{"rate", AttributeType::real, false}));
  EXPECT_EQ(parse_filter("rate > 5.0 order by created desc", kNow).order, ListOrder{});
}

TEST(FilterText, SaysWhereItIsWrong) {
  const std::string time_hint =
      " is no time; write 2027-03-28T01:00:00Z, 2027-03-28, now, or how long ago: -90s, -30m, -12h, -2d, -1w";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"status = done",
       "10: 'done' is no status; there are running, suspended, parked, completed, failed, cancelled, "
       "terminated"},
      {"status in (running", "19: ')' is expected, not the end of the filter"},
      {"status in running", "11: '(' is expected, not 'running'"},
      {"status = running and status = failed",
       "29: the status is given twice; write status in (running, parked)"},
      {"status = ", "10: a value is expected, not the end of the filter"},
      {"status != running", "8: '=' is expected, not '!='"},
      {"= running", "1: the name of a field is expected, not '='"},
      {"status = running or parent = x", "18: 'and', 'order by' or the end is expected, not 'or'"},
      {"status = running and", "21: the name of a field is expected, not the end of the filter"},
      {"orchestration = a and orchestration = b", "23: 'orchestration' is given twice"},
      {"orchestration = \"\"", "17: 'orchestration' can't be empty"},
      {"id = order-7",
       "4: an id is asked for as id starts with \"order-\"; whoever has the whole id asks for the run"},
      {"id starts with \"", "16: the quotation mark is not closed"},
      {"created = now", "9: a time is compared by >, >=, < or <=, not by '='"},
      {"created > yesterday", "11: 'yesterday'" + time_hint},
      {"created > -2x", "11: '-2x'" + time_hint},
      {"created > -99999999999999999999d", "11: '-99999999999999999999d'" + time_hint},
      {"created > now and created >= now", "27: this end of the time is given twice"},
      {"order by id", "10: no index serves an order by 'id'; possible are: created desc"},
      {"order by created", "10: no index serves an order by 'created'; possible are: created desc"},
      {"order by created asc", "10: no index serves an order by 'created' asc; possible are: created desc"},
      {"cents > 5 and tags has rush order by tags desc",
       "38: no index serves an order by 'tags' desc; possible are: created desc, cents asc, cents desc"},
      {"customer",
       "9: =, <, <=, >, >=, has or starts with is expected, not the end of the filter; 'customer' is "
       "taken for an attribute: fields are status, orchestration, version, id, parent and created"},
      {"customer != acme",
       "10: =, <, <=, >, >=, has or starts with is expected, not '!='; 'customer' is taken "
       "for an attribute: fields are status, orchestration, version, id, parent and created"},
      {"cents = ", "9: a value is expected, not the end of the filter"},
      {"cents = 99999999999999999999", "9: '99999999999999999999' is no integer of 64 bits with a sign"},
      {"cents = 1.2.3", "9: '1.2.3' is no number; texts that look like one stand in quotes"},
      {"customer starts acme", "17: 'with' is expected, not 'acme'"},
      {"\"\" = 1",
       "1: the name of an attribute is empty; names have 1 to 255 bytes of UTF-8 without control characters"},
      {"order created desc", "7: 'by' is expected, not 'created'"},
  };
  for (const auto& [text, message] : cases) {
    try {
      parse_filter(text, kNow);
      ADD_FAILURE() << text << " was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.failure().type, "invalid_filter");
      EXPECT_EQ(e.failure().message, "in the filter, at column " + message) << text;
    }
  }
}

}  // namespace
}  // namespace holdfast::filter_text_test
