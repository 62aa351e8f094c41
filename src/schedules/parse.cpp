// The text of patterns: the fields of cron, in cron texts and in calendars.
#include "schedules/invalid.hpp"
#include "schedules/pattern.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

namespace holdfast::schedules {

namespace {

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

/// One field of a pattern: what it is called, which numbers it takes, and their names, the first of which is
/// the name of `first_name`.
struct Field {
  std::string_view name;
  int least;
  int most;
  std::span<const std::string_view> names{};
  int first_name = 0;
};

constexpr Field kSecond{"second", 0, 59};
constexpr Field kMinute{"minute", 0, 59};
constexpr Field kHour{"hour", 0, 23};
constexpr Field kDay{"day of month", 1, 31};
constexpr Field kMonth{"month", 1, 12, kMonths, 1};
constexpr Field kWeekday{"day of week", 0, 7, kWeekdays, 0};  // 7 is Sunday, too
constexpr Field kYear{"year", 1970, Years::kLast};

/// A field of a text, and where it stands.
struct Place {
  const Field& field;
  std::string_view text;   ///< of the field
  std::string_view whole;  ///< what it is a part of, for messages

  [[noreturn]] void refuse(std::string_view part, std::string_view why) const {
    schedules::refuse("in " + std::string(whole) + " the " + std::string(field.name) + " '" +
                      std::string(text) + "' has '" + std::string(part) + "', " + std::string(why));
  }
};

struct Range {
  int first;
  int last;
  int step = 1;
};

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

std::optional<int> as_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '-') return std::nullopt;
  return number;
}

std::string expectation(const Field& field) {
  std::string text =
      "where a number from " + std::to_string(field.least) + " to " + std::to_string(field.most);
  if (!field.names.empty()) text += " or a name such as " + std::string(field.names.front());
  return text + " should stand";
}

int value_of(std::string_view text, const Place& place) {
  const Field& field = place.field;
  for (std::size_t i = 0; i < field.names.size(); ++i) {
    if (same_letters(text, field.names[i])) return field.first_name + static_cast<int>(i);
  }
  const auto number = text.empty() ? std::nullopt : as_number(text);
  if (!number || *number < field.least || *number > field.most) place.refuse(text, expectation(field));
  return *number;
}

// "*", "5", "9-17", and each of them with "/15": "5/15" is from 5 on.
Range range_of(std::string_view item, const Place& place) {
  const std::string_view whole = item;
  const std::string_view values = take_until(item, '/');
  const bool has_step = values.size() < whole.size();
  Range range{place.field.least, place.field.most};
  if (values != "*") {
    std::string_view rest = values;
    range.first = value_of(take_until(rest, '-'), place);
    const bool is_range = values.find('-') != std::string_view::npos;
    if (is_range) {
      range.last = value_of(rest, place);
      // "fri-sun" ends with the Sunday after it.
      if (&place.field == &kWeekday && range.last == 0 && range.first > 0) range.last = 7;
    } else if (!has_step) {
      range.last = range.first;
    } else if (&place.field == &kWeekday) {
      range.last = std::max(range.first, 6);  // Sunday is its first day
    }
    if (range.last < range.first) place.refuse(values, "which ends before it begins");
  }
  if (has_step) {
    const auto step = item.empty() ? std::nullopt : as_number(item);
    if (!step || *step < 1) place.refuse(whole, "whose step is no number above 0");
    range.step = *step;
  }
  return range;
}

std::vector<Range> ranges_of(const Place& place) {
  std::vector<Range> ranges;
  std::string_view rest = place.text;
  if (rest.empty() || rest.ends_with(',')) place.refuse(rest, "which is no list of values between commas");
  while (!rest.empty()) ranges.push_back(range_of(take_until(rest, ','), place));
  return ranges;
}

std::uint64_t set_of(const Place& place) {
  std::uint64_t set = 0;
  for (const Range& range : ranges_of(place)) {
    for (int value = range.first; value <= range.last; value += range.step)
      set |= std::uint64_t{1} << static_cast<unsigned>(value);
  }
  return set;
}

