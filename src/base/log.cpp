#include "base/utf8.hpp"

#include <holdfast/log.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <exception>

namespace holdfast {

namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warn", "error", "off"};
constexpr std::size_t kLevelWidth = 5;

void append_padded(std::string& line, int value, std::size_t width) {
  if (value < 0) line.push_back('-');
  const std::string digits = std::to_string(value < 0 ? -value : value);
  if (digits.size() < width) line.append(width - digits.size(), '0');
  line.append(digits);
}

void append_time(std::string& line, CalendarTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
  append_padded(line, static_cast<int>(date.year()), 4);
  line.push_back('-');
  append_padded(line, static_cast<int>(static_cast<unsigned>(date.month())), 2);
  line.push_back('-');
  append_padded(line, static_cast<int>(static_cast<unsigned>(date.day())), 2);
  line.push_back('T');
  append_padded(line, static_cast<int>(clock.hours().count()), 2);
  line.push_back(':');
  append_padded(line, static_cast<int>(clock.minutes().count()), 2);
  line.push_back(':');
  append_padded(line, static_cast<int>(clock.seconds().count()), 2);
  line.push_back('.');
  append_padded(line, static_cast<int>(clock.subseconds().count()), 3);
  line.push_back('Z');
}

// The length of the character at the front, or 0 when it can't be shown as it is: it is no UTF-8, a control
// character (also one of U+0080 to U+009F, which move a terminal's cursor), or ends a line (U+2028, U+2029).
std::size_t visible_length(std::string_view text) noexcept {
  const std::size_t length = detail::utf8_length(text);
  const bool control = length == 1 && (text[0] < ' ' || text[0] == '\x7f');
  const bool late_control = length == 2 && text[0] == '\xc2' && text[1] < '\xa0';
  const bool line_end = text.starts_with("\xe2\x80\xa8") || text.starts_with("\xe2\x80\xa9");
  return control || late_control || line_end ? 0 : length;
}

void append_escape(std::string& line, char byte) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  switch (byte) {
    case '\n':
      line.append("\\n");
      break;
    case '\r':
      line.append("\\r");
      break;
    case '\t':
      line.append("\\t");
      break;
    case '"':
    case '\\':
      line.append({'\\', byte});
      break;
    default:
      line.append({'\\', 'x', kDigits[value >> 4], kDigits[value & 15]});
  }
}

// Appends `text`, escaping what is not visible and the characters in `also`.
void append_escaped(std::string& line, std::string_view text, std::string_view also) {
  while (!text.empty()) {
    const std::size_t length = also.find(text[0]) == also.npos ? visible_length(text) : 0;
    if (length == 0) {
      append_escape(line, text[0]);
    } else {
      line.append(text, 0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

bool needs_quotes(std::string_view text) noexcept {
  if (text.empty() || text.find_first_of(" \"\\=") != text.npos) return true;
  while (!text.empty()) {
    const std::size_t length = visible_length(text);
    if (length == 0) return true;
    text.remove_prefix(length);
  }
  return false;
}

void append_key(std::string& line, std::string_view key) {
  if (key.empty()) line.push_back('_');
  while (!key.empty()) {
    const bool reserved = std::string_view(" \"\\=").find(key[0]) != std::string_view::npos;
    const std::size_t length = reserved ? 0 : visible_length(key);
    line.append(length == 0 ? "_" : key.substr(0, length));
    key.remove_prefix(length == 0 ? 1 : length);
  }
}

void append_value(std::string& line, std::string_view text) {
  if (!needs_quotes(text)) {
    line.append(text);
    return;
  }
  line.push_back('"');
  append_escaped(line, text, "\"\\");
  line.push_back('"');
}

void append_value(std::string& line, bool truth) { line.append(truth ? "true" : "false"); }

template <class Number>
void append_value(std::string& line, Number number) {
  std::array<char, 32> text{};  // the longest is a double, with 24 characters
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  line.append(text.data(), end);
}

class StderrLogger final : public Logger {
 public:
  StderrLogger(LogLevel minimum, const Clock& clock) noexcept : Logger(clock), minimum_(minimum) {}

  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    return level >= minimum_ && level != LogLevel::off;
  }

  void write(const LogRecord& record) noexcept override {
    try {
      write_out(format_line(record).append("\n"));
    } catch (const std::exception&) {
      return;  // out of memory: the record is lost, its sender goes on
    }
  }

 private:
  // One write unless the other side takes only a part, so that lines of several processes don't mix.
  static void write_out(std::string_view line) noexcept {
    while (!line.empty()) {
      const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      line.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  LogLevel minimum_;
};

class NullLogger final : public Logger {
 public:
  NullLogger() noexcept = default;
  [[nodiscard]] bool enabled(LogLevel) const noexcept override { return false; }
  void write(const LogRecord&) noexcept override {}
};

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
  const auto index = static_cast<std::size_t>(level);
  return index < kLevelNames.size() ? kLevelNames[index] : "unknown";
}

std::shared_ptr<Logger> stderr_logger(LogLevel minimum, const Clock& clock) {
  return std::make_shared<StderrLogger>(minimum, clock);
}

std::shared_ptr<Logger> null_logger() {
  // Never destroyed: destructors of statics may ask for it.
  static const auto& logger = *new std::shared_ptr<Logger>(std::make_shared<NullLogger>());
  return logger;
}

std::string format_line(const LogRecord& record) {
  std::string line;
  line.reserve(128);
  append_time(line, record.time);
  const std::string_view level = to_string(record.level);
  line.append(" ").append(level).append(kLevelWidth - level.size() + 1, ' ');
  append_escaped(line, record.message, "\\");
  for (const LogField& field : record.fields) {
    line.push_back(' ');
    append_key(line, field.key);
    line.push_back('=');
    std::visit([&line](const auto& value) { append_value(line, value); }, field.value.variant());
  }
  return line;
}

}  // namespace holdfast
