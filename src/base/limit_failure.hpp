// What is said of a value that is larger than it may be, wherever it comes up.
#pragma once

#include <holdfast/errors.hpp>

#include <cstdint>
#include <string_view>

namespace holdfast::detail {

/// "the input of 'resize' has 5242880 bytes, and may have 4194304; ..."
Failure payload_too_large(std::string_view what, std::uint64_t bytes, std::uint64_t limit);

}  // namespace holdfast::detail
