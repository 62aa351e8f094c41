// Options are checked once, where they enter: what makes no sense is refused there, in words, and nothing
// behind it has to ask again.
#pragma once

#include <holdfast/options.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::detail {

// All throw std::invalid_argument; `whose` begins the sentence: "activity 'charge'".
void check_options(std::string_view whose, const RetryPolicy& policy);
void check_options(std::string_view whose, const ActivityOptions& options);
void check_options(std::string_view whose, const ChildOptions& options);
void check_options(std::string_view whose, const SessionOptions& options);
/// `what`: "terminate_after".
void check_delay(std::string_view whose, std::string_view what, Duration delay);

/// How long the reason for a cancel or an end may be.
inline constexpr std::size_t kMaxReasonBytes = 4096;
std::string checked_reason(std::string_view whose, std::string_view reason);

}  // namespace holdfast::detail
