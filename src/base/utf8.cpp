#include "base/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace holdfast::detail {

namespace {

// What a lead byte announces: the length of its character, and the range of the second byte, which is
// narrower than that of the others where overlong forms, surrogates or too large numbers would begin.
struct Lead {
  std::size_t length = 0;
  unsigned char second_from = 0x80;
  unsigned char second_to = 0xbf;
};

constexpr Lead lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return {1};
  if (byte < 0xc2) return {0};
  if (byte < 0xe0) return {2};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0};
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const auto byte_at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Lead lead = lead_of(byte_at(0));
  if (lead.length < 2) return lead.length;
  if (text.size() < lead.length) return 0;
  if (byte_at(1) < lead.second_from || byte_at(1) > lead.second_to) return 0;
  for (std::size_t i = 2; i < lead.length; ++i) {
    if (byte_at(i) < 0x80 || byte_at(i) > 0xbf) return 0;
  }
  return lead.length;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    // Most text is ASCII: eight bytes at a time while it is.
    std::uint64_t chunk = 0;
    while (text.size() >= sizeof chunk) {
      std::memcpy(&chunk, text.data(), sizeof chunk);
      if ((chunk & 0x8080808080808080U) != 0) break;
      text.remove_prefix(sizeof chunk);
    }
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace holdfast::detail
