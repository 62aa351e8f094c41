// SipHash-2-4 with 128 bits: a hash under a key. Who does not know the key can't tell its results from random
// ones, nor find two inputs with the same result.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::detail {

struct SipHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

/// The same on every compiler and machine.
SipHash sip_hash(std::uint64_t key_low, std::uint64_t key_high, std::string_view bytes) noexcept;

}  // namespace holdfast::detail
