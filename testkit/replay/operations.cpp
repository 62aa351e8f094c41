#include "testkit/replay/operations.hpp"

#include <string_view>
#include <variant>

namespace holdfast::testing {

namespace {

// One overload for each operation: what of it a test sees.
bool fill(StartedOperation& to, const detail::ActivityScheduled& from) {
  to.kind = OperationKind::activity;
  to.name = from.name;
  to.input = from.input;
  to.queue = from.settings->queue;
  if (from.settings->session) to.session = from.settings->session->id;
  return true;
}
bool fill(StartedOperation& to, const detail::TimerStarted& from) {
  to.kind = OperationKind::timer;
  to.due = from.due;
  return true;
}
bool fill(StartedOperation& to, const detail::EventAwaited& from) {
  to.kind = OperationKind::event;
  to.name = from.name;
  return true;
}
bool fill(StartedOperation& to, const detail::MessageAwaited& from) {
  to.kind = OperationKind::mailbox;
  to.name = from.mailbox;
  return true;
}
bool fill(StartedOperation& to, const detail::ChildStarted& from) {
  to.kind = OperationKind::child;
  to.name = from.name;
  to.instance = from.id;
  to.input = from.input;
  return true;
}
bool fill(StartedOperation& to, const detail::DetachedStarted& from) {
  to.kind = OperationKind::detached;
  to.name = from.name;
  to.instance = from.id;
  to.input = from.input;
  return true;
}
bool fill(StartedOperation& to, const detail::SessionOpened& from) {
  to.kind = OperationKind::session_open;
  to.name = from.settings->id;
  return true;
}
bool fill(StartedOperation& to, const detail::SessionClosing& from) {
  to.kind = OperationKind::session_close;
  to.name = from.id;
  return true;
}
bool fill(StartedOperation& to, const detail::SessionEventAwaited& from) {
  to.kind = OperationKind::session_event;
  to.name = from.id;
  return true;
}
bool fill(StartedOperation& to, const detail::ValueRead& from) {
  to.kind = OperationKind::value_of;
  to.name = from.key;
  to.instance = from.instance;
  return true;
}
bool fill(StartedOperation&, const detail::SideEffectRecorded&) { return false; }
bool fill(StartedOperation&, const detail::MessageTried&) { return false; }
bool fill(StartedOperation&, const detail::ValueSet&) { return false; }
bool fill(StartedOperation&, const detail::AttributeSet&) { return false; }
bool fill(StartedOperation&, const detail::MessageSent&) { return false; }
bool fill(StartedOperation&, const detail::CancelSent&) { return false; }
bool fill(StartedOperation&, const detail::TerminateSent&) { return false; }
bool fill(StartedOperation& to, const detail::EndAwaited& from) {
  to.kind = OperationKind::ended;
  to.name = from.instance;
  to.instance = from.instance;
  return true;
}

std::string_view noun(OperationKind kind) {
  switch (kind) {
    case OperationKind::activity:
      return "activity";
    case OperationKind::timer:
      return "timer";
    case OperationKind::event:
      return "event";
    case OperationKind::mailbox:
      return "mailbox";
    case OperationKind::child:
      return "orchestration";
    case OperationKind::detached:
      return "detached orchestration";
    case OperationKind::session_open:
    case OperationKind::session_close:
    case OperationKind::session_event:
      return "session";
    case OperationKind::ended:
      return "the end of";
    case OperationKind::value_of:
      break;
  }
  return "value";
}

}  // namespace

std::optional<StartedOperation> to_started(const engine::Action& action) {
  StartedOperation operation{.id = action.id};
  if (!std::visit([&](const auto& from) { return fill(operation, from); }, action.operation)) {
    return std::nullopt;
  }
  return operation;
}

std::optional<SentMessage> to_sent(const engine::Action& action) {
  if (const auto* sent = std::get_if<detail::MessageSent>(&action.operation)) {
    const bool event = sent->channel == Address::Kind::event;
    return SentMessage{.kind = event ? SentMessage::Kind::event : SentMessage::Kind::mailbox,
                       .instance = sent->instance,
                       .name = sent->name,
                       .value = sent->value};
  }
  if (const auto* sent = std::get_if<detail::CancelSent>(&action.operation)) {
    return SentMessage{
        .kind = SentMessage::Kind::cancel, .instance = sent->instance, .value = encode(sent->reason)};
  }
  if (const auto* sent = std::get_if<detail::TerminateSent>(&action.operation)) {
    return SentMessage{
        .kind = SentMessage::Kind::terminate, .instance = sent->instance, .value = encode(sent->reason)};
  }
  return std::nullopt;
}

std::string in_words(const StartedOperation& operation) {
  std::string text(noun(operation.kind));
  if (!operation.name.empty()) text += " '" + operation.name + "'";
  return text + " (event " + to_string(operation.id) + ")";
}

std::string failure_source(const StartedOperation& operation) {
  return std::string(noun(operation.kind)) + " " + operation.name;
}

}  // namespace holdfast::testing
