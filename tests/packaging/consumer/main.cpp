// A program of somebody who uses Holdfast from outside its tree: headers, library and exceptions across both.
#include <holdfast/codec.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/version.hpp>

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

enum class Size { small, large };

struct Item {
  std::string sku;
  int quantity = 1;
  Size size = Size::small;
};

struct Order {
  std::string id;
  std::vector<Item> items;
  std::map<std::string, double> prices;
  std::optional<std::string> note;
};

void encode_and_decode() {
  const Order order{.id = "o1", .items = {{"x", 2, Size::large}}, .prices = {{"x", 0.5}}, .note = {}};
  const holdfast::Payload payload = holdfast::encode(order);
  std::cout << payload.bytes << "\n";
  std::cout << holdfast::decode<Order>(payload).value().items.at(0).quantity << "\n";

  struct Local {
    int number = 0;
    std::vector<Item> items{};
  };
  const auto local = holdfast::decode<Local>({holdfast::kJsonEncoding, R"({"items":[{"quantity":"x"}]})"});
  std::cout << local.error().message << "\n";
}

}  // namespace

int main() {
  std::cout << "Holdfast " << HOLDFAST_VERSION << "\n";
  encode_and_decode();
  try {
    holdfast::throw_failure({.message = "no funds", .source = "activity charge"});
  } catch (const holdfast::ActivityError& error) {
    std::cout << "caught: " << error.what() << "\n";
  }
}
