// A logger that keeps what it was given, for tests that wait for a line.
#pragma once

#include "base/mutex.hpp"

#include <holdfast/log.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::support {

/// Of that level and above. Any thread.
class Lines final : public Logger {
 public:
  explicit Lines(LogLevel least = LogLevel::info) : least_(least) {}
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level >= least_; }
  void write(const LogRecord& record) noexcept override {
    const MutexLock lock(mutex_);
    lines_.push_back(format_line(record));
    changed_.notify_all();
  }

  /// Whether a line with `text` is there, or comes soon.
  bool wait_for(std::string_view text) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, kSoon, [&]() HOLDFAST_REQUIRES(mutex_) { return count_of(text) > 0; });
  }
  /// The same for a line that has all of these parts.
  bool wait_for_parts(const std::vector<std::string>& parts) {
    const auto has_all = [&](const std::string& line) {
      return std::ranges::all_of(parts,
                                 [&](const auto& part) { return line.find(part) != std::string::npos; });
    };
    MutexLock lock(mutex_);
    return changed_.wait_for(
        lock, kSoon, [&]() HOLDFAST_REQUIRES(mutex_) { return std::ranges::any_of(lines_, has_all); });
  }
  [[nodiscard]] std::size_t count(std::string_view text) {
    const MutexLock lock(mutex_);
    return count_of(text);
  }
  [[nodiscard]] std::string all() {
    const MutexLock lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  static constexpr std::chrono::seconds kSoon{60};  // on a machine that is busy

  [[nodiscard]] std::size_t count_of(std::string_view text) const HOLDFAST_REQUIRES(mutex_) {
    return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    }));
  }

  const LogLevel least_;
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> lines_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::support
