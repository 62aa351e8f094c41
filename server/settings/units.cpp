#include "server/settings/units.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace holdfast::server {

namespace {

using Unit = std::pair<std::string_view, std::uint64_t>;

// A whole number with one of these units behind it; nothing when it is anything else, or too large.
std::optional<std::uint64_t> number_with_unit(std::string_view text, std::span<const Unit> units) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(at, static_cast<std::size_t>(end - at));
  for (const auto& [name, factor] : units) {
    if (name != unit) continue;
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / factor) break;
    return number * factor;
  }
  return std::nullopt;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

Duration parse_time(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits{{{"us", 1},
                                               {"ms", 1'000},
                                               {"s", 1'000'000},
                                               {"min", 60'000'000},
                                               {"h", 3'600'000'000},
                                               {"d", 86'400'000'000}}};
  const std::optional<std::uint64_t> count = number_with_unit(text, kUnits);
  if (!count)
    throw std::invalid_argument(quoted(text) +
                                " is no time: write a number and us, ms, s, min, h or d, such as 30s");
  return Duration(static_cast<std::int64_t>(*count));
}

std::uint64_t parse_size(std::string_view text) {
  static constexpr std::array<Unit, 4> kUnits{
      {{"", 1}, {"KiB", 1ULL << 10U}, {"MiB", 1ULL << 20U}, {"GiB", 1ULL << 30U}}};
  const std::optional<std::uint64_t> size = number_with_unit(text, kUnits);
  if (!size)
    throw std::invalid_argument(quoted(text) +
                                " is no size: write a number of bytes, or one with KiB, MiB or GiB");
  return *size;
}

std::uint64_t parse_count(std::string_view text) {
  static constexpr std::array<Unit, 1> kUnits{{{"", 1}}};
  const std::optional<std::uint64_t> count = number_with_unit(text, kUnits);
  if (!count) throw std::invalid_argument(quoted(text) + " is no whole number");
  return *count;
}

}  // namespace holdfast::server
