#include "base/siphash.hpp"

#include <algorithm>
#include <bit>

namespace holdfast::detail {
namespace {

// Up to eight bytes, the first one lowest, whatever the machine's order is.
std::uint64_t word_of(std::string_view bytes) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    word = (word << 8U) | static_cast<unsigned char>(bytes[i - 1]);
  return word;
}

}  // namespace

SipHasher::SipHasher(std::uint64_t key_low, std::uint64_t key_high) noexcept
    : v0_(key_low ^ 0x736f6d6570736575U),
      v1_(key_high ^ 0x646f72616e646f6dU ^ 0xeeU),
      v2_(key_low ^ 0x6c7967656e657261U),
      v3_(key_high ^ 0x7465646279746573U) {}

void SipHasher::rounds(int count) noexcept {
  for (; count > 0; --count) {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }
}

void SipHasher::take(std::uint64_t word) noexcept {
  v3_ ^= word;
  rounds(2);
  v0_ ^= word;
}

void SipHasher::add(std::string_view bytes) noexcept {
  const std::size_t begun = size_ % kWord;
  size_ += bytes.size();
  if (begun != 0) {
    const std::size_t missing = std::min(kWord - begun, bytes.size());
    bytes.copy(begun_.data() + begun, missing);
    bytes.remove_prefix(missing);
    if (begun + missing < kWord) return;
    take(word_of({begun_.data(), kWord}));
  }
  for (; bytes.size() >= kWord; bytes.remove_prefix(kWord)) take(word_of(bytes.substr(0, kWord)));
  bytes.copy(begun_.data(), bytes.size());
}

SipHash SipHasher::finish() noexcept {
  take((size_ << 56U) | word_of({begun_.data(), size_ % kWord}));
  v2_ ^= 0xeeU;
  rounds(4);
  const std::uint64_t low = sum();
  v1_ ^= 0xddU;
  rounds(4);
  return {.high = sum(), .low = low};
}

SipHash sip_hash(std::uint64_t key_low, std::uint64_t key_high, std::string_view bytes) noexcept {
  SipHasher hasher(key_low, key_high);
  hasher.add(bytes);
  return hasher.finish();
}

}  // namespace holdfast::detail
