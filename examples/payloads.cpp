// Values to payloads and back: what needs no code, how types may change, and what an error says.
#include <holdfast/codec.hpp>

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace holdfast;

// [snippet types]
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
// [/snippet]

// [snippet evolution]
struct OrderV2 {
  std::string id;
  std::vector<Item> items;
  std::string currency = "EUR";  // new: values written before take this default
};  // prices and note are gone: what is unknown is ignored
// [/snippet]

// [snippet required]
struct Transfer {
  HOLDFAST_REQUIRED(from, to, amount)
  std::string from;
  std::string to;
  int amount = 0;
  std::string text = "no text";
};
// [/snippet]

// [snippet fields]
class Account {
 public:
  Account() = default;
  Account(std::string owner, int balance) : owner_(std::move(owner)), balance_(balance) {}

 private:
  HOLDFAST_FIELDS(owner_, balance_)
  std::string owner_;
  int balance_ = 0;
};
// [/snippet]

// [snippet codec]
struct Money {
  std::int64_t cents = 0;
};

template <>
struct holdfast::Codec<Money> {
  static void write(JsonWriter& out, const Money& money) {
    const std::string cents = std::to_string(100 + money.cents % 100);  // "105" for 5 cents
    out.string(std::to_string(money.cents / 100) + "." + cents.substr(1));
  }
  static bool read(JsonReader& in, Money& money) {
    std::string text;
    if (!in.string(text)) return false;
    const std::size_t point = text.find('.');
    if (point == std::string::npos) return in.fail("expected an amount such as 12.50");
    money.cents = std::stoll(text.substr(0, point)) * 100 + std::stoll(text.substr(point + 1));
    return true;
  }
};
// [/snippet]

// [snippet bytes]
struct Frame {
  std::string pixels;
};

template <>
struct holdfast::Codec<Frame> {
  static constexpr std::string_view encoding = "frame-v1";  // 1 to 15 characters
  static std::string encode(const Frame& frame) { return frame.pixels; }
  static Frame decode(std::string_view bytes) { return {std::string(bytes)}; }  // may throw
};
// [/snippet]

namespace {

Payload json(std::string text) { return {kJsonEncoding, std::move(text)}; }

void round_trip() {
  // [snippet round_trip]
  const Order order{.id = "o1", .items = {{"lamp", 2, Size::large}}, .prices = {{"lamp", 19.9}}, .note = {}};
  const Payload payload = encode(order);
  const Result<Order> again = decode<Order>(payload);
  std::cout << payload.bytes << "\n" << again->items[0].quantity << " " << again->items[0].sku << "s\n";
  // [/snippet]
  std::cout << encode(*decode<OrderV2>(payload)).bytes << "\n";
}

void errors() {
  // [snippet error]
  const Result<Order> wrong = decode<Order>(json(R"({"items":[{"sku":"lamp","quantity":"two"}]})"));
  std::cout << wrong.error().message << "\n";
  // [/snippet]
  std::cout << decode<Order>(json(R"({"items":[{"size":"huge"}]})")).error().message << "\n";
  std::cout << decode<Transfer>(json(R"({"from":"a"})")).error().message << "\n";
}

}  // namespace

int main() {
  round_trip();
  errors();
  std::cout << encode(Account("Ada", 5)).bytes << "\n";
  std::cout << encode(Money{1250}).bytes << " " << decode<Money>(json(R"("12.50")"))->cents << " cents\n";
  const Payload frame = encode(Frame{"RGB"});
  std::cout << frame.encoding.id() << ": " << frame.bytes
            << "; inside another value: " << encode(std::vector<Frame>{Frame{"RGB"}}).bytes << "\n";
}
