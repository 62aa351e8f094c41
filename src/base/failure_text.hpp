// How much a failure keeps. What an exception says goes into history, rows and answers, and may be anything.
#pragma once

#include <holdfast/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace holdfast::detail {

inline constexpr std::size_t kMaxFailureText = 32'768;

/// `text`, or its beginning and how long it was: "... (cut, of 41943040 bytes)". Characters stay whole. All
/// of it has at most kMaxFailureText bytes: what was cut once stays as it is.
std::string failure_text(std::string_view text);
/// The same of what an exception says; some say nothing.
std::string failure_text(const std::exception& error);

/// Leaves details out that have more than `limit` bytes, and says so in the message; 0 = no limit.
void limit_details(Failure& failure, std::uint64_t limit);

}  // namespace holdfast::detail
