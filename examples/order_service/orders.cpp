#include "orders.hpp"

#include <charconv>
#include <stdexcept>

namespace orders {

std::string_view to_string(Stage stage) noexcept {
  switch (stage) {
    case Stage::reserving:
      return "reserving";
    case Stage::awaiting_approval:
      return "awaiting approval";
    case Stage::charging:
      return "charging";
    case Stage::packing:
      return "packing";
    case Stage::shipping:
      return "shipping";
    case Stage::shipped:
      return "shipped";
    case Stage::undoing:
      return "undoing";
    case Stage::rejected:
      return "rejected";
  }
  return "unknown";
}

Item parse_item(std::string_view text) {
  const std::size_t equals = text.find('=');
  Item item{.sku = std::string(text.substr(0, equals)), .quantity = 1};
  if (equals != std::string_view::npos) {
    const std::string_view number = text.substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), item.quantity);
    if (error != std::errc() || end != number.data() + number.size()) item.quantity = 0;
  }
  if (item.sku.empty() || item.quantity < 1 || item.quantity > 1'000) {
    throw std::invalid_argument(
        "an item is a name, or a name and a number up to 1000, such as lamp=2; not '" + std::string(text) +
        "'");
  }
  return item;
}

std::string to_text(const std::vector<Item>& items) {
  std::string text;
  for (const Item& item : items) {
    text += (text.empty() ? "" : " ") + item.sku + "=" + std::to_string(item.quantity);
  }
  return text;
}

}  // namespace orders