void read_days(Pattern& pattern, const Place& place) {
  std::string others;
  std::string_view rest = place.text;
  if (rest.empty()) place.refuse(rest, "which is no list of values between commas");
  while (!rest.empty()) {
    const std::string_view item = take_until(rest, ',');
    if (same_letters(item, "last") || same_letters(item, "L")) {
      pattern.last_day = true;
    } else {
      others += others.empty() ? "" : ",";
      others += item;
    }
  }
  if (!others.empty() || !pattern.last_day)
    pattern.days = static_cast<std::uint32_t>(set_of({place.field, others, place.whole}));
}

void read_years(Pattern& pattern, const Place& place) {
  for (const Range& range : ranges_of(place)) {
    if (range.step == 1) {
      pattern.years.push_back({range.first, range.last});
    } else {
      for (int year = range.first; year <= range.last; year += range.step)
        pattern.years.push_back({year, year});
    }
  }
}

/// The fields of one pattern, in words.
struct Fields {
  std::string_view second, minute, hour, day, month, weekday, year;
};

bool is_any(std::string_view field) { return field.starts_with('*'); }

Pattern parse(const Fields& fields, std::string_view whole) {
  Pattern pattern;
  pattern.seconds = set_of({kSecond, fields.second, whole});
  pattern.minutes = set_of({kMinute, fields.minute, whole});
  pattern.hours = static_cast<std::uint32_t>(set_of({kHour, fields.hour, whole}));
  read_days(pattern, {kDay, fields.day, whole});
  pattern.months = static_cast<std::uint16_t>(set_of({kMonth, fields.month, whole}));
  const std::uint64_t weekdays = set_of({kWeekday, fields.weekday, whole});
  pattern.weekdays = static_cast<std::uint8_t>((weekdays | weekdays >> 7U) & 0x7FU);
  read_years(pattern, {kYear, fields.year, whole});
  pattern.follows_elapsed = is_any(fields.hour) || fields.hour.find('/') != std::string_view::npos;
  return pattern;
}

std::string_view without_shorthand(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShorthands{{
      {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"},
      {"@monthly", "0 0 1 * *"},
      {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},
      {"@midnight", "0 0 * * *"},
      {"@hourly", "0 * * * *"},
  }};
  for (const auto& [name, meaning] : kShorthands) {
    if (same_letters(text, name)) return meaning;
  }
  return text;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t";
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) return words;
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    words.push_back(word);
    text.remove_prefix(word.size());
  }
}

// Refuses what no year has, such as 30 February.
Pattern checked(Pattern pattern, std::string_view whole) {
  const int first = std::ranges::min(pattern.years, {}, &Years::first).first;
  const LocalTime start{std::chrono::local_days(std::chrono::year(first) / std::chrono::January / 1)};
  if (!next_match(pattern, start)) refuse(std::string(whole) + " names no day that any year has");
  return pattern;
}

}  // namespace

Pattern parse_cron(const std::string& text, Use use) {
  std::vector<std::string_view> words = words_of(without_shorthand(text));
  const std::string whole = "the cron text '" + text + "'";
  if (words.size() != 5 && words.size() != 6) {
    refuse(whole + (text.starts_with('@') ? " is none of @yearly, @monthly, @weekly, @daily and @hourly"
                                          : " has " + std::to_string(words.size()) +
                                                " fields; it takes minute, hour, day of month, month and day "
                                                "of week, and may begin with the second"));
  }
  if (words.size() == 5) words.insert(words.begin(), use == Use::times ? "0" : "*");
  Pattern pattern = parse({words[0], words[1], words[2], words[3], words[4], words[5], "*"}, whole);
  pattern.either_day = !is_any(words[3]) && !is_any(words[5]);
  return checked(std::move(pattern), whole);
}

Pattern parse_calendar(const CalendarSpec& calendar, Use use) {
  const auto given = [](const std::string& text, std::string_view otherwise) {
    return text.empty() ? otherwise : std::string_view(text);
  };
  const std::string_view time = use == Use::times ? "0" : "*";
  constexpr std::string_view kWhole = "a calendar";
  return checked(
      parse({given(calendar.second, time), given(calendar.minute, time), given(calendar.hour, time),
             given(calendar.day_of_month, "*"), given(calendar.month, "*"), given(calendar.day_of_week, "*"),
             given(calendar.year, "*")},
            kWhole),
      kWhole);
}

}  // namespace holdfast::schedules
