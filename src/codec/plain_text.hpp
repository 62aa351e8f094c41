// What JSON strings and their contents have in common: runs of bytes that look the same in both.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace holdfast::codec {

/// Bytes that a JSON string holds as they are. All but quotes, backslashes and control characters.
constexpr bool is_plain(char c) noexcept {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

struct PlainRun {
  const char* end;  // the first byte that isn't plain, or the end of the text
  bool ascii;       // no byte of the run is beyond ASCII, so it is valid UTF-8 for certain
};

/// The plain bytes from `at` on. Looks at eight at a time, because most of the time of reading and writing
/// text goes in here.
inline PlainRun plain_run(const char* at, const char* end) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  const auto zero_bytes = [](std::uint64_t x) { return (x - kOnes) & ~x & kHighs; };
  std::uint64_t seen = 0;
  while (std::endian::native == std::endian::little && end - at >= 8) {
    std::uint64_t chunk = 0;
    std::memcpy(&chunk, at, 8);
    // Bit 7 of each byte that isn't plain. The lowest one that is set is right; borrows spoil only those
    // above.
    const std::uint64_t special = ((chunk - kOnes * 0x20) & ~chunk & kHighs) |
                                  zero_bytes(chunk ^ kOnes * '"') | zero_bytes(chunk ^ kOnes * '\\');
    if (special != 0) {
      seen |= chunk & (special ^ (special - 1)) >> 1;
      return {at + std::countr_zero(special) / 8, (seen & kHighs) == 0};
    }
    seen |= chunk;
    at += 8;
  }
  for (; at != end && is_plain(*at); ++at) seen |= static_cast<unsigned char>(*at);
  return {at, (seen & kHighs) == 0};
}

}  // namespace holdfast::codec
