// CRC-32C (Castagnoli): finds every damage of up to four bytes in a row, and practically all others.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::codec {

/// By the processor's instruction where it has one.
std::uint32_t crc32c(std::string_view bytes) noexcept;

/// The same by tables, on every processor.
std::uint32_t crc32c_by_tables(std::string_view bytes) noexcept;

}  // namespace holdfast::codec
