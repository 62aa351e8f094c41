#include "base/version_ranges.hpp"

#include "base/versions.hpp"

#include <holdfast/errors.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace holdfast::detail {

namespace {

// Those of two characters first.
constexpr std::array<std::string_view, 7> kOperators{">=", "<=", "^", "~", ">", "<", "="};

std::string_view operator_of(std::string_view comparison) {
  const auto found = std::ranges::find_if(
      kOperators, [&](std::string_view candidate) { return comparison.starts_with(candidate); });
  return found == kOperators.end() ? std::string_view() : *found;
}

std::vector<std::string_view> split(std::string_view range) {
  std::vector<std::string_view> parts;
  while (!range.empty()) {
    const std::size_t blank = std::min(range.find(' '), range.size());
    if (blank > 0) parts.push_back(range.substr(0, blank));
    range.remove_prefix(std::min(blank + 1, range.size()));
  }
  return parts;
}

[[noreturn]] void refuse(std::string_view range, const std::string& why) {
  throw Error(Failure{.type = "invalid_version",
                      .message = "the range of versions '" + std::string(range) + "' " + why +
                                 "; ranges are comparisons with blanks between them: ^2.1, ~2.1, >=2.1 <3",
                      .retryable = false});
}

/// The three numbers of a version, and what comes after them.
struct Numbers {
  explicit Numbers(std::string_view version) : prerelease(is_prerelease(version)) {
    std::string_view rest = version.substr(0, version.find('-'));
    for (std::string_view& number : all) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      if (dot > 0) {
        number = rest.substr(0, dot);
        ++given;
      }
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
  }
  std::array<std::string_view, 3> all{"0", "0", "0"};
  std::size_t given = 0;
  bool prerelease;

  [[nodiscard]] bool begins_like(const Numbers& other, std::size_t count) const {
    return std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), other.all.begin());
  }
  /// How many of them versions have in common that are compatible: up to the first that is not 0.
  [[nodiscard]] std::size_t of_compatible() const {
    const auto first = std::ranges::find_if(all, [](std::string_view number) { return number != "0"; });
    return first == all.end() ? 1 : static_cast<std::size_t>(first - all.begin()) + 1;
  }
};

// "~2.0" is more than "~2", though both versions are the same.
std::string checked_bound(std::string_view comparison, std::string_view op) {
  const std::string_view version = comparison.substr(op.size());
  std::string checked = checked_version(version);
  const bool names_two = version.substr(0, version.find('-')).find('.') != std::string_view::npos;
  if (op == "~" && names_two && Numbers(checked).given == 1)
    checked.insert(std::min(checked.find('-'), checked.size()), ".0");
  return checked;
}

bool holds(std::string_view version, std::string_view comparison) {
  const std::string_view op = operator_of(comparison);
  const std::string_view bound = comparison.substr(op.size());
  if (op == "<") return older_version(version, bound);
  if (op == "<=") return !older_version(bound, version);
  if (op == ">") return older_version(bound, version);
  if (op == "=") return !older_version(bound, version) && !older_version(version, bound);
  if (older_version(version, bound)) return false;
  const Numbers numbers(bound);
  if (op == "^") return Numbers(version).begins_like(numbers, numbers.of_compatible());
  if (op == "~") return Numbers(version).begins_like(numbers, std::min<std::size_t>(numbers.given, 2));
  return true;  // ">="
}

bool names_prerelease_of(std::string_view version, std::string_view comparison) {
  const Numbers bound(comparison.substr(operator_of(comparison).size()));
  return bound.prerelease && bound.begins_like(Numbers(version), bound.all.size());
}

}  // namespace

bool is_range(std::string_view text) {
  return !operator_of(text.substr(std::min(text.find_first_not_of(' '), text.size()))).empty();
}

std::string checked_range(std::string_view range) {
  std::string all;
  const std::vector<std::string_view> parts = split(range);
  for (const std::string_view comparison : parts) {
    const std::string_view op = operator_of(comparison);
    if (op.empty()) refuse(range, "has '" + std::string(comparison) + "' where a comparison should stand");
    if (op.size() == comparison.size())
      refuse(range, "has '" + std::string(op) + "' without a version right after it");
    const std::string bound = checked_bound(comparison, op);
    if (op == "=" && parts.size() == 1) return bound;
    all += all.empty() ? "" : " ";
    all.append(op).append(bound);
  }
  return all;
}

bool in_range(std::string_view version, std::string_view range) {
  const std::vector<std::string_view> comparisons = split(range);
  const auto each = [&](auto condition) { return std::ranges::all_of(comparisons, condition); };
  if (!each([&](std::string_view one) { return holds(version, one); })) return false;
  return !is_prerelease(version) ||
         !each([&](std::string_view one) { return !names_prerelease_of(version, one); });
}

}  // namespace holdfast::detail
