// History as JSON: for people, and for histories that are written by hand. docs/history-format.md describes
// it.
#pragma once

#include "codec/history.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::history {

/// One event as a JSON object in one line: {"event":7,"kind":"timer_started","due":"2030-01-01T00:00:00Z"}.
std::string to_json(const Event& event);

/// The inverse of to_json(). `expected` is the number that the event must have, and has when it says none;
/// nothing when it may have any. Errors as below.
Result<Event, std::string> parse_event_json(std::string_view json, std::optional<EventId> expected);

/// A JSON array with a line for each event.
std::string history_json(std::span<const Event> events);

/// The inverse of history_json. A field that is left out takes its default; one that is unknown is an error.
/// So is an event that doesn't have the number after its predecessor's; numbers may be left out, and start
/// at 1. An error names the event and the field: "event 7 (timer_started): due: expected ...".
Result<std::vector<Event>, std::string> parse_history_json(std::string_view json);

}  // namespace holdfast::history
