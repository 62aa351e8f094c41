// The texts inside JSON strings: base64, durations and times.
#include "codec/base64.hpp"

#include <holdfast/codec.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <limits>

namespace holdfast::text_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::sys_time;

enum class Shade { light, dark };

template <class T>
std::string text_of(T value) {
  const std::string json = encode(value).bytes;
  return json.substr(1, json.size() - 2);
}
template <class T>
Result<T> parse(const std::string& text) {
  return decode<T>(Payload{kJsonEncoding, '"' + text + '"'});
}
template <class T>
std::string why_not(const std::string& text) {
  const Result<T> result = parse<T>(text);
  return result ? "it parsed" : result.error().message;
}

TEST(Base64, WritesTheKnownExamples) {
  EXPECT_EQ(codec::to_base64(""), "");
  EXPECT_EQ(codec::to_base64("f"), "Zg==");
  EXPECT_EQ(codec::to_base64("fo"), "Zm8=");
  EXPECT_EQ(codec::to_base64("foo"), "Zm9v");
  EXPECT_EQ(codec::to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, ReadsOnlyWhatItWrites) {
  std::string bytes;
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z===", "====", "Zm8 ", "Zm8\n", "Zg==Zg=="}) {
    EXPECT_FALSE(codec::from_base64(bad, bytes)) << bad;
  }
}

RC_GTEST_PROP(Base64, RoundTripsAllBytes, (const std::string& bytes)) {
  std::string again;
  RC_ASSERT(codec::from_base64(codec::to_base64(bytes), again));
  RC_ASSERT(again == bytes);
}

TEST(Durations, AreWrittenAsIso8601) {
  EXPECT_EQ(text_of(0s), "PT0S");
  EXPECT_EQ(text_of(90s), "PT1M30S");
  EXPECT_EQ(text_of(24h), "PT24H");
  EXPECT_EQ(text_of(1500ms), "PT1.5S");
  EXPECT_EQ(text_of(-1ns), "-PT0.000000001S");
  EXPECT_EQ(text_of(std::chrono::days(2)), "PT48H");
  EXPECT_EQ(text_of(3600001ms), "PT1H0.001S");
  EXPECT_EQ(text_of(duration<int, std::ratio<1, 60>>(1)), "PT0.0166S");
}

TEST(Durations, AreReadInEveryUsualForm) {
  EXPECT_EQ(*parse<std::chrono::seconds>("P1DT2H3M4S"), 24h + 2h + 3min + 4s);
  EXPECT_EQ(*parse<std::chrono::seconds>("P1W"), std::chrono::weeks(1));
  EXPECT_EQ(*parse<std::chrono::minutes>("PT90M"), 90min);
  EXPECT_EQ(*parse<std::chrono::hours>("PT3600S"), 1h);
  EXPECT_EQ(*parse<std::chrono::milliseconds>("PT0,250S"), 250ms);
  EXPECT_EQ(*parse<std::chrono::milliseconds>("-PT1.500000000000000000000S"), -1500ms);
}

TEST(Durations, OfAWrongFormAreRefused) {
  for (const char* bad : {"", "P", "PT", "1S", "PT1", "PT1X", "PTS", "P1Y", "P1M", "PT1S1M", "PT1S1S",
                          "PT1.S", "PT.5M", "PT1.5M", "P1DT", "PT1S ", "--PT1S", "PT-1S"}) {
    EXPECT_EQ(why_not<std::chrono::seconds>(bad),
              "expected a duration such as \"PT1.5S\" (weeks, days, hours, minutes and seconds), found \"" +
                  std::string(bad) + "\"");
  }
}

