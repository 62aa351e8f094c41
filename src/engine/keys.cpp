#include "engine/keys.hpp"

#include "base/siphash.hpp"
#include "codec/bytes.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

namespace holdfast::engine {
namespace {

// Which kind of thing is named. They are part of all keys: never change one.
enum class What : std::uint8_t { activity, child, detached, successor };

template <class Key>
Key hash(Seed seed, What what, EventId event, std::string_view name, const Payload& input) {
  std::string bytes;
  history::ByteWriter out(bytes);
  out.byte(static_cast<std::uint8_t>(what));
  out.varint(event.value);
  out.string(name);
  out.string(input.encoding.id());
  bytes += input.bytes;
  const detail::SipHash hashed = detail::sip_hash(seed.low, seed.high, bytes);
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
