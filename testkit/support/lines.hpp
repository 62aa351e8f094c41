// A logger that keeps what it was given, for tests that wait for a line.
#pragma once

#include <holdfast/log.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::support {

class Lines final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level >= LogLevel::info; }
  void write(const LogRecord& record) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(format_line(record));
    changed_.notify_all();
  }

  /// Whether a line with `text` is there, or comes soon.
  bool wait_for(std::string_view text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return count_locked(text) > 0; });
  }
  /// The same for a line that has all of these parts.
  bool wait_for_parts(const std::vector<std::string>& parts) {
    const auto has_all = [&](const std::string& line) {
      return std::ranges::all_of(parts,
                                 [&](const auto& part) { return line.find(part) != std::string::npos; });
    };
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30),
                             [&] { return std::ranges::any_of(lines_, has_all); });
  }
  [[nodiscard]] std::size_t count(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return count_locked(text);
  }
  [[nodiscard]] std::string all() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  [[nodiscard]] std::size_t count_locked(std::string_view text) const {
    return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    }));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

}  // namespace holdfast::support
