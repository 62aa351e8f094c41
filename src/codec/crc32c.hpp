// CRC-32C (Castagnoli): finds every damage of up to four bytes in a row, and practically all others.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::codec {

std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace holdfast::codec
