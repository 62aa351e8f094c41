// Execution, the half that runs code over a recorded turn and tells where the two part.
#include "codec/binary.hpp"
#include "engine/execution.hpp"
#include "engine/matching.hpp"

#include <utility>

namespace holdfast::engine {

using detail::Operation;

/// A turn that is read.
struct Execution::Replay {
  history::SegmentCursor cursor;
  std::optional<history::RawEvent> next{};  // looked at, and not yet taken
  std::optional<Problem> problem{};
  std::size_t cancels_checked = 0;
  bool end_checked = false;

  /// The next event, or null at the end of the segment. open() of the cursor has seen them all: none is cut
  /// off.
  const history::RawEvent* peek() {
    if (!next && !cursor.done()) next = *cursor.next();
    return next ? &*next : nullptr;
  }
};

namespace {

constexpr std::string_view kKeepOldCode =
    "Instances that began with other code must go on with that code: restore it, or register the change as a "
    "new version.";

std::string moved_hint(const std::string& recorded, const std::string& started) {
  return "The code was changed between '" + recorded + "' and '" + started +
         "', or it does not decide the same way twice. " + std::string(kKeepOldCode);
}

}  // namespace

Result<void, Problem> Execution::replay(std::string_view segment) {
  Result<history::SegmentCursor, std::string> cursor = history::SegmentCursor::open(segment);
  if (!cursor)
    return Unexpected(
        Problem{Problem::Kind::corrupt_history, next_event_, std::move(cursor).error(), {}, {}});
  if (cursor->first_event() != next_event_) {
    return Unexpected(Problem{Problem::Kind::corrupt_history,
                              next_event_,
                              "this part of history begins with event " + to_string(cursor->first_event()) +
                                  " where event " + to_string(next_event_) + " should stand",
                              {},
                              {}});
  }
  Replay replay{*cursor};
  replay_ = &replay;
  cancels_.clear();
  turn_closed_ = false;
  interruptions_ = 0;

  while (!replay.problem && replay.peek() != nullptr) replay_event(replay);
  if (!replay.problem) {
    close_turn();
    if (replay.cancels_checked < cancels_.size()) {
      const Cancel& extra = cancels_[replay.cancels_checked];
      diverge(next_event_, "nothing more in this turn", "cancelled event " + to_string(extra.source),
              std::string(kKeepOldCode));
    } else if (end_ && !replay.end_checked) {
      const history::Body end = std::visit([](const auto& body) { return history::Body(body); }, *end_);
      diverge(next_event_, "nothing more in this turn: the code waits", in_words(end),
              std::string(kKeepOldCode));
    }
  }
  replay_ = nullptr;
  if (replay.problem) return Unexpected(std::move(*replay.problem));
  return {};
}

// Takes one event that is not the code's doing. What the code does meanwhile takes its own events.
void Execution::replay_event(Replay& replay) {
  const history::RawEvent raw = *std::exchange(replay.next, std::nullopt);
  next_event_ = EventId{raw.id.value + 1};
  if (replay_common_event(raw)) return;
  Result<history::Body, std::string> body = history::decode_body(raw);
  if (!body) return corrupt(raw.id, std::move(body).error());

  const auto take = [&]<class T>(T& event) {
    if constexpr (std::is_same_v<T, history::TurnStarted>) {
      now_ = event.time;
    } else if constexpr (std::is_same_v<T, history::OperationCancelled>) {
      check_cancel(replay, event);
    } else if constexpr (std::is_constructible_v<End, T>) {
      if constexpr (std::is_same_v<T, history::ExecutionTerminated>) {
        if (!end_) {
          end_ = event;
          stop();
        }
      }
      replay.end_checked = true;
      check_end(*body, raw.id);
    } else if (end_) {
      const history::Body end = std::visit([](const auto& e) { return history::Body(e); }, *end_);
      diverge(raw.id, in_words(*body), in_words(end), "The code ended early. " + std::string(kKeepOldCode));
    } else if constexpr (std::is_same_v<T, history::Started>) {
      if (root_.frame) return corrupt(raw.id, "the execution starts a second time");
      begin(std::move(event));
    } else if constexpr (std::is_same_v<T, history::Completed>) {
      if (!reveal_completed(std::move(event))) corrupt(raw.id, "it completes an operation that is not open");
    } else if constexpr (std::is_same_v<T, history::Failed>) {
      if (!reveal_failed(std::move(event))) corrupt(raw.id, "it fails an operation that is not open");
    } else if constexpr (std::is_same_v<T, history::CancelRequested>) {
      if (!root_.frame) return corrupt(raw.id, "a request to cancel comes before the start");
      reveal_cancel_request(event.reason);
    } else {
      diverge(raw.id, in_words(*body), "nothing: it waits",
              "The code no longer does this here. " + std::string(kKeepOldCode));
    }
  };
  std::visit(take, *body);
}

// Half of all events are of these two kinds. False for the others, and for what is wrong with one of them: it
// is then decoded as a whole.
bool Execution::replay_common_event(const history::RawEvent& event) {
  history::BinaryReader in(event.body);
  if (event.kind == history::kind_of<history::TurnStarted>) {
    CalendarTime time;
    std::string_view build;
    if (!history::Binary<CalendarTime>::read(in, time)) return false;
    if (!in.bytes.done() && !in.bytes.string(build)) return false;
    now_ = time;
    return true;
  }
  if (event.kind == history::kind_of<history::Completed> && !end_) {
    history::Completed completed;
    return history::read_fields(in, completed) && reveal_completed(std::move(completed));
  }
  return false;
}

bool Execution::matches_plain_activity(const history::RawEvent& event, const Operation& operation) const {
  const auto* const activity = std::get_if<detail::ActivityScheduled>(&operation);
  if (activity == nullptr || identity_.strict || !activity->settings.is_default() ||
      event.kind != history::kind_of<detail::ActivityScheduled>) {
    return false;
  }
  history::ByteReader body(event.body);
  std::string_view name;
  std::uint8_t settings_size = 0;
  return body.string(name) && name == activity->name &&
         (body.done() || (body.byte(settings_size) && settings_size == 0));
}

void Execution::match(Operation& operation, EventId& id) {
  const history::RawEvent* const expected = replay_->peek();
  if (expected == nullptr) {
    return diverge(next_event_, "nothing more in this turn", "started " + in_words(operation),
                   "The code does more than it did then. " + std::string(kKeepOldCode));
  }
  id = expected->id;
  if (!matches_plain_activity(*expected, operation)) {
    Result<history::Body, std::string> body = history::decode_body(*expected);
    if (!body) return corrupt(id, std::move(body).error());
    std::optional<Operation> recorded;
    std::visit(
        [&]<class T>(T& alternative) {
          if constexpr (std::is_constructible_v<Operation, T&&>) recorded = Operation(std::move(alternative));
        },
        *body);
    if (!recorded || !same_operation(*recorded, operation, identity_.strict)) {
      const std::string history_says = in_words(*history::decode_body(*expected));
      return diverge(id, history_says, "started " + in_words(operation),
                     moved_hint(history_says, in_words(operation)));
    }
    operation = std::move(*recorded);
  }
  replay_->next.reset();
  next_event_ = EventId{id.value + 1};
}

void Execution::check_cancel(Replay& replay, const history::OperationCancelled& recorded) {
  close_turn();
  const bool expected =
      replay.cancels_checked < cancels_.size() && cancels_[replay.cancels_checked].source == recorded.source;
  if (!expected) {
    return diverge(EventId{next_event_.value - 1}, "event " + to_string(recorded.source) + " was cancelled",
                   replay.cancels_checked < cancels_.size()
                       ? "cancelled event " + to_string(cancels_[replay.cancels_checked].source)
                       : "cancelled nothing more",
                   std::string(kKeepOldCode));
  }
  ++replay.cancels_checked;
}

void Execution::check_end(const history::Body& recorded, EventId event) {
  if (!end_) {
    return diverge(event, in_words(recorded), "nothing: it waits",
                   "The code no longer ends here. " + std::string(kKeepOldCode));
  }
  const history::Body end = std::visit([](const auto& body) { return history::Body(body); }, *end_);
  if (end.index() != recorded.index()) {
    return diverge(event, in_words(recorded), in_words(end),
                   "The code ends in another way. " + std::string(kKeepOldCode));
  }
}

// Only the first difference counts: what follows from it says nothing.
void Execution::diverge(EventId event, std::string history_says, std::string code_did, std::string hint) {
  if (!replay_->problem) {
    replay_->problem = Problem{Problem::Kind::nondeterminism, event, std::move(history_says),
                               std::move(code_did), std::move(hint)};
  }
  stop();
}

void Execution::corrupt(EventId event, std::string what) {
  if (!replay_->problem)
    replay_->problem = Problem{Problem::Kind::corrupt_history, event, std::move(what), {}, {}};
  stop();
}

}  // namespace holdfast::engine
