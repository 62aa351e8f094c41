#include <holdfast/ids.hpp>

namespace holdfast::detail {

namespace {

constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(std::uint64_t high, std::uint64_t low) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[(high >> (4 * i)) & 15];
    text[31 - i] = kDigits[(low >> (4 * i)) & 15];
  }
  return text;
}

std::optional<std::array<std::uint64_t, 2>> from_hex(std::string_view text) noexcept {
  if (text.size() != 32) return std::nullopt;
  std::array<std::uint64_t, 2> halves{};
  for (std::size_t i = 0; i < 32; ++i) {
    const int digit = hex_value(text[i]);
    if (digit < 0) return std::nullopt;
    halves[i / 16] = halves[i / 16] << 4 | static_cast<std::uint64_t>(digit);
  }
  return halves;
}

}  // namespace holdfast::detail
