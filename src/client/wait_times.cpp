#include "client/wait_times.hpp"

#include "codec/segment.hpp"

#include <cstddef>
#include <utility>
#include <variant>

namespace holdfast::client {

namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20U;

std::optional<Address> address_of(const history::Body& body) {
  if (const auto* event = std::get_if<history::EventAwaited>(&body))
    return Address{Address::Kind::event, event->name};
  if (const auto* message = std::get_if<history::MessageAwaited>(&body))
    return Address{Address::Kind::mailbox, message->mailbox};
  if (const auto* news = std::get_if<history::SessionEventAwaited>(&body))
    return Address{Address::Kind::session, news->id};
  return std::nullopt;
}

}  // namespace

void WaitTimes::read_once() {
  if (std::exchange(was_read_, true)) return;
  for (EventId after{};;) {
    const auto segments = store_.read_history(instance_, execution_, after, kBytesAtOnce);
    if (!segments || segments->empty()) return;
    for (const store::Segment& segment : *segments) {
      if (!read(segment)) return;
    }
    const auto last = history::SegmentCursor::open(segments->back().bytes);
    if (!last || last->event_count() == 0) return;
    after = EventId{last->first_event().value + last->event_count() - 1};
  }
}

bool WaitTimes::read(const store::Segment& segment) {
  const auto events = history::read_segment(segment.bytes);
  if (!events) return false;
  for (const history::Event& event : *events) {
    if (const auto* turn = std::get_if<history::TurnStarted>(&event.body)) {
      turn_ = turn->time;
    } else if (const auto* completed = std::get_if<history::Completed>(&event.body)) {
      open_.erase(completed->source);
    } else if (const auto* failed = std::get_if<history::Failed>(&event.body)) {
      open_.erase(failed->source);
    } else if (const auto* cancelled = std::get_if<history::OperationCancelled>(&event.body)) {
      open_.erase(cancelled->source);
    } else {
      open_.emplace(event.id, Open{turn_, address_of(event.body)});
    }
  }
  return true;
}

std::optional<CalendarTime> WaitTimes::of(EventId operation) {
  read_once();
  const auto found = open_.find(operation);
  if (found == open_.end()) return std::nullopt;
  return found->second.since;
}

std::optional<CalendarTime> WaitTimes::of(const Address& address) {
  read_once();
  for (const auto& [event, open] : open_) {
    if (open.address == address) return open.since;
  }
  return std::nullopt;
}

}  // namespace holdfast::client
