#include "engine/last_turn.hpp"

#include "codec/segment.hpp"
#include "engine/cancels.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace holdfast::engine {

Result<void, Problem> LastTurn::read(std::string_view segment) {
  const auto corrupt = [this](std::string what) {
    return Unexpected(Problem{Problem::Kind::corrupt_history, next_event_, std::move(what), {}, {}});
  };
  Result<history::SegmentCursor, std::string> cursor = history::SegmentCursor::open(segment);
  if (!cursor) return corrupt(std::move(cursor).error());
  while (!cursor->done()) {
    const history::RawEvent raw = *cursor->next();
    next_event_ = EventId{raw.id.value + 1};
    Result<history::Body, std::string> body = history::decode_body(raw);
    if (!body) return corrupt(std::move(body).error());
    note({raw.id, *std::move(body)});
  }
  return {};
}

void LastTurn::begin(history::Started started) {
  started_ = std::move(started);
  is_new_ = true;
}

void LastTurn::note(history::Event&& event) {
  std::visit(
      [&]<class T>(T& body) {
        if constexpr (std::is_same_v<T, history::TurnStarted>) {
          now_ = body.time;
        } else if constexpr (std::is_same_v<T, history::Started>) {
          started_ = std::move(body);
        } else if constexpr (requires { body.source; }) {
          open_.erase(body.source);
        } else if constexpr (std::is_constructible_v<detail::Operation, T>) {
          Cancel cancel{.source = event.id, .kind = detail::kind_of_operation<T>};
          if constexpr (requires { body.on_parent_close; }) cancel.on_close = body.on_parent_close;
          const bool stays = cancel.on_close == ParentClosePolicy::abandon;
          if (stays || !is_cancellable(cancel.kind)) return;
          cancel.label = label_of(detail::Operation(std::move(body)));
          open_.emplace(event.id, std::move(cancel));
        }
      },
      event.body);
}

Outcome LastTurn::end(CalendarTime time, End end) const {
  Outcome outcome{.first_event = next_event_};
  history::SegmentWriter writer(next_event_);
  writer.add(history::TurnStarted{std::max(now_, time), build_});
  if (is_new_) writer.add(*started_);
  std::visit([&](const auto& how) { writer.add(how); }, end);
  for (const auto& [id, open] : open_) {
    Cancel cancel = open;
    cancel.reason = reason_of(end);
    writer.add(history::OperationCancelled{cancel.source, cancel.reason});
    outcome.cancels.push_back(std::move(cancel));
  }
  outcome.segment = writer.finish();
  outcome.end = std::move(end);
  return outcome;
}

}  // namespace holdfast::engine
