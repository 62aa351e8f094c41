// Spans of time for people.
#pragma once

#include <holdfast/options.hpp>

#include <chrono>
#include <string>

namespace holdfast::client {

/// "250 ms", "40 s".
inline std::string seconds_text(Duration duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return ms >= 10'000 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace holdfast::client
