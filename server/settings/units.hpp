// Sizes and times as people write them in settings and queries: 8MiB, 64KiB, 30s, 500ms, 5min, 2h.
#pragma once

#include <holdfast/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::server {

/// Throws std::invalid_argument, which says what was expected.
[[nodiscard]] Duration parse_time(std::string_view text);
[[nodiscard]] std::uint64_t parse_size(std::string_view text);
[[nodiscard]] std::uint64_t parse_count(std::string_view text);

}  // namespace holdfast::server
