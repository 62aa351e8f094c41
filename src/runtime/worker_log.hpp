// WorkerLog: the lines of one worker. Each names the worker, and a burst of the same is cut short.
#pragma once

#include "base/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/log.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace holdfast::runtime {

/// Texts of fields are cut after this many bytes.
inline constexpr std::size_t kMaxLogText = 1000;
void cut_texts(std::span<LogField> fields) noexcept;

/// Lines with the same message are of one kind, whatever their fields. Of each kind kBurst are written within
/// kWindow; the others are counted, and their number is written once that time is over. Lines of level
/// `debug` are all written: whoever wants those wants all of them. The logger of the user is called without a
/// mutex held.
class WorkerLog final : public Logger {
 public:
  static constexpr std::uint64_t kBurst = 100;
  static constexpr Duration kWindow = std::chrono::seconds(10);

  /// `clock` tells how much time has passed, and outlives this.
  WorkerLog(std::shared_ptr<Logger> to, std::string worker, const Clock& clock);

  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return to_->enabled(level); }
  void write(const LogRecord& record) noexcept override;
  /// Says how many lines were left out, of each kind whose time is over.
  void tell_left_out() noexcept;
  /// The same of all kinds, for a worker that has stopped.
  void close() noexcept;

 private:
  struct Kind {
    BootTime since{};
    std::uint64_t written = 0;
    std::uint64_t left_out = 0;
    LogLevel level = LogLevel::info;
  };
  using Kinds = std::map<std::string, Kind, std::less<>>;

  /// How many lines of one kind were left out.
  struct LeftOut {
    LogLevel level = LogLevel::info;
    std::string message{};
    std::uint64_t count = 0;
  };
  /// Whether it is to be written, and what has to be said before it.
  bool admit(const LogRecord& record, std::optional<LeftOut>& before);
  void tell_left_out(bool all);
  void write(const LeftOut& left_out);
  void write_named(const LogRecord& record);

  const std::shared_ptr<Logger> to_;
  const std::string worker_;
  const Clock& clock_;
  Mutex mutex_;
  Kinds kinds_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
