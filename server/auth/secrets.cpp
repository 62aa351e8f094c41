#include "server/auth/secrets.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <span>
#include <stdexcept>
#include <vector>

namespace holdfast::server {

namespace {

std::string hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text += kDigits[byte / 16U];
    text += kDigits[byte % 16U];
  }
  return text;
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> drawn(bytes);
  if (RAND_bytes(drawn.data(), static_cast<int>(bytes)) != 1)
    throw std::runtime_error("there is no randomness for a token");
  std::string text = hex(drawn);
  OPENSSL_cleanse(drawn.data(), drawn.size());
  return text;
}

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, 32> hash{};
  if (EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not available");
  }
  return hex(hash);
}

bool same_secret(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace holdfast::server
