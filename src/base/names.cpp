#include "base/utf8.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>

#include <algorithm>

namespace holdfast::detail {

namespace {

constexpr std::size_t kMaxNameSize = 255;

std::string_view problem_of(std::string_view name) noexcept {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameSize) return "has more than 255 bytes";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control)) return "has a control character";
  if (!is_utf8(name)) return "is not valid UTF-8";
  return {};
}

}  // namespace

std::string checked_name(std::string_view what, std::string_view name) {
  if (const std::string_view problem = problem_of(name); !problem.empty()) {
    const bool printable = problem.starts_with("has more");
    throw Error(Failure{.type = "invalid_name",
                        .message = "the name of " + std::string(what) + " " + std::string(problem) +
                                   (printable ? ": " + std::string(name.substr(0, 40)) + "..." : "") +
                                   "; names have 1 to 255 bytes of UTF-8 without control characters",
                        .retryable = false});
  }
  return std::string(name);
}

}  // namespace holdfast::detail
