// SipHash-2-4 with 128 bits: a hash under a key. Who does not know the key can't tell its results from random
// ones, nor find two inputs with the same result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::detail {

struct SipHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

/// Hashes bytes that come in pieces: how they are cut makes no difference. One thread at a time.
class SipHasher {
 public:
  SipHasher(std::uint64_t key_low, std::uint64_t key_high) noexcept;

  void add(std::string_view bytes) noexcept;
  /// Of all that was added. The same on every compiler and machine. Nothing can be added any more.
  [[nodiscard]] SipHash finish() noexcept;

 private:
  static constexpr std::size_t kWord = 8;

  // The state, in the names of the paper.
  void rounds(int count) noexcept;
  void take(std::uint64_t word) noexcept;
  [[nodiscard]] std::uint64_t sum() const noexcept { return v0_ ^ v1_ ^ v2_ ^ v3_; }

  std::uint64_t v0_, v1_, v2_, v3_;
  std::uint64_t size_ = 0;           // of all pieces
  std::array<char, kWord> begun_{};  // a word that is not complete
};

/// The hash of bytes in one piece.
SipHash sip_hash(std::uint64_t key_low, std::uint64_t key_high, std::string_view bytes) noexcept;

}  // namespace holdfast::detail
