#include "testkit/replay/history_text.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <algorithm>
#include <variant>

namespace holdfast::testing {

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
std::string what(const history::TurnStarted& e) { return text(e.time); }
std::string what(const history::Started& e) { return words(e.name, text(e.input)); }
std::string what(const history::Completed& e) { return words(text(e.source), text(e.value)); }
std::string what(const history::Failed& e) { return words(text(e.source), text(e.failure)); }
std::string what(const history::CancelRequested& e) { return e.reason; }
std::string what(const history::ExecutionCompleted& e) { return text(e.output); }
std::string what(const history::ExecutionFailed& e) { return text(e.failure); }
std::string what(const history::ExecutionCancelled& e) { return e.failure.message; }
std::string what(const history::ExecutionTerminated& e) { return e.reason; }
std::string what(const history::ContinuedAsNew& e) { return text(e.input); }
std::string what(const history::OperationCancelled& e) {
  return words(text(e.source), std::string(detail::enum_name(e.reason)));
}
std::string what(const history::ActivityScheduled& e) {
  const std::string session = e.settings->session ? "session=" + e.settings->session->id : "";
  const std::string queue = e.settings->queue.empty() ? "" : "queue=" + e.settings->queue;
  return words(e.name, text(e.input), session, queue);
}
std::string what(const history::TimerStarted& e) { return text(e.due); }
std::string what(const history::EventAwaited& e) { return e.name; }
std::string what(const history::MessageAwaited& e) { return e.mailbox; }
std::string what(const history::ChildStarted& e) { return words(e.name, "id=" + e.id, text(e.input)); }
std::string what(const history::DetachedStarted& e) {
  return words(e.name, "id=" + e.id, text(e.input), e.launched ? "launched" : "");
}
std::string what(const history::SessionOpened& e) { return e.settings->id; }
std::string what(const history::SessionClosing& e) { return e.id; }
std::string what(const history::SessionEventAwaited& e) { return e.id; }
std::string what(const history::ValueRead& e) { return words(e.instance, e.key); }
std::string what(const history::SideEffectRecorded& e) {
  return *e.failure ? text(**e.failure) : text(e.value);
}
std::string what(const history::MessageTried& e) {
  return words(e.mailbox, e.value ? text(*e.value) : "(nothing there)");
}
std::string what(const history::ValueSet& e) { return words(e.key, e.value ? text(*e.value) : "(cleared)"); }

std::string what(const history::MessageSent& e) { return words("to " + e.instance, e.name, text(e.value)); }
std::string what(const history::CancelSent& e) { return words("to " + e.instance, e.reason); }

std::string what(const history::Patched& e) { return e.id; }

std::string padded(std::string part, std::size_t width) {
  part.resize(std::max(part.size(), width), ' ');
  return part;
}

}  // namespace

HistoryLine to_line(const history::Event& event) {
  return {event.id, std::string(history::kind_name(event.body)),
          std::visit([](const auto& body) { return what(body); }, event.body)};
}

std::string to_text(const std::vector<HistoryLine>& lines) {
  std::size_t widest = 0;
  for (const HistoryLine& line : lines) widest = std::max(widest, line.kind.size());
  std::string all;
  for (const HistoryLine& line : lines) {
    const std::string id = to_string(line.id);
    all += std::string(4 - std::min<std::size_t>(id.size(), 4), ' ') + id + "  ";
    all += line.what.empty() ? line.kind : padded(line.kind, widest) + "  " + line.what;
    all += '\n';
  }
  return all;
}

}  // namespace holdfast::testing
