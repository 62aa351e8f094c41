// expect: array used as initializer
#include "tests/compiler/harness.hpp"

#include <optional>

namespace holdfast::battery {
namespace {

struct Shipment {
  Order order{};
  std::vector<Order> more{};
  std::optional<std::string> note{};
};

std::string text_of(const Shipment& shipment) {
  return text_of(shipment.order) + "; " + text_of(shipment.more.at(0)) + "; " + shipment.note.value_or("-");
}

// A whole document as the input. On g++ 12 name it first.
SNIPPET(nested_aggregates_as_argument,
        "1 Ada Lovelace, London; 2 Grace Hopper, New York, a sail; with care") {
  co_return co_await call(
      Shipment{.order = {.id = 1, .customer = "Ada Lovelace, London"},
               .more = {{.id = 2, .customer = "Grace Hopper, New York", .lines = {"a sail"}}},
               .note = "with care"});
}

}  // namespace
}  // namespace holdfast::battery
