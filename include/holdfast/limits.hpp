// Limits: what one instance may take. docs/guide/limits.md has all of them in one table.
#pragma once

#include <cstdint>

namespace holdfast {

/// Sizes and counts. At four fifths of a limit the log has a warning; past it there is a clear error, and a
/// parent is told. 0 = no limit. An execution keeps those that it began with, so that replay gives the same
/// answers whatever the settings are by then.
struct Limits {
  /// One input, result, event, message, value, status, heartbeat.
  std::uint64_t payload_bytes = 4U << 20U;
  /// Of one execution. The history budget, which asks code to continue as new, is far below.
  std::uint64_t history_events = 50'000;
  std::uint64_t history_bytes = 64U << 20U;
  /// Operations of one execution without an outcome: activities, timers, waits, children.
  std::uint64_t open_operations = 10'000;
  /// Values of one instance, and the sum of their bytes, keys included.
  std::uint64_t values = 1'000;
  std::uint64_t values_bytes = 1U << 20U;

  friend bool operator==(const Limits&, const Limits&) = default;
};

}  // namespace holdfast
