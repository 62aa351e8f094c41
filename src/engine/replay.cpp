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
  std::string_view build{};  // of the code that ran this turn
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

// Words for an operation by what the engine still knows of it.
std::string event_in_words(EventId id, std::uint8_t kind, std::string_view label) {
  return in_words(kind, label) + " (event " + to_string(id) + ")";
}

Payload payload_of_end(const history::Body& end) {
  if (const auto* completed = std::get_if<history::ExecutionCompleted>(&end)) return completed->output;
  if (const auto* continued = std::get_if<history::ContinuedAsNew>(&end)) return continued->input;
  return {};
}

// The end that a history which is too long has by itself; somebody who terminates the execution is first.
bool is_limit(const End& end) {
  const auto* const failed = std::get_if<history::ExecutionFailed>(&end);
  return failed != nullptr && failed->failure.category == Category::limit;
}

// Ids that were given by nobody are random numbers of the execution.
bool has_drawn_id(const Operation& operation) {
  std::string id;
  if (const auto* child = std::get_if<detail::ChildStarted>(&operation)) id = child->id;
  if (const auto* start = std::get_if<detail::DetachedStarted>(&operation)) id = start->id;
  if (const auto* session = std::get_if<detail::SessionOpened>(&operation)) id = session->settings->id;
  return parse_token<RequestId>(id).has_value();
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
  if (end_ && cursor->event_count() > 0) {
    return Unexpected(Problem{Problem::Kind::corrupt_history,
                              next_event_,
                              "history goes on after the end of the execution",
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
    if (end_ && !replay.end_checked) {
      diverge(next_event_, "nothing more in this turn", in_words(*end_), with_advice("The code ends early."));
    } else if (replay.cancels_checked < cancels_.size()) {
      diverge(next_event_, "nothing more in this turn", cancelled_in_words(replay.cancels_checked),
              with_advice("The code drops something earlier than it did then."));
    }
  }
  replay_ = nullptr;
  if (replay.problem) return Unexpected(std::move(*replay.problem));
  history_bytes_ += segment.size();
  return {};
}

std::string Execution::with_advice(std::string_view hint) const {
  return std::string(hint) + hint_about_patches() +
         " Either the code was changed, or it depends on something that history does not have: a clock, "
         "random numbers, global state, the order of a hash map. Undo the change, guard it with "
         "ctx.patched(), or register the new code as another version: running instances keep the version "
         "that they began with.";
}

// An event that the code did not ask for.
std::string Execution::hint_for(const history::Body& recorded, std::string_view otherwise) const {
  const auto* const patch = std::get_if<history::Patched>(&recorded);
  return patch != nullptr ? hint_about_patch(patch->id) : with_advice(otherwise);
}

// Takes one event that is not the code's doing. What the code does meanwhile takes its own events.
void Execution::replay_event(Replay& replay) {
  const history::RawEvent raw = *std::exchange(replay.next, std::nullopt);
  next_event_ = EventId{raw.id.value + 1};
  if (replay_common_event(raw)) return;
  Result<history::Body, std::string> body = history::decode_body(raw);
  if (!body) return corrupt(raw.id, std::move(body).error());
  const bool may_be_first = raw.kind == history::kind_of<history::TurnStarted> ||
                            raw.kind == history::kind_of<history::Started> ||
                            raw.kind == history::kind_of<history::ExecutionTerminated>;
  if (!begun_ && !end_ && !may_be_first) {
    return corrupt(raw.id, in_words(*body) + " comes before the start of the execution");
  }

  const auto take = [&]<class T>(T& event) {
    if constexpr (std::is_same_v<T, history::TurnStarted>) {
      now_ = event.time;
    } else if constexpr (std::is_same_v<T, history::OperationCancelled>) {
      check_cancel(replay, event);
    } else if constexpr (std::is_constructible_v<End, T>) {
      if constexpr (std::is_same_v<T, history::ExecutionTerminated>) {
        if (!end_ || is_limit(*end_)) {
          end_ = event;
          stop();
        }
      }
      if (std::exchange(replay.end_checked, true)) return corrupt(raw.id, "the execution ends a second time");
      check_end(*body, raw.id);
    } else if (end_) {
      diverge(raw.id, in_words(*body), in_words(*end_), hint_for(*body, "The code ends early."));
    } else if constexpr (std::is_same_v<T, history::Started>) {
      if (begun_) return corrupt(raw.id, "the execution starts a second time");
      // One that is terminated in its first turn has never run.
      const history::RawEvent* const next = replay.peek();
      if (next != nullptr && next->kind == history::kind_of<history::ExecutionTerminated>)
        return take_start(event);
      begin(std::move(event));
    } else if constexpr (std::is_same_v<T, history::Completed>) {
      const EventId source = event.source;
      if (!reveal_completed(std::move(event))) unknown_source(raw.id, source, "completion");
    } else if constexpr (std::is_same_v<T, history::Failed>) {
      const EventId source = event.source;
      if (!reveal_failed(std::move(event))) unknown_source(raw.id, source, "failure");
    } else if constexpr (std::is_same_v<T, history::CancelRequested>) {
      reveal_cancel_request(event.reason);
    } else {
      diverge(raw.id, in_words(*body), waits_in_words(),
              hint_for(*body, "The code no longer does this here."));
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
    replay_->build = build;
    end_if_history_is_too_long(event.id.value - 1);
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
                   with_advice("The code does more than it did then."));
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
    if (!recorded) {
      return diverge(id, in_words(*body), "started " + in_words(operation),
                     hint_for(*body, "The code does more than it did then."));
    }
    if (!same_operation(*recorded, operation, identity_.strict))
      return other_operation(id, *recorded, operation);
    operation = std::move(*recorded);
  }
  replay_->next.reset();
  next_event_ = EventId{id.value + 1};
}

// The patch is taken if it comes next in the turn that is read. Whatever else comes next, the code of then
// did not have it here.
bool Execution::match_patch(std::string_view id) {
  const history::RawEvent* const next = replay_->peek();
  if (next == nullptr || next->kind != history::kind_of<history::Patched>) return false;
  Result<history::Body, std::string> body = history::decode_body(*next);
  if (!body) {
    corrupt(next->id, std::move(body).error());
    return false;
  }
  if (std::get<history::Patched>(*body).id != id) return false;
  next_event_ = EventId{next->id.value + 1};
  replay_->next.reset();
  return true;
}

void Execution::other_operation(EventId event, const Operation& recorded, const Operation& started) {
  constexpr std::string_view kOnlyStrict = "Inputs are compared only in strict mode.";
  const auto* const set = std::get_if<detail::AttributeSet>(&recorded);
  if (set != nullptr && same_operation(recorded, started, false)) {
    return diverge(event, in_words(recorded) + " to " + to_string(*set->value),
                   "set it to " + to_string(*std::get<detail::AttributeSet>(started).value),
                   with_advice(kOnlyStrict));
  }
  if (same_operation(recorded, started, false)) {
    const Payload& then = *input_of(recorded);
    const Payload& now = *input_of(started);
    return diverge(event, in_words(recorded) + " with the input " + excerpt(then, now),
                   "started it with the input " + excerpt(now, then), with_advice(kOnlyStrict));
  }
  const bool drawn = recorded.index() == started.index() && has_drawn_id(recorded) && has_drawn_id(started);
  diverge(
      event, in_words(recorded), "started " + in_words(started),
      with_advice(drawn ? "The ids are random numbers of this execution, so the code drew more or fewer of "
                          "them before."
                        : "The code does something else here."));
}

void Execution::check_cancel(Replay& replay, const history::OperationCancelled& recorded) {
  close_turn();
  const bool expected =
      replay.cancels_checked < cancels_.size() && cancels_[replay.cancels_checked].source == recorded.source;
  if (!expected) {
    return diverge(EventId{next_event_.value - 1}, in_words(history::Body(recorded)),
                   cancelled_in_words(replay.cancels_checked),
                   with_advice("The code drops something else, or at another time, than it did then."));
  }
  ++replay.cancels_checked;
}

void Execution::check_end(const history::Body& recorded, EventId event) {
  if (!end_) {
    return diverge(event, in_words(recorded), waits_in_words(), with_advice("The code no longer ends here."));
  }
  const history::Body end = std::visit([](const auto& body) { return history::Body(body); }, *end_);
  if (end.index() != recorded.index()) {
    return diverge(event, in_words(recorded), in_words(*end_), with_advice("The code ends in another way."));
  }
  if (!identity_.strict || end == recorded) return;
  const Payload then = payload_of_end(recorded);
  const Payload now = payload_of_end(end);
  diverge(event, in_words(recorded) + ": " + excerpt(then, now), in_words(*end_) + ": " + excerpt(now, then),
          with_advice("Results are compared only in strict mode."));
}

// An operation that is not open has its outcome, or the code gave it up, or it is none.
void Execution::unknown_source(EventId event, EventId source, std::string_view what) {
  if (source >= event) {
    return corrupt(
        event, "it is the " + std::string(what) + " of event " + to_string(source) + ", which comes later");
  }
  diverge(event, "the " + std::string(what) + " of event " + to_string(source),
          "does not wait for the outcome of that event, or had it before",
          with_advice("The code gave it up earlier than it did then."));
}

std::string Execution::waits_in_words() const {
  const std::vector<detail::OpState*> open = open_.list();
  if (open.empty()) return "waits without any operation that is open";
  const detail::OpState& first = *open.front();
  return "waits for " + event_in_words(first.id, first.kind, first.label) +
         (open.size() == 1 ? "" : " and " + std::to_string(open.size() - 1) + " more");
}

std::string Execution::cancelled_in_words(std::size_t index) const {
  if (index >= cancels_.size())
    return index == 0 ? "cancelled nothing in this turn" : "cancelled nothing more";
  const Cancel& cancel = cancels_[index];
  return "cancelled " + event_in_words(cancel.source, cancel.kind, cancel.label);
}

// Only the first difference counts: what follows from it says nothing.
void Execution::diverge(EventId event, std::string history_says, std::string code_did, std::string hint) {
  if (!replay_->problem) {
    replay_->problem = Problem{Problem::Kind::nondeterminism, event,           std::move(history_says),
                               std::move(code_did),           std::move(hint), std::string(replay_->build)};
  }
  stop();
}

void Execution::corrupt(EventId event, std::string what) {
  if (!replay_->problem)
    replay_->problem = Problem{Problem::Kind::corrupt_history, event, std::move(what), {}, {}};
  stop();
}

}  // namespace holdfast::engine
