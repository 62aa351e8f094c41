#include "codec/crc32c.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace holdfast::codec {

namespace {

// The polynomial 0x1EDC6F41 with its bits in reverse, as the bits of each byte come lowest first.
constexpr std::uint32_t kPolynomial = 0x82F63B78;

using Table = std::array<std::uint32_t, 256>;

// kTables[0] takes the checksum one byte further; kTables[k] does the same for a byte that k more follow. So
// eight bytes are eight lookups that don't wait for each other.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = crc >> 8 ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}
constexpr std::array<Table, 8> kTables = make_tables();

// Compilers make one load of it.
std::uint32_t load(const unsigned char* bytes) noexcept {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

#if defined(__x86_64__)

// Eight bytes an instruction. The checksum of a segment costs more than walking over its events otherwise.
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::string_view bytes) noexcept {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t crc = ~std::uint32_t{0};
  for (; left >= 8; left -= 8, at += 8) {
    unsigned long long chunk = 0;
    std::memcpy(&chunk, at, 8);
    crc = __builtin_ia32_crc32di(crc, chunk);
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}

bool has_instruction() noexcept {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
#if defined(__x86_64__)
  if (has_instruction()) return crc32c_by_instruction(bytes);
#endif
  return crc32c_by_tables(bytes);
}

std::uint32_t crc32c_by_tables(std::string_view bytes) noexcept {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  std::uint32_t crc = ~std::uint32_t{0};
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint32_t low = load(at) ^ crc;
    const std::uint32_t high = load(at + 4);
    crc = kTables[7][low & 0xFF] ^ kTables[6][low >> 8 & 0xFF] ^ kTables[5][low >> 16 & 0xFF] ^
          kTables[4][low >> 24] ^ kTables[3][high & 0xFF] ^ kTables[2][high >> 8 & 0xFF] ^
          kTables[1][high >> 16 & 0xFF] ^ kTables[0][high >> 24];
  }
  for (; left > 0; --left, ++at) crc = crc >> 8 ^ kTables[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

}  // namespace holdfast::codec
