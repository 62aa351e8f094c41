// Durations as ISO 8601 and calendar times as RFC 3339, exactly.
#include <holdfast/detail/codec_time.hpp>

#include <algorithm>
#include <optional>

namespace holdfast::detail {

namespace {

__extension__ typedef unsigned __int128 WideUnsigned;

// Fractions that end within this many digits are written whole.
constexpr int kMaxDigits = 18;

std::string decimal(WideUnsigned value, std::size_t width = 1) {
  std::string digits;
  for (; value > 0; value /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// Whether num/den of a second can be written with at most kMaxDigits digits after the point.
bool is_decimal(TimeUnit unit) {
  WideInt power = 1;
  for (int i = 0; i < kMaxDigits; ++i) power *= 10;
  return power % unit.den == 0;
}

// The digits of rest/den, without the zeros at the end; of an endless fraction two more than den has.
std::string fraction_digits(WideUnsigned rest, TimeUnit unit) {
  const std::size_t most =
      is_decimal(unit) ? kMaxDigits : decimal(static_cast<WideUnsigned>(unit.den)).size() + 2;
  std::string digits;
  const auto den = static_cast<WideUnsigned>(unit.den);
  while (rest != 0 && digits.size() < most) {
    rest *= 10;
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest / den)));
    rest %= den;
  }
  return digits;
}

// ---- reading ------------------------------------------------------------------------------------

// A cursor over text that is mostly numbers and the characters between them.
struct Scanner {
  std::string_view rest;

  bool take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  std::string_view digits() {
    const auto end = std::find_if(rest.begin(), rest.end(), [](char c) { return c < '0' || c > '9'; });
    const std::string_view found = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(found.size());
    return found;
  }
  // Exactly `width` digits.
  std::optional<int> number(std::size_t width) {
    const std::string_view found = rest.substr(0, width);
    Scanner inner{found};
    if (found.size() != width || inner.digits().size() != width) return std::nullopt;
    rest.remove_prefix(width);
    int value = 0;
    for (const char c : found) value = value * 10 + (c - '0');
    return value;
  }
};

// Seconds and a decimal fraction of one, not negative.
struct Seconds {
  WideUnsigned whole = 0;
  std::string_view fraction{};
};

constexpr WideUnsigned kLargest = WideUnsigned{1} << 96;
// Of 1/den seconds. Beyond every 64-bit count of units, and far enough from the limits of the type that
// adding a fraction doesn't pass them.
constexpr WideInt kLargestParts = WideInt{1} << 126;

// The value of `digits`, or nothing when it is out of every type's range.
std::optional<WideUnsigned> to_number(std::string_view digits) {
  WideUnsigned value = 0;
  for (const char c : digits) {
    value = value * 10 + static_cast<WideUnsigned>(c - '0');
    if (value > kLargest) return std::nullopt;
  }
  return value;
}

bool too_large(std::string_view text, std::string& why) {
  why = "\"" + quote(text) + "\" is too large for its type";
  return false;
}

bool not_whole(std::string_view text, TimeUnit unit, std::string& why) {
  why = "\"" + quote(text) + "\" is not a whole number of its unit, which is " + std::to_string(unit.num) +
        (unit.den == 1 ? "" : "/" + std::to_string(unit.den)) + " s";
  return false;
}

// How many units are `seconds`? Units that decimals can't express are rounded to the nearest.
bool to_units(std::string_view text, Seconds seconds, TimeUnit unit, WideInt& count, std::string& why) {
  while (!seconds.fraction.empty() && seconds.fraction.back() == '0') seconds.fraction.remove_suffix(1);
  const bool too_fine = seconds.fraction.size() > kMaxDigits;
  const std::string_view digits = seconds.fraction.substr(0, kMaxDigits);
  WideUnsigned power = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) power *= 10;

  const auto num = static_cast<WideUnsigned>(unit.num);
  const auto den = static_cast<WideUnsigned>(unit.den);
  WideUnsigned parts = 0;  // of 1/den seconds
  if (__builtin_mul_overflow(seconds.whole, den, &parts) || parts > WideUnsigned{kLargestParts})
    return too_large(text, why);
  const WideUnsigned scaled = *to_number(digits) * den;
  parts += scaled / power;
  const WideUnsigned rest = scaled % power;
  if (!is_decimal(unit)) {
    if (2 * rest >= power) ++parts;
    count = static_cast<WideInt>((parts + num / 2) / num);
    return true;
  }
  if (rest != 0 || too_fine || parts % num != 0) return not_whole(text, unit, why);
  count = static_cast<WideInt>(parts / num);
  return true;
}

