// Any bytes as the JSON of many types. The first byte chooses the type ('0' the first one of the table below,
// and so on), the rest is the text. What decodes must encode to valid JSON that decodes and encodes to
// itself; what doesn't must say why, in valid UTF-8.
#include "base/utf8.hpp"
#include "tests/fuzz/target.hpp"

#include <holdfast/codec.hpp>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

enum class Shade : std::int8_t { light, dark, none = -3 };

// No default constructor, so values are made from what was read.
class Sku {
 public:
  explicit Sku(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Line {
  int number = 0;
  Sku sku;
  unsigned quantity = 1;
};

struct Strict {
  HOLDFAST_REQUIRED(id, quantity)
  std::string id{};
  int quantity = 1;
  std::optional<std::optional<Json>> note{};
};

struct Tree {
  std::string name{};
  std::vector<Tree> children{};
  std::shared_ptr<Tree> next{};
};

class Hidden {
  HOLDFAST_FIELDS(name_, codes_)
  char name_[5] = {};
  std::array<short, 3> codes_{};
};

struct Times {
  std::chrono::nanoseconds length{};
  std::chrono::duration<std::uint32_t, std::ratio<1, 60>> frames{};
  std::chrono::duration<float, std::milli> inexact{};
  std::chrono::sys_time<std::chrono::microseconds> at{};
  std::chrono::sys_days day{};
};

struct Everything {
  bool flag = false;
  char letter = 'x';
  std::uint64_t wide = 0;
  float ratio = 0;
  Shade shade = Shade::dark;
  std::string text{};
  std::vector<std::byte> bytes{};
  std::vector<bool> bits{};
  std::map<std::string, int> named{};
  std::map<Shade, std::vector<std::string>> shaded{};
  std::map<std::pair<int, char>, std::unique_ptr<int>> paired{};
  std::unordered_map<std::string, Json> hashed{};
  std::multimap<std::int8_t, std::string> several{};
  std::set<std::string> set{};
  std::variant<std::monostate, int, std::string, Strict> choice{};
  std::tuple<int, std::optional<Line>> tuple{};
  Times times{};
  Hidden hidden{};
  Tree tree{};
  Payload payload{};
};

template <class T>
void require_stable(const Payload& payload) {
  JsonReader in(payload.bytes);
  fuzz::require(in.skip() && in.finish(), "what was encoded is JSON");
  const Result<T> again = decode<T>(payload);
  fuzz::require(again.has_value(), "what was encoded decodes");
  fuzz::require(encode(*again) == payload, "what was decoded encodes to the same text");
}

template <class T>
void check(const Payload& input) {
  const Result<T> value = decode<T>(input);
  if (!value) {
    fuzz::require(value.error().category == Category::decode, "a failure to decode says so");
    fuzz::require(!value.error().message.empty() && detail::is_utf8(value.error().message),
                  "the message of a failure is text");
    return;
  }
  Payload payload;
  try {
    payload = encode(*value);
  } catch (const LimitError&) {
    return;  // fields that the text left out may nest deeper than those it had
  }
  require_stable<T>(payload);
}

using Check = void (*)(const Payload&);
constexpr std::array kChecks{
    Check(&check<Json>),        Check(&check<int>),   Check(&check<double>), Check(&check<std::string>),
    Check(&check<Everything>),  Check(&check<Line>),  Check(&check<Strict>), Check(&check<Tree>),
    Check(&check<long double>), Check(&check<Times>),
};

}  // namespace

template <>
struct Codec<Sku> {
  static void write(JsonWriter& out, const Sku& sku) { out.string(sku.text()); }
  static std::optional<Sku> read(JsonReader& in) {
    std::string text;
    if (!in.string(text)) return std::nullopt;
    if (text.empty()) return in.fail("a SKU is not empty"), std::nullopt;
    return Sku(text);
  }
};

}  // namespace holdfast

void holdfast::fuzz::run(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front() - '0') % kChecks.size();
  kChecks[choice]({kJsonEncoding, std::string(input.substr(1))});
}
