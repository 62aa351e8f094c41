// Logging: a small interface that an application connects to its own logs, and a default that writes to
// stderr.
#pragma once

#include <holdfast/clock.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

/// In growing severity. `off` is only a minimum, which lets nothing through; no record has it.
enum class LogLevel : std::uint8_t { debug, info, warn, error, off };

/// The name of a level as it is written in logs and settings.
std::string_view to_string(LogLevel level) noexcept;

/// The value of a field: text, a number or a boolean. Text is not copied, see LogRecord.
class LogValue {
 public:
  using Variant = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  constexpr LogValue() noexcept = default;
  template <std::convertible_to<std::string_view> T>
  constexpr LogValue(const T& text) : value_(std::in_place_type<std::string_view>, text) {}
  template <std::same_as<bool> T>
  constexpr LogValue(T truth) noexcept : value_(std::in_place_type<bool>, truth) {}
  /// Integers of any width and sign. Not char, which might be meant as text.
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char> && sizeof(T) <= sizeof(std::uint64_t))
  constexpr LogValue(T number) noexcept
      : value_(std::in_place_type<std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>>,
               number) {}
  template <std::floating_point T>
  constexpr LogValue(T number) noexcept : value_(std::in_place_type<double>, number) {}

  [[nodiscard]] constexpr const Variant& variant() const noexcept { return value_; }

 private:
  Variant value_{};
};

struct LogField {
  std::string_view key{};
  LogValue value{};
};

/// One log entry. It owns nothing: a logger copies what it keeps beyond the call of write().
struct LogRecord {
  LogLevel level = LogLevel::info;
  CalendarTime time{};
  std::string_view message{};
  std::span<const LogField> fields{};
};

/// Where records go. Several threads call both functions at once. They don't throw: a record that can't be
/// written is lost.
class Logger {
 public:
  virtual ~Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  /// Whether records of this level are written. Called often, so it should be cheap; never true for `off`.
  [[nodiscard]] virtual bool enabled(LogLevel level) const noexcept = 0;
  virtual void write(const LogRecord& record) noexcept = 0;

  /// The clock whose time its records carry.
  [[nodiscard]] const Clock& clock() const noexcept { return *clock_; }

 protected:
  /// `clock` outlives the logger.
  explicit Logger(const Clock& clock = real_clock()) noexcept : clock_(&clock) {}

 private:
  const Clock* clock_;
};

/// Writes each record of level `minimum` and above to stderr, as the line of format_line() in one write(2).
/// `clock` outlives the logger.
std::shared_ptr<Logger> stderr_logger(LogLevel minimum = LogLevel::info, const Clock& clock = real_clock());

/// Writes nothing.
std::shared_ptr<Logger> null_logger();

/// A record as one line of text, without a newline at its end:
///
///     2026-11-15T04:36:02.123Z info  turn committed instance=order-7 events=3 note="second try"
///
/// The line is always valid UTF-8 without control characters: other bytes are escaped as `\n`, `\t`, `\r` or
/// `\xNN`, and so are backslashes. A value is quoted when it is empty, or contains an escape, a space, a
/// quote or a `=`. Characters that a key can't have become `_`.
std::string format_line(const LogRecord& record);

/// Writes a record if its level is enabled; nearly free if not:
///
///     log(logger, LogLevel::info, "turn committed", {{"instance", id}, {"events", count}});
inline void log(Logger& logger, LogLevel level, std::string_view message,
                std::initializer_list<LogField> fields = {}) noexcept {
  if (!logger.enabled(level)) return;
  logger.write({level, logger.clock().calendar_now(), message, {fields.begin(), fields.size()}});
}

}  // namespace holdfast
