#include "codec/history_text.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/detail/enum_names.hpp>

#include <variant>

namespace holdfast::history {

namespace {

std::string text(const Payload& payload) {
  if (payload.encoding == kJsonEncoding) return payload.bytes == "null" ? "" : payload.bytes;
  return "<" + std::to_string(payload.bytes.size()) + " bytes, " + std::string(payload.encoding.id()) + ">";
}
std::string text(CalendarTime time) {
  if (time == CalendarTime::max()) return "never";
  const std::string quoted = encode(time).bytes;
  return quoted.substr(1, quoted.size() - 2);
}
std::string text(const Failure& failure) {
  return failure.type.empty() ? failure.message : failure.type + ": " + failure.message;
}
std::string text(EventId id) { return "#" + to_string(id); }

// The parts that are not empty, with blanks between them.
template <class... Part>
std::string words(const Part&... parts) {
  std::string all;
  const auto add = [&](const std::string& part) {
    if (!all.empty() && !part.empty()) all += ' ';
    all += part;
  };
  (add(parts), ...);
  return all;
}

// One overload for each event.
std::string what(const TurnStarted& e) { return text(e.time); }
std::string what(const Started& e) { return words(e.name, text(e.input)); }
std::string what(const Completed& e) { return words(text(e.source), text(e.value)); }
std::string what(const Failed& e) { return words(text(e.source), text(e.failure)); }
std::string what(const CancelRequested& e) { return e.reason; }
std::string what(const ExecutionCompleted& e) { return text(e.output); }
std::string what(const ExecutionFailed& e) { return text(e.failure); }
std::string what(const ExecutionCancelled& e) { return e.failure.message; }
std::string what(const ExecutionTerminated& e) { return e.reason; }
std::string what(const ContinuedAsNew& e) { return text(e.input); }
std::string what(const OperationCancelled& e) {
  return words(text(e.source), std::string(detail::enum_name(e.reason)));
}
std::string what(const ActivityScheduled& e) {
  const std::string session = e.settings->session ? "session=" + e.settings->session->id : "";
  const std::string queue = e.settings->queue.empty() ? "" : "queue=" + e.settings->queue;
  return words(e.name, text(e.input), session, queue);
}
std::string what(const TimerStarted& e) { return text(e.due); }
std::string what(const EventAwaited& e) { return e.name; }
std::string what(const MessageAwaited& e) { return e.mailbox; }
std::string what(const ChildStarted& e) { return words(e.name, "id=" + e.id, text(e.input)); }
std::string what(const DetachedStarted& e) {
  return words(e.name, "id=" + e.id, text(e.input), e.launched ? "launched" : "");
}
std::string what(const SessionOpened& e) { return e.settings->id; }
std::string what(const SessionClosing& e) { return e.id; }
std::string what(const SessionEventAwaited& e) { return e.id; }
std::string what(const ValueRead& e) { return words(e.instance, e.key); }
std::string what(const SideEffectRecorded& e) { return *e.failure ? text(**e.failure) : text(e.value); }
std::string what(const MessageTried& e) {
  return words(e.mailbox, e.value ? text(*e.value) : "(nothing there)");
}
std::string what(const ValueSet& e) { return words(e.key, e.value ? text(*e.value) : "(cleared)"); }
std::string what(const MessageSent& e) { return words("to " + e.instance, e.name, text(e.value)); }
std::string what(const CancelSent& e) { return words("to " + e.instance, e.reason); }
std::string what(const TerminateSent& e) { return words("to " + e.instance, e.reason); }
std::string what(const EndAwaited& e) { return e.instance; }
std::string what(const Patched& e) { return e.id; }
std::string what(const AttributeSet& e) {
  return words(e.name, e.value ? to_string(*e.value) : "(cleared " + std::string(to_string(e.type)) + ")");
}

}  // namespace

std::string summary(const Body& body) {
  return std::visit([](const auto& event) { return what(event); }, body);
}

}  // namespace holdfast::history
