// Codecs of durations (ISO 8601: "PT1M30S") and of points in calendar time (RFC 3339:
// "2026-11-15T04:36:02Z").
#pragma once

#include <holdfast/detail/codec_base.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast {

namespace detail {

// Wide enough for any 64-bit count of any unit, in seconds.
__extension__ typedef __int128 WideInt;

/// A unit of time: num/den seconds.
struct TimeUnit {
  std::int64_t num = 1;
  std::int64_t den = 1;
};

// The text is exact for every count: units that decimals can't express (a sixtieth of a second) get enough
// digits to be rounded back to the same count. Parsing refuses what is not a whole number of units, and says
// why.
std::string duration_text(WideInt count, TimeUnit unit);
bool parse_duration(std::string_view text, TimeUnit unit, WideInt& count, std::string& why);
std::string time_text(WideInt count, TimeUnit unit);
bool parse_time(std::string_view text, TimeUnit unit, WideInt& count, std::string& why);

constexpr bool is_power_of_ten(std::int64_t n) {
  while (n % 10 == 0) n /= 10;
  return n == 1;
}
template <class Period>
constexpr TimeUnit time_unit() {
  static_assert(
      Period::den <= 1'000'000'000'000 || is_power_of_ten(Period::den),
      "holdfast: this unit of time is too fine for an exact text; specialise holdfast::Codec for it");
  return {Period::num, Period::den};
}

template <class Rep>
bool narrow(JsonReader& in, std::string_view text, WideInt count, Rep& out) {
  using Limits = std::numeric_limits<Rep>;
  if (count < static_cast<WideInt>(Limits::min()) || count > static_cast<WideInt>(Limits::max())) {
    return in.fail("\"" + quote(text) + "\" is too large for its type");
  }
  out = static_cast<Rep>(count);
  return true;
}

using ParseTime = bool (*)(std::string_view text, TimeUnit unit, WideInt& count, std::string& why);

template <class Rep>
bool read_count(JsonReader& in, TimeUnit unit, ParseTime parse, std::string_view expected, Rep& out) {
  if (in.peek() != JsonKind::string) return in.fail_expected(expected);
  std::string text;
  if (!in.string(text)) return false;
  WideInt count = 0;
  std::string why;
  return parse(text, unit, count, why) ? narrow(in, text, count, out) : in.fail(std::move(why));
}

}  // namespace detail

template <std::integral Rep, class Period>
struct Codec<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  static void write(JsonWriter& out, Duration value) {
    out.string(detail::duration_text(value.count(), detail::time_unit<typename Period::type>()));
  }
  static bool read(JsonReader& in, Duration& value) {
    Rep count{};
    if (!detail::read_count(in, detail::time_unit<typename Period::type>(), &detail::parse_duration,
                            "a duration such as \"PT1.5S\"", count)) {
      return false;
    }
    value = Duration(count);
    return true;
  }
};

/// A count that is not whole has no exact ISO 8601 text in general: it is written as the number of its unit.
template <std::floating_point Rep, class Period>
struct Codec<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  static void write(JsonWriter& out, Duration value) { out.number(value.count()); }
  static bool read(JsonReader& in, Duration& value) {
    Rep count{};
    if (!in.number(count)) return false;
    value = Duration(count);
    return true;
  }
};

template <class Clock, class Duration>
struct Codec<std::chrono::time_point<Clock, Duration>> {
  static_assert(
      std::same_as<Clock, std::chrono::system_clock>,
      "holdfast: only times of std::chrono::system_clock can be encoded; those of other clocks, such "
      "as steady_clock, mean nothing in another process");
  static_assert(std::integral<typename Duration::rep>,
                "holdfast: a time with a floating-point count has no exact text; use whole units");
  using Time = std::chrono::time_point<Clock, Duration>;

  static void write(JsonWriter& out, Time value) {
    out.string(
        detail::time_text(value.time_since_epoch().count(), detail::time_unit<typename Duration::period>()));
  }
  static bool read(JsonReader& in, Time& value) {
    typename Duration::rep count{};
    if (!detail::read_count(in, detail::time_unit<typename Duration::period>(), &detail::parse_time,
                            "a time such as \"2026-11-15T04:36:02Z\"", count)) {
      return false;
    }
    value = Time(Duration(count));
    return true;
  }
};

}  // namespace holdfast
