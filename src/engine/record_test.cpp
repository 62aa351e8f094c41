#include "engine/record_test.hpp"

#include "codec/segment.hpp"

#include <holdfast/codec.hpp>

namespace holdfast::engine {

namespace {

std::string in_words(const Payload& payload) {
  return std::string(payload.encoding.id()) + " " + payload.bytes;
}

// In words that stay the same when those for people change.
std::string in_words(const detail::Operation& operation) {
  const auto add = []<class T>(const T& o) {
    std::string text(history::kind_name(history::kind_of<T>));
    if constexpr (requires { o.id; }) text += " " + o.id;
    if constexpr (requires { o.name; }) text += " " + o.name;
    if constexpr (requires { o.instance; } && !requires { o.key; }) text += " " + o.instance;
    if constexpr (requires { o.mailbox; }) text += " " + o.mailbox;
    if constexpr (requires { o.key; }) text += " " + o.key;
    if constexpr (requires { o.settings->id; }) text += " " + o.settings->id;
    if constexpr (requires { o.input; }) text += " " + in_words(o.input);
    if constexpr (requires { o.due; }) text += " " + std::to_string(o.due.time_since_epoch().count());
    return text;
  };
  return std::visit(add, operation);
}

}  // namespace

TurnRecord record_of(const Outcome& outcome) {
  TurnRecord record{.segment = to_hex(outcome.segment), .ignored = outcome.ignored};
  for (const Action& action : outcome.actions) {
    record.actions.push_back(to_string(action.id) + " " + in_words(action.operation));
  }
  for (const Cancel& cancel : outcome.cancels) {
    record.cancels.push_back(to_string(cancel.source) + " " + cancel.label + " reason " +
                             std::to_string(static_cast<int>(cancel.reason)));
  }
  for (const MessageId id : outcome.consumed) record.consumed.push_back(id.value);
  for (const Address& address : outcome.waits) {
    record.waits.push_back(std::to_string(static_cast<int>(address.kind)) + " " + address.name);
  }
  if (outcome.status) record.status = in_words(*outcome.status);
  if (outcome.end) {
    record.end = std::visit(
        []<class T>(const T&) { return std::string(history::kind_name(history::kind_of<T>)); }, *outcome.end);
  }
  return record;
}

std::string to_text(const TurnRecord& record) { return encode(record).bytes; }

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view digits) {
  const auto value_of = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = value_of(digits[i]);
    const int low = value_of(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

}  // namespace holdfast::engine
