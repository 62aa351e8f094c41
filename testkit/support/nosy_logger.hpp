// A logger that looks around, for tests of what calls it.
#pragma once

#include <holdfast/log.hpp>

#include <atomic>
#include <functional>

namespace holdfast::support {

/// Asks something whenever it is called, as a logger of the user may. Whoever calls it with a mutex held that
/// the question needs hangs.
class NosyLogger final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    if (ask) ask();
    return level != LogLevel::off;
  }
  void write(const LogRecord& /*record*/) noexcept override {
    if (ask) ask();
    ++lines;
  }

  std::function<void()> ask{};
  std::atomic<int> lines{0};
};

}  // namespace holdfast::support
