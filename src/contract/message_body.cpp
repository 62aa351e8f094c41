#include "contract/rows.hpp"

#include <holdfast/store/messages.hpp>

#include <type_traits>

namespace holdfast::store {
namespace {

template <class T>
std::optional<MessageBody> read(std::string_view bytes) {
  T body{};
  if (!from_bytes(bytes, body)) return std::nullopt;
  return body;
}

}  // namespace

std::string encode_body(const MessageBody& body) {
  return std::visit(
      [](const auto& alternative) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(alternative)>, std::string>) {
          return alternative;
        } else {
          return to_bytes(alternative);
        }
      },
      body);
}

std::optional<MessageBody> decode_body(MessageKind kind, std::string_view bytes) {
  switch (kind) {
    case MessageKind::taken:
      return read<ActivityTaken>(bytes);
    case MessageKind::value:
      return read<ValueAnswer>(bytes);
    case MessageKind::session:
      return read<SessionAnswer>(bytes);
    case MessageKind::news:
      return read<SessionNews>(bytes);
    case MessageKind::ended:
      return read<EndAnswer>(bytes);
    case MessageKind::start:
    case MessageKind::outcome:
    case MessageKind::timer:
    case MessageKind::control:
    case MessageKind::cancel:
    case MessageKind::delivery:
      return std::string(bytes);
  }
  return std::nullopt;
}

}  // namespace holdfast::store
