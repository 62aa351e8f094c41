#include "server/process/json_logger.hpp"

#include <holdfast/codec.hpp>

#include <unistd.h>

#include <type_traits>
#include <variant>

namespace holdfast::server {

namespace {

void write_value(JsonWriter& out, const LogValue& value) {
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string_view>) {
          out.string(held);
        } else if constexpr (std::is_same_v<Held, bool>) {
          out.boolean(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          out.number(held);
        } else {
          out.integer(held);
        }
      },
      value.variant());
}

class JsonLogger final : public Logger {
 public:
  explicit JsonLogger(LogLevel minimum) : minimum_(minimum) {}
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    return level >= minimum_ && level != LogLevel::off;
  }
  void write(const LogRecord& record) noexcept override {
    try {
      const std::string line = json_line(record) + "\n";
      static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
    } catch (...) {  // a record that can't be written is lost
    }
  }

 private:
  const LogLevel minimum_;
};

}  // namespace

std::string json_line(const LogRecord& record) {
  JsonWriter out;
  out.begin_object();
  out.key("time");
  Codec<CalendarTime>::write(out, record.time);
  out.key("level");
  out.string(to_string(record.level));
  out.key("message");
  out.string(record.message);
  for (const LogField& field : record.fields) {
    const bool taken = field.key == "time" || field.key == "level" || field.key == "message";
    out.key((taken ? "_" : "") + std::string(field.key));
    write_value(out, field.value);
  }
  out.end_object();
  return out.take();
}

std::shared_ptr<Logger> json_logger(LogLevel minimum) { return std::make_shared<JsonLogger>(minimum); }

}  // namespace holdfast::server
