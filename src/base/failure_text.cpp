#include "base/failure_text.hpp"

namespace holdfast::detail {

std::string failure_text(std::string_view text) {
  if (text.size() <= kMaxFailureText) return std::string(text);
  const auto is_inside = [&](std::size_t at) {  // of a character
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  constexpr std::size_t kRoomToSaySo = 48;
  constexpr std::size_t kLongest = kMaxFailureText - kRoomToSaySo;
  std::size_t end = kLongest;
  while (end > kLongest - 3 && is_inside(end)) --end;
  return std::string(text.substr(0, end)) + "... (cut, of " + std::to_string(text.size()) + " bytes)";
}

std::string failure_text(const std::exception& error) {
  const char* const text = error.what();
  return text != nullptr ? failure_text(std::string_view(text)) : "";
}

void limit_details(Failure& failure, std::uint64_t limit) {
  if (limit == 0 || failure.details.bytes.size() <= limit) return;
  failure.message +=
      " (its details were left out: they have " + std::to_string(failure.details.bytes.size()) + " bytes)";
  failure.details = {kJsonEncoding, "null"};
}

}  // namespace holdfast::detail
