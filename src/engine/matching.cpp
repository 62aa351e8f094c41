#include "engine/matching.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>

namespace holdfast::engine {

using namespace detail;

namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// One overload for each operation: what must agree with history.
bool same(const ActivityScheduled& a, const ActivityScheduled& b) {
  const auto session = [](const ActivityScheduled& x) {
    return x.settings->session ? x.settings->session->id : "";
  };
  return a.name == b.name && a.settings->queue == b.settings->queue && session(a) == session(b);
}
bool same(const TimerStarted&, const TimerStarted&) { return true; }
bool same(const EventAwaited& a, const EventAwaited& b) { return a == b; }
bool same(const MessageAwaited& a, const MessageAwaited& b) { return a == b; }
bool same(const ChildStarted& a, const ChildStarted& b) { return a.id == b.id && a.name == b.name; }
bool same(const DetachedStarted& a, const DetachedStarted& b) {
  return a.id == b.id && a.name == b.name && a.launched == b.launched;
}
bool same(const SessionOpened& a, const SessionOpened& b) { return a.settings->id == b.settings->id; }
bool same(const SessionClosing& a, const SessionClosing& b) { return a == b; }
bool same(const SessionEventAwaited& a, const SessionEventAwaited& b) { return a == b; }
bool same(const ValueRead& a, const ValueRead& b) { return a == b; }
bool same(const SideEffectRecorded&, const SideEffectRecorded&) { return true; }
bool same(const MessageTried& a, const MessageTried& b) { return a.mailbox == b.mailbox; }
bool same(const ValueSet& a, const ValueSet& b) {
  return a.key == b.key && a.value.has_value() == b.value.has_value();
}

bool same(const MessageSent& a, const MessageSent& b) {
  return a.instance == b.instance && a.channel == b.channel && a.name == b.name;
}
bool same(const CancelSent& a, const CancelSent& b) { return a.instance == b.instance; }
bool same(const TerminateSent& a, const TerminateSent& b) { return a.instance == b.instance; }
bool same(const EndAwaited& a, const EndAwaited& b) { return a == b; }
bool same(const AttributeSet& a, const AttributeSet& b) {
  return a.name == b.name && a.type == b.type && a.value.has_value() == b.value.has_value();
}

template <class T>
concept HasInput = requires(T operation) { operation.input; };

// ---- words --------------------------------------------------------------------------------------

std::string words(const ActivityScheduled& o) {
  std::string text = "activity " + quoted(o.name);
  if (o.settings->session) text += " on session " + quoted(o.settings->session->id);
  if (!o.settings->queue.empty()) text += " in queue " + quoted(o.settings->queue);
  return text;
}
std::string words(const TimerStarted&) { return "a timer"; }
std::string words(const EventAwaited& o) { return "a wait for the event " + quoted(o.name); }
std::string words(const MessageAwaited& o) { return "a wait for a message in mailbox " + quoted(o.mailbox); }
std::string words(const ChildStarted& o) {
  return "the child " + quoted(o.name) + " with id " + quoted(o.id);
}
std::string words(const DetachedStarted& o) {
  return (o.launched ? "the launch of " : "the detached start of ") + quoted(o.name) + " with id " +
         quoted(o.id);
}
std::string words(const SessionOpened& o) { return "opening the session " + quoted(o.settings->id); }
std::string words(const SessionClosing& o) { return "closing the session " + quoted(o.id); }
std::string words(const SessionEventAwaited& o) { return "a wait for an event of session " + quoted(o.id); }
std::string words(const ValueRead& o) {
  return "reading the value " + quoted(o.key) + " of instance " + quoted(o.instance);
}
std::string words(const SideEffectRecorded&) { return "a side effect"; }
std::string words(const MessageTried& o) { return "a try_receive() from mailbox " + quoted(o.mailbox); }
std::string words(const ValueSet& o) {
  return (o.value ? "setting" : "clearing") + (" the value " + quoted(o.key));
}

std::string words(const MessageSent& o) {
  return (o.channel == Address::Kind::event ? "the event " : "a message for mailbox ") + quoted(o.name) +
         " to instance " + quoted(o.instance);
}
std::string words(const CancelSent& o) { return "a request to cancel instance " + quoted(o.instance); }
std::string words(const TerminateSent& o) { return "a request to terminate instance " + quoted(o.instance); }
std::string words(const EndAwaited& o) { return "a wait for the end of instance " + quoted(o.instance); }

std::string words(const AttributeSet& o) {
  return (o.value ? "setting" : "clearing") + (" the attribute " + quoted(o.name)) + " of type " +
         std::string(to_string(o.type));
}

std::string words(const history::TurnStarted&) { return "the next turn"; }
std::string words(const history::Started& e) { return "the start of " + quoted(e.name); }
std::string words(const history::Completed& e) { return "the completion of event " + to_string(e.source); }
std::string words(const history::Failed& e) { return "the failure of event " + to_string(e.source); }
std::string words(const history::CancelRequested&) { return "a request to cancel"; }
std::string words(const history::ExecutionCompleted&) { return "the end of the execution with a result"; }
std::string words(const history::ExecutionFailed& e) {
  return "the end of the execution with the failure " + quoted(e.failure.message);
}
std::string words(const history::ExecutionCancelled&) { return "the end of the execution by cancellation"; }
std::string words(const history::ExecutionTerminated&) { return "the termination of the execution"; }
std::string words(const history::ContinuedAsNew&) { return "continue-as-new"; }
std::string words(const history::OperationCancelled& e) {
  return "the cancellation of event " + to_string(e.source);
}

std::string words(const history::Patched& e) { return "the patch " + quoted(e.id); }

std::string ending(const history::ExecutionCompleted&) { return "ended with a result"; }
std::string ending(const history::ExecutionFailed& e) {
  return "ended with the failure " + quoted(e.failure.message);
}
std::string ending(const history::ExecutionCancelled&) { return "ended as cancelled"; }
std::string ending(const history::ExecutionTerminated&) { return "was terminated"; }
std::string ending(const history::ContinuedAsNew&) { return "continued as new"; }

// One for each kind of operation, in the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Operation>> kOpenWords = {
    "activity",
    "a timer",
    "an event named",
    "a message in mailbox",
    "the child with id",
    "the detached start of id",
    "the opening of session",
    "the closing of session",
    "an event of session",
    "another instance's value",
    "a side effect",
    "a try_receive() from mailbox",
    "the value",
    "what was sent to",
    "a request to cancel",
    "a request to terminate",
    "the end of instance",
    "the attribute",
};

}  // namespace

