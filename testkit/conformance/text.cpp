#include "testkit/conformance/text.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/detail/enum_names.hpp>

#include <string_view>
#include <variant>

namespace holdfast::testing::conformance {

using namespace holdfast::store;

namespace {

std::string answer_to(const Message& message) {
  return to_string(message.execution) + "/" + to_string(message.source);
}

std::string text(const ValueAnswer& answer) {
  return !answer.instance_found ? "no instance" : answer.value.value_or("none");
}

std::string text(const EndAnswer& answer) {
  if (answer.kind != EndAnswer::Kind::ended) return std::string(detail::enum_name(answer.kind));
  return std::string(to_string(answer.status)) + ", " + answer.output;
}

std::string text(const Address& address) {
  return std::string(detail::enum_name(address.kind)) + " " + address.name;
}

// A body of another type than the kind calls for is a mistake of the store, and shows as one.
template <class Body, class Describe>
std::string body_text(const Message& message, Describe describe) {
  const auto* body = std::get_if<Body>(&message.body);
  return body == nullptr ? "(a body of the wrong type)" : std::string(describe(*body));
}

std::string bytes_text(const Message& message) {
  return body_text<std::string>(message, [](const std::string& bytes) { return bytes; });
}

// Breaks a line of JSON at the commas of the outer two levels.
std::string in_lines(std::string_view json) {
  std::string lines;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    lines += c;
    if (in_string) {
      if (c == '\\') lines += json[++i];
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth <= 2) {
      lines += "\n  ";
    }
  }
  return lines;
}

template <class Row>
void add_rows(std::string& lines, std::string_view what, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    lines += what;
    lines += " " + in_lines(encode(row).bytes) + "\n";
  }
}

}  // namespace

std::string answer(const StoreError& error) {
  std::string said(to_string(error.kind));
  if (error.kind == StoreError::Kind::gone) said += "(" + std::string(to_string(error.reason)) + ")";
  return said;
}

std::string text(const Message& message) {
  switch (message.kind) {
    case MessageKind::start:
      return "start: " + bytes_text(message);
    case MessageKind::outcome:
      return "outcome " + answer_to(message) + ": " + bytes_text(message);
    case MessageKind::timer:
      return "timer " + answer_to(message);
    case MessageKind::taken:
      return "taken " + answer_to(message) + ": " +
             body_text<ActivityTaken>(message, [](const auto& body) { return to_string(body.reason); });
    case MessageKind::value:
      return "value " + answer_to(message) + ": " +
             body_text<ValueAnswer>(message, [](const auto& body) { return text(body); });
    case MessageKind::session:
      return "session " + answer_to(message) + ": " +
             body_text<SessionAnswer>(message, [](const auto& body) { return detail::enum_name(body.kind); });
    case MessageKind::control:
      return "control: " + bytes_text(message);
    case MessageKind::cancel:
      return "cancel: " + bytes_text(message);
    case MessageKind::ended:
      return "ended " + answer_to(message) + ": " +
             body_text<EndAnswer>(message, [](const auto& body) { return text(body); });
    case MessageKind::delivery:
      return text(message.address) + ": " + bytes_text(message);
    case MessageKind::news:
      return "news " + message.address.name + ": " +
             body_text<SessionNews>(message, [](const auto& body) { return detail::enum_name(body.kind); });
  }
  return "(a message of no kind)";
}

Texts texts(const std::vector<Message>& messages) {
  Texts all;
  for (const Message& message : messages) all.push_back(text(message));
  return all;
}

std::string text(const StoreState& state) {
  std::string lines;
  add_rows(lines, "instance", state.instances);
  add_rows(lines, "activity", state.activities);
  add_rows(lines, "session", state.sessions);
  add_rows(lines, "session log", state.session_log);
  add_rows(lines, "worker", state.workers);
  add_rows(lines, "cancel record", state.cancels);
  add_rows(lines, "early delivery", state.early);
  add_rows(lines, "set aside", state.set_aside);
  add_rows(lines, "question", state.asks);
  for (const auto& [status, count] : state.counts)
    lines += std::string(to_string(status)) + ": " + std::to_string(count) + "\n";
  return lines;
}

}  // namespace holdfast::testing::conformance
