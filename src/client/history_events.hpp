// Segments of history as the events that clients see.
#pragma once

#include <holdfast/history.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::history {

/// An event as it is stored: whatever a newer version wrote is still there.
struct StoredEvent {
  EventId id{};
  std::uint8_t kind = 0;  ///< the index in Body, or one that only a newer version has
  std::string body{};
};

/// Adds the events of a segment, those of unknown kinds included. The error says in one sentence what can't
/// be read.
Result<void, std::string> append_events(std::string_view segment, std::vector<HistoryEvent>& events);

}  // namespace holdfast::history
