#include "engine/keys.hpp"

#include "base/siphash.hpp"
#include "codec/bytes.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

namespace holdfast::engine {
namespace {

// Which kind of thing is named. They are part of all keys: never change one.
enum class What : std::uint8_t { activity, child, detached, successor };

// Adds a number as a varint.
void add(detail::SipHasher& hasher, std::uint64_t number) {
  std::array<char, history::kMaxVarintSize> bytes{};
  hasher.add({bytes.data(), history::write_varint(number, bytes)});
}

// A text with its length before it.
void add(detail::SipHasher& hasher, std::string_view text) {
  add(hasher, text.size());
  hasher.add(text);
}

template <class Key>
Key hash(Seed seed, What what, EventId event, std::string_view name, const Payload& input) {
  detail::SipHasher hasher(seed.low, seed.high);
  add(hasher, static_cast<std::uint64_t>(what));
  add(hasher, event.value);
  add(hasher, name);
  add(hasher, input.encoding.id());
  hasher.add(input.bytes);
  const detail::SipHash hashed = hasher.finish();
  return {.high = hashed.high, .low = hashed.low};
}

}  // namespace

OperationKey key_of(Seed seed, EventId id, const detail::Operation& operation) {
  const auto of = [&]<class T>(const T& o) -> OperationKey {
    if constexpr (std::is_same_v<T, detail::ActivityScheduled>) {
      return hash<OperationKey>(seed, What::activity, id, o.name, o.input);
    } else if constexpr (std::is_same_v<T, detail::ChildStarted>) {
      return hash<OperationKey>(seed, What::child, id, o.name, o.input);
    } else if constexpr (std::is_same_v<T, detail::DetachedStarted>) {
      return hash<OperationKey>(seed, What::detached, id, o.name, o.input);
    } else {
      return {};
    }
  };
  return std::visit(of, operation);
}

Seed seed_of_successor(Seed seed, EventId next, std::string_view version, const Payload& input) {
  return hash<Seed>(seed, What::successor, next, version, input);
}

}  // namespace holdfast::engine
