// Limits: sizes and counts of one instance. docs/guide/limits.md has all of them in one table.
#pragma once

#include <cstdint>

namespace holdfast {

/// At four fifths of a limit the worker logs a warning; past it the call, operation or instance fails with a
/// LimitError. 0 = no limit. An execution keeps the limits that it began with, so that replay gives the same
/// results whatever the settings are by then.
struct Limits {
  /// Of one input, result, event, message, value, status or heartbeat.
  std::uint64_t payload_bytes = 4U << 20U;
  /// Of one execution. RuntimeOptions::history_budget, at which code should continue as new, is far below.
  std::uint64_t history_events = 50'000;
  std::uint64_t history_bytes = 64U << 20U;
  /// Operations of one execution that have no outcome yet: activities, timers, waits, children.
  std::uint64_t open_operations = 10'000;
  /// Values of one instance, and their total size, keys included.
  std::uint64_t values = 1'000;
  std::uint64_t values_bytes = 1U << 20U;

  friend bool operator==(const Limits&, const Limits&) = default;
};

}  // namespace holdfast
