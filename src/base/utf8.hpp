// Telling UTF-8 from other bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace holdfast::detail {

/// How many bytes the character at the front of `text` has: 1 to 4; 0 when no valid character stands there.
/// Overlong forms, surrogates and numbers beyond U+10FFFF are not valid.
std::size_t utf8_length(std::string_view text) noexcept;

/// Whether all of `text` is valid UTF-8.
bool is_utf8(std::string_view text) noexcept;

}  // namespace holdfast::detail