bool not_a_duration(std::string_view text, std::string& why) {
  why = "expected a duration such as \"PT1.5S\" (weeks, days, hours, minutes and seconds), found \"" +
        quote(text) + "\"";
  return false;
}

bool not_a_time(std::string_view text, std::string& why) {
  why = "expected a time such as \"2026-11-15T04:36:02Z\", found \"" + quote(text) + "\"";
  return false;
}

// One component such as `90M`: added to `seconds` when its letter is one of `letters`, which loses all up to
// it: each letter at most once, in this order.
bool take_component(Scanner& in, std::string_view& letters, Seconds& seconds) {
  static constexpr std::string_view kLetters = "WDHMS";
  static constexpr std::int64_t kSeconds[] = {604800, 86400, 3600, 60, 1};
  const std::string_view digits = in.digits();
  const std::optional<WideUnsigned> value = to_number(digits);
  if (digits.empty() || !value) return false;
  if (in.take('.') || in.take(',')) {
    seconds.fraction = in.digits();
    if (seconds.fraction.empty() || in.rest != "S") return false;
  }
  if (in.rest.empty()) return false;
  const std::size_t position = letters.find(in.rest.front());
  if (position == std::string_view::npos) return false;
  const std::int64_t factor = kSeconds[kLetters.find(in.rest.front())];
  letters.remove_prefix(position + 1);
  in.rest.remove_prefix(1);
  seconds.whole += *value * static_cast<WideUnsigned>(factor);
  return true;
}

// ---- the calendar -------------------------------------------------------------------------------

// The proleptic Gregorian calendar, counted from 1 March of year 0, so that a leap day ends its year; 400
// years have 146097 days.
constexpr int kDaysPer400Years = 146097;
constexpr int kDaysTo1970 = 719468;

// No 64-bit count of any unit reaches further; more would overflow on the way to a count.
constexpr WideUnsigned kLargestYear = WideUnsigned{1} << 64;

struct Date {
  WideInt year = 1970;
  int month = 1;
  int day = 1;
};

WideInt floor_divide(WideInt a, WideInt b) { return a / b - (a % b < 0 ? 1 : 0); }

Date date_of(WideInt days_since_1970) {
  const WideInt days = days_since_1970 + kDaysTo1970;
  const WideInt era = floor_divide(days, kDaysPer400Years);
  const int day_of_era = static_cast<int>(days - era * kDaysPer400Years);
  const int leap_days = day_of_era / 1460 - day_of_era / 36524 + day_of_era / 146096;
  const int year_of_era = (day_of_era - leap_days) / 365;
  const int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int month_from_march = (5 * day_of_year + 2) / 153;
  const int day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const int month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, day};
}

WideInt days_since_1970(const Date& date) {
  const WideInt year = date.year - (date.month <= 2 ? 1 : 0);
  const WideInt era = floor_divide(year, 400);
  const int year_of_era = static_cast<int>(year - era * 400);
  const int month_from_march = date.month > 2 ? date.month - 3 : date.month + 9;
  const int day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
  return era * kDaysPer400Years + WideInt{365} * year_of_era + year_of_era / 4 - year_of_era / 100 +
         day_of_year - kDaysTo1970;
}

std::string year_text(WideInt year) {
  if (year >= 0 && year <= 9999) return decimal(static_cast<WideUnsigned>(year), 4);
  // ISO 8601's form for years beyond four digits; the largest and smallest time points need it.
  return (year < 0 ? "-" : "+") + decimal(static_cast<WideUnsigned>(year < 0 ? -year : year), 4);
}

bool take_date(Scanner& in, Date& date) {
  const bool negative = in.take('-');
  const bool signed_year = negative || in.take('+');
  const std::string_view year = in.digits();
  const auto value = to_number(year);
  if (!value || *value > kLargestYear || year.size() < 4 || (!signed_year && year.size() != 4)) return false;
  if (!in.take('-')) return false;
  date.year = negative ? -static_cast<WideInt>(*value) : static_cast<WideInt>(*value);
  const auto month = in.number(2);
  const auto day = month && in.take('-') ? in.number(2) : std::nullopt;
  if (!day || *month < 1 || *month > 12 || *day < 1) return false;
  date.month = *month;
  date.day = *day;
  // A day that the month doesn't have comes back as one of the next month.
  return date_of(days_since_1970(date)).day == *day;
}

// `04:36:02`, as seconds of the day.
std::optional<int> take_clock(Scanner& in) {
  const auto hour = in.number(2);
  const auto minute = hour && in.take(':') ? in.number(2) : std::nullopt;
  const auto second = minute && in.take(':') ? in.number(2) : std::nullopt;
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return *hour * 3600 + *minute * 60 + *second;
}