TEST(Durations, ThatDoNotFitTheirTypeAreRefused) {
  EXPECT_EQ(why_not<std::chrono::seconds>("PT0.5S"),
            "\"PT0.5S\" is not a whole number of its unit, which is 1 s");
  EXPECT_EQ(why_not<std::chrono::hours>("PT90M"),
            "\"PT90M\" is not a whole number of its unit, which is 3600 s");
  EXPECT_EQ(why_not<std::chrono::milliseconds>("PT0.0001S"),
            "\"PT0.0001S\" is not a whole number of its unit, which is 1/1000 s");
  EXPECT_EQ((why_not<duration<std::int8_t>>("PT200S")), "\"PT200S\" is too large for its type");
  EXPECT_EQ(why_not<std::chrono::nanoseconds>("PT99999999999999999999S"),
            "\"PT99999999999999999999S\" is too large for its type");
  EXPECT_FALSE((parse<duration<unsigned>>("-PT1S")));
  // Close to 2^128 microseconds, where the arithmetic would come round to a small number.
  EXPECT_EQ(why_not<std::chrono::microseconds>("P562636188692027882710606163WT49368S"),
            "\"P562636188692027882710606163WT49368S\" is too large for its type");
  EXPECT_EQ(why_not<std::chrono::microseconds>("-P562636188692027882710606163WT49368S"),
            "\"-P562636188692027882710606163WT49368S\" is too large for its type");
}

TEST(Durations, AreQuotedInPartWhereTheyAreLong) {
  const std::string digits(60, '9');
  const std::string quoted = "\"PT" + std::string(38, '9') + "...\"";
  EXPECT_EQ(
      why_not<std::chrono::seconds>("PT" + digits + "X"),
      "expected a duration such as \"PT1.5S\" (weeks, days, hours, minutes and seconds), found " + quoted);
  EXPECT_EQ(why_not<sys_seconds>("PT" + digits),
            "expected a time such as \"2026-11-15T04:36:02Z\", found " + quoted);
  EXPECT_EQ(why_not<Shade>("PT" + digits), "expected one of light, dark, found " + quoted);
}

template <class D>
void expect_exact(D value) {
  const Payload payload = encode(value);
  const Result<D> again = decode<D>(payload);
  ASSERT_TRUE(again) << payload.bytes << ": " << again.error().message;
  EXPECT_EQ(*again, value) << payload.bytes;
}

template <class D>
void expect_limits_exact() {
  expect_exact(D::min());
  expect_exact(D::max());
  expect_exact(D(typename D::rep{1}));
}

TEST(Durations, RoundTripAtTheirLimits) {
  expect_limits_exact<std::chrono::nanoseconds>();
  expect_limits_exact<std::chrono::seconds>();
  expect_limits_exact<std::chrono::years>();
  expect_limits_exact<duration<std::int64_t, std::atto>>();
  expect_limits_exact<duration<std::uint64_t, std::micro>>();
  expect_limits_exact<duration<std::int64_t, std::ratio<1, 60>>>();
  expect_limits_exact<duration<std::int64_t, std::ratio<1001, 30000>>>();
  expect_limits_exact<duration<std::int32_t, std::ratio<1, 65536>>>();
  expect_exact(duration<double, std::milli>(0.1));
}

RC_GTEST_PROP(Durations, RoundTripInUnitsThatDecimalsCannotExpress, (std::int64_t count)) {
  const duration<std::int64_t, std::ratio<1, 60>> frames(count);
  RC_ASSERT((*decode<duration<std::int64_t, std::ratio<1, 60>>>(encode(frames)) == frames));
  const duration<std::int64_t, std::ratio<1001, 30000>> ntsc(count);
  RC_ASSERT((*decode<duration<std::int64_t, std::ratio<1001, 30000>>>(encode(ntsc)) == ntsc));
}

