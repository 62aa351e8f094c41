// What is said of schedules that make no sense.
#pragma once

#include <holdfast/errors.hpp>

#include <string>
#include <utility>

namespace holdfast::schedules {

[[noreturn]] inline void refuse(std::string message) {
  throw Error(Failure{.type = "invalid_schedule", .message = std::move(message), .retryable = false});
}

}  // namespace holdfast::schedules