// `Z` or `+02:00`, as seconds that are to be subtracted.
std::optional<int> take_zone(Scanner& in) {
  if (in.take('Z') || in.take('z')) return 0;
  const bool west = in.take('-');
  if (!west && !in.take('+')) return std::nullopt;
  const auto hours = in.number(2);
  const auto minutes = hours && in.take(':') ? in.number(2) : std::nullopt;
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const int offset = *hours * 3600 + *minutes * 60;
  return west ? -offset : offset;
}

}  // namespace

std::string duration_text(WideInt count, TimeUnit unit) {
  const auto magnitude =
      static_cast<WideUnsigned>(count < 0 ? -count : count) * static_cast<WideUnsigned>(unit.num);
  const WideUnsigned whole = magnitude / static_cast<WideUnsigned>(unit.den);
  const std::string digits = fraction_digits(magnitude % static_cast<WideUnsigned>(unit.den), unit);
  const WideUnsigned hours = whole / 3600;
  const WideUnsigned minutes = whole / 60 % 60;
  const WideUnsigned seconds = whole % 60;
  std::string text = count < 0 ? "-PT" : "PT";
  if (hours != 0) text += decimal(hours) + "H";
  if (minutes != 0) text += decimal(minutes) + "M";
  if (seconds != 0 || !digits.empty() || whole == 0) {
    text += decimal(seconds) + (digits.empty() ? "" : "." + digits) + "S";
  }
  return text;
}

bool parse_duration(std::string_view text, TimeUnit unit, WideInt& count, std::string& why) {
  Scanner in{text};
  const bool negative = in.take('-');
  if (!in.take('P')) return not_a_duration(text, why);
  Seconds seconds;
  std::string_view letters = "WD";
  while (!in.rest.empty() && in.rest.front() != 'T') {
    if (!take_component(in, letters, seconds)) return not_a_duration(text, why);
  }
  const bool has_days = letters.size() < 2;
  if (in.take('T')) {
    letters = "HMS";
    do {
      if (!take_component(in, letters, seconds)) return not_a_duration(text, why);
    } while (!in.rest.empty());
  } else if (!has_days) {
    return not_a_duration(text, why);
  }
  if (!to_units(text, seconds, unit, count, why)) return false;
  if (negative) count = -count;
  return true;
}

std::string time_text(WideInt count, TimeUnit unit) {
  const WideInt parts = count * unit.num;
  const WideInt seconds = floor_divide(parts, unit.den);
  const std::string digits = fraction_digits(static_cast<WideUnsigned>(parts - seconds * unit.den), unit);
  const WideInt days = floor_divide(seconds, 86400);
  const auto of_day = static_cast<WideUnsigned>(seconds - days * 86400);
  const Date date = date_of(days);
  const auto two = [](auto value) { return decimal(static_cast<WideUnsigned>(value), 2); };
  return year_text(date.year) + "-" + two(date.month) + "-" + two(date.day) + "T" + two(of_day / 3600) + ":" +
         two(of_day / 60 % 60) + ":" + two(of_day % 60) + (digits.empty() ? "" : "." + digits) + "Z";
}

bool parse_time(std::string_view text, TimeUnit unit, WideInt& count, std::string& why) {
  Scanner in{text};
  Date date;
  if (!take_date(in, date) || !(in.take('T') || in.take('t') || in.take(' '))) return not_a_time(text, why);
  const auto clock = take_clock(in);
  Seconds part_of_second;
  if (in.take('.')) {
    part_of_second.fraction = in.digits();
    if (part_of_second.fraction.empty()) return not_a_time(text, why);
  }
  const auto zone = clock ? take_zone(in) : std::nullopt;
  if (!zone || !in.rest.empty()) return not_a_time(text, why);

  // Whole seconds may be negative, the fraction counts forward from them.
  const WideInt seconds = days_since_1970(date) * 86400 + *clock - *zone;
  WideInt parts = 0;  // of 1/den seconds
  if (__builtin_mul_overflow(seconds, WideInt{unit.den}, &parts) || parts > kLargestParts ||
      parts < -kLargestParts) {
    return too_large(text, why);
  }
  WideInt fraction = 0;
  if (!to_units(text, part_of_second, TimeUnit{1, unit.den}, fraction, why)) return false;
  parts += fraction;
  if (parts % unit.num != 0) return not_whole(text, unit, why);
  count = parts / unit.num;
  return true;
}

}  // namespace holdfast::detail
