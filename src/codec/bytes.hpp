// ByteWriter and ByteReader: the numbers and texts that binary forms are made of.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::history {

/// No varint is longer.
inline constexpr std::size_t kMaxVarintSize = 10;

/// LEB128: seven bits a byte, the lowest first; bit 7 says that more follow. Returns how many bytes it takes.
inline std::size_t write_varint(std::uint64_t value, std::array<char, kMaxVarintSize>& out) noexcept {
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) out[size++] = static_cast<char>(value | 0x80);
  out[size++] = static_cast<char>(value);
  return size;
}

/// Appends to a string, which must outlive it. One thread at a time.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) noexcept : out_(&out) {}

  void byte(std::uint8_t value) { out_->push_back(static_cast<char>(value)); }

  /// See write_varint(). 1 to 10 bytes.
  void varint(std::uint64_t value) {
    if (value < 0x80) return byte(static_cast<std::uint8_t>(value));
    std::array<char, kMaxVarintSize> bytes{};
    out_->append(bytes.data(), write_varint(value, bytes));
  }
  /// 0, -1, 1, -2, ... as the varints 0, 1, 2, 3, ...: small numbers are short, whatever their sign.
  void zigzag(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    varint(bits << 1 ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  /// 4 bytes, the lowest first.
  void fixed32(std::uint32_t value) { fixed(value, 4); }
  /// The 8 bytes of an IEEE 754 double, the lowest first.
  void number(double value) { fixed(std::bit_cast<std::uint64_t>(value), 8); }
  /// Its length as a varint, then its bytes, whatever they are.
  void string(std::string_view text) {
    varint(text.size());
    out_->append(text);
  }

  /// What is written between these two becomes one string: its length is put before it. Blocks nest; hand the
  /// result of begin_block to the end_block that belongs to it.
  [[nodiscard]] std::size_t begin_block() {
    byte(0);
    return out_->size();
  }
  void end_block(std::size_t begin) { fill_in(begin - 1, out_->size() - begin); }

  /// Puts a varint where one byte was left for it. That is enough for most; for others the rest moves up.
  void fill_in(std::size_t at, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      out_->insert(at, 1, static_cast<char>(value | 0x80));
      ++at;
    }
    (*out_)[at] = static_cast<char>(value);
  }

 private:
  void fixed(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }

  std::string* out_;
};

/// Reads what a ByteWriter wrote, and anything else: a read that the bytes don't allow returns false and
/// leaves the reader where it was. It never reads past the end and never allocates. The bytes must outlive
/// it.
class ByteReader {
 public:
  constexpr ByteReader() noexcept = default;
  constexpr explicit ByteReader(std::string_view bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool done() const noexcept { return at_ == end_; }
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  /// What was not read yet.
  [[nodiscard]] std::string_view rest() const noexcept { return {at_, left()}; }

  bool byte(std::uint8_t& out) noexcept {
    if (at_ == end_) return false;
    out = static_cast<std::uint8_t>(*at_++);
    return true;
  }
  /// Refuses what doesn't fit 64 bits, and what is longer than it needs to be.
  bool varint(std::uint64_t& out) noexcept {
    if (at_ == end_) return false;
    const auto first = static_cast<std::uint8_t>(*at_);
    if (first >= 0x80) return long_varint(out);
    out = first;
    ++at_;
    return true;
  }
  bool zigzag(std::int64_t& out) noexcept {
    std::uint64_t bits = 0;
    if (!varint(bits)) return false;
    out = static_cast<std::int64_t>(bits >> 1 ^ ((bits & 1) != 0 ? ~std::uint64_t{0} : 0));
    return true;
  }
  bool fixed32(std::uint32_t& out) noexcept {
    std::uint64_t value = 0;
    if (!fixed(value, 4)) return false;
    out = static_cast<std::uint32_t>(value);
    return true;
  }
  bool number(double& out) noexcept {
    std::uint64_t bits = 0;
    if (!fixed(bits, 8)) return false;
    out = std::bit_cast<double>(bits);
    return true;
  }
  /// `out` points into the bytes.
  bool string(std::string_view& out) noexcept {
    const char* const start = at_;
    std::uint64_t size = 0;
    if (!varint(size)) return false;
    if (size > left()) {
      at_ = start;
      return false;
    }
    return take(size, out);
  }
  /// The next `size` bytes as they are.
  bool take(std::size_t size, std::string_view& out) noexcept {
    if (size > left()) return false;
    out = {at_, size};
    at_ += size;
    return true;
  }

 private:
  bool long_varint(std::uint64_t& out) noexcept {
    std::uint64_t value = 0;
    const char* at = at_;
    for (int shift = 0; shift < 64 && at != end_; shift += 7) {
      const auto next = static_cast<std::uint8_t>(*at++);
      const std::uint64_t bits = next & 0x7FU;
      if (shift == 63 && bits > 1) return false;
      value |= bits << shift;
      if (next >= 0x80) continue;
      if (bits == 0) return false;
      out = value;
      at_ = at;
      return true;
    }
    return false;
  }
  bool fixed(std::uint64_t& out, std::size_t size) noexcept {
    std::string_view bytes;
    if (!take(size, bytes)) return false;
    out = 0;
    for (std::size_t i = 0; i < size; ++i) {
      out |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
    }
    return true;
  }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace holdfast::history