bool same_operation(const Operation& recorded, const Operation& started, bool strict) {
  if (recorded.index() != started.index()) return false;
  const auto agrees = [&]<class T>(const T& here) { return same(here, *std::get_if<T>(&started)); };
  if (!std::visit(agrees, recorded)) return false;
  if (const auto* set = std::get_if<AttributeSet>(&recorded); set != nullptr && strict)
    return set->value == std::get<AttributeSet>(started).value;
  return !strict || input_of(recorded) == nullptr || *input_of(recorded) == *input_of(started);
}

std::string in_words(const Operation& operation) {
  return std::visit([](const auto& o) { return words(o); }, operation);
}
std::string in_words(std::uint8_t kind, std::string_view label) {
  return std::string(kOpenWords.at(kind)) + (label.empty() ? "" : " " + quoted(label));
}
std::string in_words(const history::Body& body) {
  return std::visit([](const auto& o) { return words(o); }, body);
}
std::string in_words(const End& end) {
  return std::visit([](const auto& e) { return ending(e); }, end);
}

std::string excerpt(const Payload& payload, const Payload& other) {
  constexpr std::size_t kBefore = 20;
  constexpr std::size_t kShown = 80;
  const std::string_view bytes = payload.bytes;
  const auto [here, there] =
      std::mismatch(bytes.begin(), bytes.end(), other.bytes.begin(), other.bytes.end());
  const auto differs = static_cast<std::size_t>(here - bytes.begin());
  const std::size_t from = bytes.size() <= kShown || differs <= kBefore ? 0 : differs - kBefore;
  std::string text;
  for (const char c : bytes.substr(from, kShown)) text.push_back(c >= 0 && c < ' ' ? ' ' : c);
  if (payload.encoding != kJsonEncoding) text = std::string(payload.encoding.id()) + " " + text;
  return (from > 0 ? "..." : "") + text + (from + kShown < bytes.size() ? "..." : "");
}

const Payload* input_of(const Operation& operation) {
  return std::visit(
      []<class T>(const T& o) -> const Payload* {
        if constexpr (HasInput<T>) {
          return &o.input;
        } else if constexpr (std::is_same_v<T, ValueSet>) {
          return o.value ? &*o.value : nullptr;
        } else if constexpr (std::is_same_v<T, MessageSent>) {
          return &o.value;
        } else {
          return nullptr;
        }
      },
      operation);
}

}  // namespace holdfast::engine
