#include "base/utf8.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

namespace holdfast::detail {

namespace {

constexpr std::size_t kMaxNameSize = 255;

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Where the first control character of valid UTF-8 stands: C0, DEL or C1.
std::optional<std::size_t> find_control(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const unsigned byte = byte_at(text, at);
    if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && byte_at(text, at + 1) < 0xa0)) return at;
  }
  return std::nullopt;
}

std::string control_at(std::string_view text, std::size_t at) {
  const unsigned byte = byte_at(text, at);
  std::array<char, 16> point{};
  std::snprintf(point.data(), point.size(), "U+%04X", byte == 0xc2 ? byte_at(text, at + 1) : byte);
  return "the control character " + std::string(point.data()) + " at byte " + std::to_string(at);
}

// The beginning of a text that is longer than that, in whole characters.
std::string_view beginning_of(std::string_view text) {
  std::size_t end = 40;
  while ((byte_at(text, end) & 0xc0U) == 0x80) --end;
  return text.substr(0, end);
}

std::string problem_of(std::string_view name) {
  if (name.empty()) return "is empty";
  if (!is_utf8(name)) return "is not valid UTF-8";
  if (const auto control = find_control(name)) return "has " + control_at(name, *control);
  if (name.size() > kMaxNameSize)
    return "has more than 255 bytes: " + std::string(beginning_of(name)) + "...";
  return {};
}

}  // namespace

std::string name_problem(std::string_view what, std::string_view name) {
  const std::string problem = problem_of(name);
  if (problem.empty()) return {};
  return "the name of " + std::string(what) + " " + problem +
         "; names have 1 to 255 bytes of UTF-8 without control characters";
}

std::string checked_name(std::string_view what, std::string_view name) {
  if (std::string problem = name_problem(what, name); !problem.empty())
    throw Error(Failure{.type = "invalid_name", .message = std::move(problem), .retryable = false});
  return std::string(name);
}

}  // namespace holdfast::detail
