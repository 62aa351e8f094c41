// Time zones: what a clock on the wall shows. The only file that knows the library behind it is zone.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::schedules {

using Instant = std::chrono::sys_seconds;
using LocalTime = std::chrono::local_seconds;

/// A zone of the IANA database, as this machine has it. Each is read once in the life of the process. A
/// value.
class Zone {
 public:
  /// Throws Error (invalid_schedule) for a name that the machine's database does not have.
  explicit Zone(const std::string& name);

  [[nodiscard]] LocalTime local(Instant instant) const;
  /// When a clock shows `time`, or a later time, for the first time: the end of a gap in which `time` is left
  /// out, and the first of two instants that show the same.
  [[nodiscard]] Instant first_showing(LocalTime time) const;
  /// The first instant after `after` at which clocks are put forward or back.
  [[nodiscard]] std::optional<Instant> next_change(Instant after) const;

 private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

}  // namespace holdfast::schedules
