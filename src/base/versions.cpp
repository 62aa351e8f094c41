#include "base/versions.hpp"

#include "base/version_ranges.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>

#include <algorithm>
#include <cstddef>

namespace holdfast::detail {

namespace {

constexpr std::size_t kMaxNumbers = 3;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_latin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_number(std::string_view part) { return !part.empty() && std::ranges::all_of(part, is_decimal); }
bool is_identifier(std::string_view part) {
  return !part.empty() &&
         std::ranges::all_of(part, [](char c) { return is_decimal(c) || is_latin(c) || c == '-'; });
}

// The part up to the next dot, which is taken off.
std::string_view next_part(std::string_view& text) {
  const std::size_t dot = text.find('.');
  const std::string_view part = text.substr(0, dot);
  text.remove_prefix(dot == std::string_view::npos ? text.size() : dot + 1);
  return part;
}

std::string_view without_zeros(std::string_view number) {
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size() - 1));
  return number;
}

[[noreturn]] void refuse_version(std::string_view version, const std::string& why) {
  throw Error(Failure{.type = "invalid_version",
                      .message = "the version '" + std::string(version) + "' " + why +
                                 "; versions are one to three numbers and perhaps a pre-release: 2, 2.1, "
                                 "2.1.3, 3-rc.1",
                      .retryable = false});
}

std::string checked_numbers(std::string_view version, std::string_view numbers) {
  if (numbers.ends_with('.')) refuse_version(version, "ends a number with a dot");
  std::string all;
  std::size_t shortest = 0;  // where its last number that is not 0 ends, or its first one
  std::size_t count = 0;
  do {
    const std::string_view part = next_part(numbers);
    if (!is_number(part))
      refuse_version(version, "has '" + std::string(part) + "' where a number should stand");
    if (++count > kMaxNumbers) refuse_version(version, "has more than three numbers");
    const std::string_view number = without_zeros(part);
    if (count > 1) all += '.';
    all += number;
    if (count == 1 || number != "0") shortest = all.size();
  } while (!numbers.empty());
  all.resize(shortest);
  return all;
}

std::string checked_prerelease(std::string_view version, std::string_view parts) {
  if (parts.empty() || parts.ends_with('.')) refuse_version(version, "has a pre-release that ends too early");
  std::string all;
  do {
    const std::string_view part = next_part(parts);
    if (!is_identifier(part)) {
      refuse_version(version, "has '" + std::string(part) +
                                  "' in its pre-release, which has letters, digits and hyphens between dots");
    }
    all += all.empty() ? '-' : '.';
    all += is_number(part) ? without_zeros(part) : part;
  } while (!parts.empty());
  return all;
}

/// What stands before its first hyphen, and after it.
struct Halves {
  explicit Halves(std::string_view version)
      : numbers(version.substr(0, version.find('-'))),
        prerelease(version.substr(std::min(numbers.size() + 1, version.size()))) {}
  std::string_view numbers;
  std::string_view prerelease;
};

// Of any size: by their digits.
int compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

int compare_identifiers(std::string_view a, std::string_view b) {
  const bool number = is_number(a);
  if (number != is_number(b)) return number ? -1 : 1;
  return number ? compare_numbers(a, b) : a.compare(b);
}

}  // namespace

std::string checked_version(std::string_view version) {
  if (version.empty()) return {};
  const std::string checked = checked_name("a version", version);
  if (checked.find('+') != std::string::npos)
    refuse_version(version,
                   "has build metadata, which tells no versions apart: leave out what begins with '+'");
  const std::size_t hyphen = version.find('-');
  std::string shortest = checked_numbers(version, version.substr(0, hyphen));
  if (hyphen != std::string_view::npos) shortest += checked_prerelease(version, version.substr(hyphen + 1));
  return shortest;
}

std::string wanted_version(std::string_view version) {
  if (version == newest_version) return {};
  return is_range(version) ? checked_range(version) : checked_version(version);
}

bool older_version(std::string_view a, std::string_view b) {
  Halves first(a);
  Halves second(b);
  while (!first.numbers.empty() || !second.numbers.empty()) {
    const std::string_view x = first.numbers.empty() ? "0" : next_part(first.numbers);
    const std::string_view y = second.numbers.empty() ? "0" : next_part(second.numbers);
    if (const int order = compare_numbers(x, y); order != 0) return order < 0;
  }
  if (first.prerelease.empty() || second.prerelease.empty())
    return !first.prerelease.empty() && second.prerelease.empty();
  while (!first.prerelease.empty() && !second.prerelease.empty()) {
    const int order = compare_identifiers(next_part(first.prerelease), next_part(second.prerelease));
    if (order != 0) return order < 0;
  }
  return first.prerelease.empty() && !second.prerelease.empty();
}

bool is_prerelease(std::string_view version) { return version.find('-') != std::string_view::npos; }

}  // namespace holdfast::detail
