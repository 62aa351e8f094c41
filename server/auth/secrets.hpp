// Secrets: random texts, their hashes, and comparison that takes the same time for all texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::server {

/// So many random bytes as hexadecimal digits. Throws std::runtime_error when there is no randomness.
[[nodiscard]] std::string random_hex(std::size_t bytes);
/// SHA-256 as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view text);
/// How long it takes tells nothing but whether the sizes differ.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b) noexcept;

}  // namespace holdfast::server
