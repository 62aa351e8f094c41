// Codec<T>: how values of T become JSON and back. This file declares it; its neighbours define it for the
// standard types and for aggregates.
#pragma once

#include <holdfast/json.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast {

/// How values of T are written and read. The primary template does it for aggregates and for types with
/// HOLDFAST_FIELDS; specialise it for a type of yours that should look different, in one of two ways:
///
///   template <> struct holdfast::Codec<Money> {                       // a JSON value, inside others too
///     static void write(JsonWriter& out, const Money& m) { out.string(m.text()); }
///     static bool read(JsonReader& in, Money& m);                      // false after in.fail(...)
///   };
///   template <> struct holdfast::Codec<Frame> {                        // bytes of its own
///     static constexpr std::string_view encoding = "frame-v1";         // at most 15 characters
///     static std::string encode(const Frame& frame);
///     static Frame decode(std::string_view bytes);                     // may throw
///   };
///
/// A type without a default constructor has `static std::optional<T> read(JsonReader& in)` instead of the
/// read() above.
template <class T>
struct Codec;

namespace detail {

template <class T>
concept IsCharacter = std::same_as<T, bool> || std::same_as<T, char> || std::same_as<T, wchar_t> ||
                      std::same_as<T, char8_t> || std::same_as<T, char16_t> || std::same_as<T, char32_t>;

/// T's codec makes bytes of its own rather than JSON.
template <class T>
concept HasBytesCodec = requires { Codec<T>::encoding; };

template <class T>
void write_value(JsonWriter& out, const T& value) {
  if constexpr (HasBytesCodec<T>) {
    out.bytes(Codec<T>::encode(value));
  } else {
    Codec<T>::write(out, value);
  }
}

/// Reads a new object.
template <class T>
std::optional<T> make_value(JsonReader& in) {
  if constexpr (HasBytesCodec<T>) {
    std::string bytes;
    if (!in.bytes(bytes)) return std::nullopt;
    return Codec<T>::decode(bytes);
  } else if constexpr (std::default_initializable<T>) {
    std::optional<T> value(std::in_place);
    if (!Codec<T>::read(in, *value)) value.reset();
    return value;
  } else {
    return Codec<T>::read(in);
  }
}

/// Reads into an object that is there already. Types without a default constructor are made anew and moved
/// in.
template <class T>
bool read_value(JsonReader& in, T& value) {
  if constexpr (requires { Codec<T>::read(in, value); }) {
    return Codec<T>::read(in, value);
  } else {
    std::optional<T> made = make_value<T>(in);
    if (made) value = std::move(*made);
    return made.has_value();
  }
}

}  // namespace detail
}  // namespace holdfast
