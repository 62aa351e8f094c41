#include "base/siphash.hpp"

#include <bit>
#include <cstddef>

namespace holdfast::detail {
namespace {

/// The state, in the names of the paper.
struct State {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) noexcept {
    for (; count > 0; --count) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  [[nodiscard]] std::uint64_t sum() const noexcept { return v0 ^ v1 ^ v2 ^ v3; }
};

// Up to eight bytes, the first one lowest, whatever the machine's order is.
std::uint64_t word_of(std::string_view bytes) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    word = (word << 8U) | static_cast<unsigned char>(bytes[i - 1]);
  return word;
}

}  // namespace

SipHash sip_hash(std::uint64_t key_low, std::uint64_t key_high, std::string_view bytes) noexcept {
  State state{key_low ^ 0x736f6d6570736575U, key_high ^ 0x646f72616e646f6dU ^ 0xeeU,
              key_low ^ 0x6c7967656e657261U, key_high ^ 0x7465646279746573U};
  std::string_view rest = bytes;
  for (; rest.size() >= 8; rest.remove_prefix(8)) state.take(word_of(rest.substr(0, 8)));
  state.take((std::uint64_t{bytes.size()} << 56U) | word_of(rest));
  state.v2 ^= 0xeeU;
  state.rounds(4);
  const std::uint64_t low = state.sum();
  state.v1 ^= 0xddU;
  state.rounds(4);
  return {.high = state.sum(), .low = low};
}

}  // namespace holdfast::detail
