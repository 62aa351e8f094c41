// Random values of a type that has everything in it: encoding and decoding gives the same value and the same
// text.
#include <holdfast/codec.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <chrono>

namespace holdfast {
namespace {

enum class Shade { light, dark, none = 40 };

struct Leaf {
  std::string text;
  double number = 0;
  std::optional<std::optional<std::int64_t>> maybe;
  bool operator==(const Leaf&) const = default;
};

struct Everything {
  std::int64_t wide = 0;
  std::uint8_t narrow = 0;
  bool flag = false;
  Shade shade = Shade::light;
  std::vector<Leaf> leaves;
  std::map<std::string, int> named;
  std::map<int, std::vector<bool>> numbered;
  std::unordered_map<std::string, std::string> hashed;
  std::set<std::string> set;
  std::variant<int, std::string, std::monostate> choice;
  std::pair<char, std::byte> pair;
  std::chrono::microseconds length{};
  std::chrono::sys_time<std::chrono::nanoseconds> time;
  std::vector<std::byte> bytes;
  bool operator==(const Everything&) const = default;
};

// Any bits at all, but those that don't equal themselves.
rc::Gen<double> any_double() {
  return rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) {
    const auto value = std::bit_cast<double>(bits);
    return value == value ? value : 0.5;
  });
}

}  // namespace
}  // namespace holdfast

namespace rc {
using namespace holdfast;
template <>
struct Arbitrary<Leaf> {
  static Gen<Leaf> arbitrary() {
    return gen::build<Leaf>(gen::set(&Leaf::text), gen::set(&Leaf::number, any_double()),
                            gen::set(&Leaf::maybe, gen::element<std::optional<std::optional<std::int64_t>>>(
                                                       std::nullopt, std::optional<std::int64_t>(), 7)));
  }
};
template <>
struct Arbitrary<std::byte> {
  static Gen<std::byte> arbitrary() {
    return gen::map(gen::arbitrary<std::uint8_t>(), [](std::uint8_t b) { return std::byte{b}; });
  }
};
template <>
struct Arbitrary<Everything> {
  static Gen<Everything> arbitrary() {
    using Choice = std::variant<int, std::string, std::monostate>;
    return gen::build<Everything>(
        gen::set(&Everything::wide), gen::set(&Everything::narrow), gen::set(&Everything::flag),
        gen::set(&Everything::shade,
                 gen::map(gen::inRange(0, 50), [](int n) { return static_cast<Shade>(n); })),
        gen::set(&Everything::leaves), gen::set(&Everything::named), gen::set(&Everything::numbered),
        gen::set(&Everything::hashed), gen::set(&Everything::set),
        gen::set(&Everything::choice,
                 gen::oneOf(gen::map(gen::arbitrary<int>(), [](int n) { return Choice(n); }),
                            gen::map(gen::arbitrary<std::string>(),
                                     [](std::string s) { return Choice(std::move(s)); }),
                            gen::just(Choice(std::monostate{})))),
        gen::set(&Everything::pair, gen::pair(gen::arbitrary<char>(), gen::arbitrary<std::byte>())),
        gen::set(&Everything::length, gen::map(gen::arbitrary<std::int64_t>(),
                                               [](std::int64_t n) { return std::chrono::microseconds(n); })),
        gen::set(&Everything::time, gen::map(gen::arbitrary<std::int64_t>(),
                                             [](std::int64_t n) {
                                               return std::chrono::sys_time<std::chrono::nanoseconds>(
                                                   std::chrono::nanoseconds(n));
                                             })),
        gen::set(&Everything::bytes));
  }
};
}  // namespace rc

namespace holdfast {
namespace {

RC_GTEST_PROP(RoundTrip, OfEverything, ()) {
  const auto value = *rc::Arbitrary<Everything>::arbitrary();
  const Payload payload = encode(value);
  const Result<Everything> again = decode<Everything>(payload);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == value);
  RC_ASSERT(encode(*again) == payload);
}

RC_GTEST_PROP(RoundTrip, OfArguments,
              (const std::string& a, std::int64_t b, const std::vector<std::string>& c)) {
  const auto again = decode_args<std::string, std::int64_t, std::vector<std::string>>(encode_args(a, b, c));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == std::tuple(a, b, c));
}

// What is in memory in another order is the same value, so it must have the same text.
RC_GTEST_PROP(RoundTrip, TextDoesNotDependOnTheOrderOfInsertion,
              (const std::map<std::string, int>& entries)) {
  std::unordered_map<std::string, int> forward(entries.begin(), entries.end());
  std::unordered_map<std::string, int> backward(1000);
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) backward.insert(*it);
  RC_ASSERT(encode(forward) == encode(backward));
}

}  // namespace
}  // namespace holdfast
