// Options are checked once, where they enter: what makes no sense is refused there, in words, and nothing
// behind it has to ask again.
#pragma once

#include <holdfast/options.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::detail {

/// What a sentence begins with: "RuntimeOptions", or "activity" and "charge" for "activity 'charge'". It
/// becomes a text only when something is wrong.
class Whose {
 public:
  Whose(const char* text) noexcept : text_(text) {}
  Whose(std::string_view text) noexcept : text_(text) {}
  Whose(const std::string& text) noexcept : text_(text) {}
  Whose(std::string_view kind, std::string_view name) noexcept : text_(kind), name_(name), has_name_(true) {}

  [[nodiscard]] std::string text() const {
    return has_name_ ? std::string(text_) + " '" + std::string(name_) + "'" : std::string(text_);
  }

 private:
  std::string_view text_;
  std::string_view name_;
  bool has_name_ = false;
};

// All throw std::invalid_argument.
void check_options(const Whose& whose, const RetryPolicy& policy);
void check_options(const Whose& whose, const ActivityOptions& options);
void check_options(const Whose& whose, const ChildOptions& options);
void check_options(const Whose& whose, const SessionOptions& options);
/// `what`: "terminate_after".
void check_delay(const Whose& whose, std::string_view what, Duration delay);

/// How long the reason for a cancel or an end may be.
inline constexpr std::size_t kMaxReasonBytes = 4096;
std::string checked_reason(const Whose& whose, std::string_view reason);

}  // namespace holdfast::detail
