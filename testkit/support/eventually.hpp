// Waiting for what other threads and processes bring about.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace holdfast::support {

/// Waits for `condition`, as long as it takes within a generous deadline; false when that passed.
inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace holdfast::support
