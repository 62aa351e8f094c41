#include "client/history_events.hpp"

#include "codec/history_json.hpp"
#include "codec/history_text.hpp"
#include "codec/segment.hpp"

#include <holdfast/detail/enum_names.hpp>
#include <holdfast/json.hpp>

#include <memory>
#include <utility>
#include <variant>

namespace holdfast {

namespace history {
namespace {

using Kind = HistoryEvent::Kind;

static_assert(static_cast<std::size_t>(Kind::unknown) == std::variant_size_v<Body>);
static_assert(static_cast<std::size_t>(Kind::patched) == kind_of<Patched>);
static_assert(static_cast<std::size_t>(Kind::operation_cancelled) == kind_of<OperationCancelled>);

// One overload for each kind: what clients see of it.
void fill(HistoryEvent& to, TurnStarted&& from) { to.build = std::move(from.build); }
void fill(HistoryEvent& to, Started&& from) {
  to.name = std::move(from.name);
  to.version = std::move(from.version);
  to.payload = std::move(from.input);
  if (from.parent) to.instance = std::move(from.parent->instance);
}
void fill(HistoryEvent& to, Completed&& from) {
  to.source = from.source;
  to.payload = std::move(from.value);
}
void fill(HistoryEvent& to, Failed&& from) {
  to.source = from.source;
  to.failure = std::move(from.failure);
}
void fill(HistoryEvent& to, CancelRequested&& from) { to.reason = std::move(from.reason); }
void fill(HistoryEvent& to, ExecutionCompleted&& from) { to.payload = std::move(from.output); }
void fill(HistoryEvent& to, ExecutionFailed&& from) { to.failure = std::move(from.failure); }
void fill(HistoryEvent& to, ExecutionCancelled&& from) { to.failure = std::move(from.failure); }
void fill(HistoryEvent& to, ExecutionTerminated&& from) { to.reason = std::move(from.reason); }
void fill(HistoryEvent& to, ContinuedAsNew&& from) {
  to.version = std::move(from.version);
  to.payload = std::move(from.input);
}
void fill(HistoryEvent& to, const OperationCancelled& from) {
  to.source = from.source;
  to.reason = to_string(from.reason);
}
void fill(HistoryEvent& to, ActivityScheduled&& from) {
  to.name = std::move(from.name);
  to.payload = std::move(from.input);
  to.queue = from.settings->queue;
  if (from.settings->session) to.session = from.settings->session->id;
}
void fill(HistoryEvent& to, const TimerStarted& from) { to.due = from.due; }
void fill(HistoryEvent& to, EventAwaited&& from) { to.name = std::move(from.name); }
void fill(HistoryEvent& to, MessageAwaited&& from) { to.name = std::move(from.mailbox); }
void fill(HistoryEvent& to, ChildStarted&& from) {
  to.name = std::move(from.name);
  to.version = std::move(from.version);
  to.instance = std::move(from.id);
  to.payload = std::move(from.input);
}
void fill(HistoryEvent& to, DetachedStarted&& from) {
  to.name = std::move(from.name);
  to.version = std::move(from.version);
  to.instance = std::move(from.id);
  to.payload = std::move(from.input);
}
void fill(HistoryEvent& to, const SessionOpened& from) { to.session = from.settings->id; }
void fill(HistoryEvent& to, SessionClosing&& from) { to.session = std::move(from.id); }
void fill(HistoryEvent& to, SessionEventAwaited&& from) { to.session = std::move(from.id); }
void fill(HistoryEvent& to, ValueRead&& from) {
  to.instance = std::move(from.instance);
  to.name = std::move(from.key);
}
void fill(HistoryEvent& to, SideEffectRecorded&& from) {
  if (*from.failure) {
    to.failure = *from.failure;
  } else {
    to.payload = std::move(from.value);
  }
}
void fill(HistoryEvent& to, MessageTried&& from) {
  to.name = std::move(from.mailbox);
  to.payload = std::move(from.value);
}
void fill(HistoryEvent& to, ValueSet&& from) {
  to.name = std::move(from.key);
  to.payload = std::move(from.value);
}
void fill(HistoryEvent& to, MessageSent&& from) {
  to.instance = std::move(from.instance);
  to.name = std::move(from.name);
  to.payload = std::move(from.value);
}
void fill(HistoryEvent& to, CancelSent&& from) {
  to.instance = std::move(from.instance);
  to.reason = std::move(from.reason);
}
void fill(HistoryEvent& to, TerminateSent&& from) {
  to.instance = std::move(from.instance);
  to.reason = std::move(from.reason);
}
void fill(HistoryEvent& to, EndAwaited&& from) { to.instance = std::move(from.instance); }
void fill(HistoryEvent& to, AttributeSet&& from) {
  to.name = std::move(from.name);
  if (from.value) {
    to.payload = std::visit([](const auto& value) { return encode(value); }, *from.value);
  }
}
void fill(HistoryEvent& to, Patched&& from) { to.name = std::move(from.id); }

bool is_known(std::uint8_t kind) { return kind < std::variant_size_v<Body>; }

// Precondition: append_events() has decoded it before, so it can be.
Body body_of(const StoredEvent& event) { return *decode_body({event.id, event.kind, event.body}); }

}  // namespace

Result<void, std::string> append_events(std::string_view segment, std::vector<HistoryEvent>& events) {
  Result<SegmentCursor, std::string> cursor = SegmentCursor::open(segment);
  if (!cursor) return Unexpected(std::move(cursor).error());
  CalendarTime time{};
  while (!cursor->done()) {
    const RawEvent raw = *cursor->next();  // open() has seen that it is there
    HistoryEvent event{.id = raw.id};
    if (is_known(raw.kind)) {
      Result<Body, std::string> body = decode_body(raw);
      if (!body) return Unexpected(std::move(body).error());
      event.kind = static_cast<Kind>(raw.kind);
      if (const auto* const turn = std::get_if<TurnStarted>(&*body)) time = turn->time;
      std::visit([&](auto& alternative) { fill(event, std::move(alternative)); }, *body);
    }
    event.time = time;
    event.stored = std::make_shared<const StoredEvent>(StoredEvent{raw.id, raw.kind, std::string(raw.body)});
    events.push_back(std::move(event));
  }
  return {};
}

}  // namespace history

std::string_view to_string(HistoryEvent::Kind kind) noexcept { return detail::enum_name(kind); }

std::string HistoryEvent::text() const {
  if (!stored) return {};
  if (history::is_known(stored->kind)) return history::summary(history::body_of(*stored));
  return "of kind " + std::to_string(stored->kind) + ", which only newer versions of Holdfast know";
}

std::string HistoryEvent::json() const {
  if (!stored) return "null";
  if (history::is_known(stored->kind)) return history::to_json({stored->id, history::body_of(*stored)});
  JsonWriter out;
  out.begin_object();
  out.key("event");
  out.integer(id.value);
  out.key("kind");
  out.integer(std::uint64_t{stored->kind});
  out.key("body");
  out.bytes(stored->body);
  out.end_object();
  return out.take();
}

}  // namespace holdfast
