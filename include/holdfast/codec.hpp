// Encodes values as payloads and decodes them. Aggregates need no declaration: reflection finds their
// members.
//
//   struct Item { std::string sku; int qty = 1; };
//   struct Order { std::string id; std::vector<Item> items; std::optional<std::string> note; };
//
//   Payload payload = encode(order);            // {"id":"o1","items":[{"sku":"x","qty":2}],"note":null}
//   Result<Order> again = decode<Order>(payload);
#pragma once

#include <holdfast/detail/codec_aggregates.hpp>
#include <holdfast/detail/codec_base.hpp>
#include <holdfast/detail/codec_containers.hpp>
#include <holdfast/detail/codec_scalars.hpp>
#include <holdfast/detail/codec_time.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast {

/// Any JSON value, kept as its text: for code that passes values on without knowing their type.
struct Json {
  std::string text = "null";
  friend bool operator==(const Json&, const Json&) = default;
};

template <>
struct Codec<Json> {
  static void write(JsonWriter& out, const Json& value) { out.raw(value.text); }
  static bool read(JsonReader& in, Json& value) {
    std::string_view text;
    if (!in.raw(text)) return false;
    value.text.assign(text);
    return true;
  }
};

template <>
struct Codec<Encoding> {
  static void write(JsonWriter& out, const Encoding& value) { out.string(value.id()); }
  static std::optional<Encoding> read(JsonReader& in) {
    std::string id;
    if (!in.string(id)) return std::nullopt;
    try {
      return Encoding(id);
    } catch (const std::invalid_argument& e) {
      return in.fail(e.what()), std::nullopt;
    }
  }
};

namespace detail {

template <>
inline constexpr bool writes_null<Json> = true;

template <class T>
inline constexpr bool is_buffer = false;
template <class Allocator>
inline constexpr bool is_buffer<std::vector<std::byte, Allocator>> = true;
template <class Allocator>
inline constexpr bool is_buffer<std::vector<unsigned char, Allocator>> = true;

Failure decode_failure(std::string message);
Failure decode_failure(const std::exception& error);
Failure wrong_encoding(const Payload& payload, std::string_view wanted);

// Runs `make`, which returns a failure or throws; codecs of users may do either.
template <class T, class Make>
Result<T> decode_with(Make make) {
  try {
    return make();
  } catch (const std::exception& e) {
    return Unexpected(decode_failure(e));
  } catch (...) {
    return Unexpected(decode_failure("a codec threw an exception that is not a std::exception"));
  }
}

template <class T>
Result<T> decode_json(std::string_view text) {
  return decode_with<T>([&]() -> Result<T> {
    JsonReader in(text);
    std::optional<T> value = make_value<T>(in);
    if (!value || !in.finish()) return Unexpected(decode_failure(in.error()));
    return *std::move(value);
  });
}

}  // namespace detail

/// Encodes `value`: as JSON, except for buffers (std::vector of std::byte or unsigned char: their bytes),
/// types whose codec makes bytes, and a Payload, which stays as it is.
template <class T>
Payload encode(const T& value) {
  using Value = std::decay_t<const T>;
  if constexpr (std::is_same_v<Value, Payload>) {
    return value;
  } else if constexpr (detail::is_buffer<Value>) {
    return {kBytesEncoding, std::string(reinterpret_cast<const char*>(value.data()), value.size())};
  } else if constexpr (detail::HasBytesCodec<Value>) {
    return {Encoding(Codec<Value>::encoding), Codec<Value>::encode(value)};
  } else {
    JsonWriter out;
    detail::write_value<Value>(out, value);
    return {kJsonEncoding, out.take()};
  }
}

/// The inverse of encode. The failure has category `decode` and says where: `items[3].qty: expected integer,
/// found string "x"`.
template <class T>
Result<T> decode(const Payload& payload) {
  static_assert(!std::is_reference_v<T>, "holdfast: a reference can't be decoded; use the type itself");
  if constexpr (std::is_same_v<T, Payload>) {
    return payload;
  } else {
    if (payload.encoding == kJsonEncoding) return detail::decode_json<T>(payload.bytes);
    if constexpr (detail::HasBytesCodec<T>) {
      if (payload.encoding.id() == Codec<T>::encoding) {
        return detail::decode_with<T>([&]() -> Result<T> { return Codec<T>::decode(payload.bytes); });
      }
      return Unexpected(detail::wrong_encoding(payload, Codec<T>::encoding));
    } else if constexpr (detail::is_buffer<T> || std::is_same_v<T, std::string>) {
      if (payload.encoding == kBytesEncoding) {
        const auto* const data = reinterpret_cast<const typename T::value_type*>(payload.bytes.data());
        return T(data, data + payload.bytes.size());
      }
      return Unexpected(detail::wrong_encoding(payload, "bytes"));
    } else {
      return Unexpected(detail::wrong_encoding(payload, "json"));
    }
  }
}

/// Encodes the arguments of a call: none as null, one as itself, several as a JSON array.
template <class... T>
Payload encode_args(const T&... values) {
  if constexpr (sizeof...(T) == 0) {
    return {kJsonEncoding, "null"};
  } else if constexpr (sizeof...(T) == 1) {
    return encode(values...);
  } else {
    JsonWriter out;
    out.begin_array();
    (detail::write_value<std::decay_t<const T>>(out, values), ...);
    out.end_array();
    return {kJsonEncoding, out.take()};
  }
}

namespace detail {
/// Why the arguments of a call can't be read by a function that takes `count` of them.
Failure wrong_arguments(Failure failure, const Payload& payload, std::size_t count);
}  // namespace detail

/// The inverse of encode_args. A function without parameters ignores what it is given.
template <class... T>
Result<std::tuple<T...>> decode_args(const Payload& payload) {
  if constexpr (sizeof...(T) == 0) {
    return std::tuple<>();
  } else if constexpr (sizeof...(T) == 1) {
    Result<T...> value = decode<T...>(payload);
    if (!value) return Unexpected(detail::wrong_arguments(std::move(value).error(), payload, 1));
    return std::tuple<T...>(*std::move(value));
  } else {
    Result<std::tuple<T...>> values = decode<std::tuple<T...>>(payload);
    if (!values) return Unexpected(detail::wrong_arguments(std::move(values).error(), payload, sizeof...(T)));
    return values;
  }
}

}  // namespace holdfast
