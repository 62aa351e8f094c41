#include "base/limit_failure.hpp"

#include <string>

namespace holdfast::detail {

Failure payload_too_large(std::string_view what, std::uint64_t bytes, std::uint64_t limit) {
  return {.category = Category::limit,
          .type = "payload_too_large",
          .message = std::string(what) + " has " + std::to_string(bytes) + " bytes, and may have " +
                     std::to_string(limit) + "; keep what is large elsewhere, and pass where it is",
          .retryable = false};
}

}  // namespace holdfast::detail
