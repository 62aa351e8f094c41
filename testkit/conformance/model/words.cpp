#include "testkit/conformance/model/words.hpp"

#include <array>
#include <chrono>

namespace holdfast::testing::model {

std::string words(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else if (byte >= 0x20 && byte < 0x7f) {
      out.push_back(c);
    } else {
      out.append("\\x");
      out.push_back(kDigits[byte >> 4U]);
      out.push_back(kDigits[byte & 15U]);
    }
  }
  return out + "\"";
}

std::string words(Duration duration) {
  if (duration == never) return "never";
  const std::int64_t count = duration.count();
  const std::int64_t micros = count % 1'000'000;
  if (micros == 0) return std::to_string(count / 1'000'000) + "s";
  if (micros % 1'000 == 0) return std::to_string(count / 1'000) + "ms";
  return std::to_string(count) + "us";
}

std::string words(CalendarTime time) {
  const Duration since = time - ManualClock::kCalendarStart;
  return (since < Duration{} ? "start" : "start+") + words(since);
}

std::string words(const StoreError& error) {
  std::string text = words(error.kind);
  if (error.kind == StoreError::Kind::gone) text.append(" (").append(words(error.reason)).append(")");
  if (!error.message.empty()) text.append(": ").append(error.message);
  return text;
}

std::string words_of_token(std::uint64_t high, std::uint64_t low) {
  if (high == 0 && low == 0) return "none";
  if (high == kTokenMark) return "#" + std::to_string(low);
  if (high == 0) return "no. " + std::to_string(low);
  return holdfast::detail::to_hex(high, low);
}

}  // namespace holdfast::testing::model
