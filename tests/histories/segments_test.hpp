// Histories from files, as what a store would give.
#pragma once

#include "codec/history.hpp"
#include "codec/segment.hpp"

#include <string>
#include <variant>
#include <vector>

namespace holdfast::history {

/// A turn is a segment.
inline std::vector<std::string> segments_of(const std::vector<Event>& events) {
  std::vector<std::string> segments;
  SegmentWriter writer(EventId{1});
  for (const Event& event : events) {
    if (std::holds_alternative<TurnStarted>(event.body) && !writer.empty())
      segments.push_back(writer.finish());
    std::visit([&](const auto& body) { writer.add(body); }, event.body);
  }
  segments.push_back(writer.finish());
  return segments;
}

}  // namespace holdfast::history