TEST(Times, AreWrittenAsRfc3339) {
  EXPECT_EQ(text_of(sys_seconds(0s)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(text_of(sys_seconds(-1s)), "1969-12-31T23:59:59Z");
  EXPECT_EQ(text_of(sys_time<std::chrono::milliseconds>(1763181362123ms)), "2025-11-15T04:36:02.123Z");
  EXPECT_EQ(text_of(sys_days(std::chrono::year(2000) / 2 / 29)), "2000-02-29T00:00:00Z");
  EXPECT_EQ(text_of(sys_seconds::max()), "+292277026596-12-04T15:30:07Z");
}

TEST(Times, AreReadInEveryUsualForm) {
  const auto expected = sys_days(std::chrono::year(2026) / 11 / 15) + 4h + 36min + 2s;
  EXPECT_EQ(*parse<sys_seconds>("2026-11-15T04:36:02Z"), expected);
  EXPECT_EQ(*parse<sys_seconds>("2026-11-15t04:36:02z"), expected);
  EXPECT_EQ(*parse<sys_seconds>("2026-11-15 06:36:02+02:00"), expected);
  EXPECT_EQ(*parse<sys_seconds>("2026-11-14T20:36:02.000-08:00"), expected);
  EXPECT_EQ(*parse<sys_time<std::chrono::microseconds>>("1969-12-31T23:59:59.75Z"),
            sys_time<std::chrono::microseconds>(-250ms));
}

TEST(Times, OfAWrongFormAreRefused) {
  for (const char* bad :
       {"", "2026-11-15", "2026-11-15T04:36:02", "2026-13-15T04:36:02Z", "2026-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z", "2026-11-15T24:00:00Z", "2026-11-15T04:60:00Z", "2026-11-15T04:36:60Z",
        "26-11-15T04:36:02Z", "2026-11-15T04:36:02.Z", "2026-11-15T04:36:02Zx", "12026-11-15T04:36:02Z",
        "2026-00-15T04:36:02Z", "2026-11-00T04:36:02Z", "2026-11-15T04:36:02+2:00"}) {
    EXPECT_EQ(why_not<sys_seconds>(bad),
              "expected a time such as \"2026-11-15T04:36:02Z\", found \"" + std::string(bad) + "\"");
  }
  EXPECT_EQ(why_not<sys_seconds>("2026-11-15T04:36:02.5Z"),
            "\"2026-11-15T04:36:02.5Z\" is not a whole number of its unit, which is 1 s");
  EXPECT_EQ(why_not<sys_time<std::chrono::nanoseconds>>("9999-01-01T00:00:00Z"),
            "\"9999-01-01T00:00:00Z\" is too large for its type");
  EXPECT_EQ((why_not<sys_time<duration<std::int64_t, std::atto>>>("+9999999999999999999-01-01T00:00:00Z")),
            "\"+9999999999999999999-01-01T00:00:00Z\" is too large for its type");
  // Just beyond 2^127 picoseconds, only by the fraction of its second.
  EXPECT_EQ((why_not<sys_time<duration<std::int64_t, std::pico>>>(
                "+5391559471918241467-01-05T02:55:03.999999999999Z")),
            "\"+5391559471918241467-01-05T02:55:03.9999...\" is too large for its type");
}

TEST(Times, RoundTripAtTheirLimits) {
  const auto limits = []<class D>(D) {
    using Time = sys_time<D>;
    for (const Time time : {Time::min(), Time::max(), Time(D(1)), Time(D(-1))}) {
      const Result<Time> again = decode<Time>(encode(time));
      ASSERT_TRUE(again) << encode(time).bytes << again.error().message;
      EXPECT_EQ(*again, time);
    }
  };
  limits(std::chrono::nanoseconds{});
  limits(std::chrono::microseconds{});
  limits(std::chrono::seconds{});
  limits(std::chrono::days{});
  limits(duration<std::int64_t, std::ratio<1, 60>>{});
}

RC_GTEST_PROP(Times, EveryMicrosecondRoundTrips, (std::int64_t count)) {
  const sys_time<std::chrono::microseconds> time{std::chrono::microseconds(count)};
  RC_ASSERT(*decode<sys_time<std::chrono::microseconds>>(encode(time)) == time);
}

TEST(Times, AgreeWithTheStandardCalendarOverFourCenturies) {
  for (sys_days day = sys_days(std::chrono::year(1801) / 1 / 1);
       day < sys_days(std::chrono::year(2205) / 1 / 1); day += std::chrono::days(1)) {
    const std::chrono::year_month_day date(day);
    char expected[32];
    std::snprintf(expected, sizeof expected, "%04d-%02u-%02uT00:00:00Z", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    ASSERT_EQ(text_of(day), expected);
  }
}

}  // namespace
}  // namespace holdfast::text_test
