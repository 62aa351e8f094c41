// Codecs of booleans, numbers, text, bytes, enums and std::monostate.
#pragma once

#include <holdfast/detail/codec_base.hpp>
#include <holdfast/detail/enum_names.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace holdfast {

template <>
struct Codec<bool> {
  static void write(JsonWriter& out, bool value) { out.boolean(value); }
  static bool read(JsonReader& in, bool& value) { return in.boolean(value); }
};

template <class T>
  requires(std::integral<T> && !detail::IsCharacter<T>)
struct Codec<T> {
  static_assert(sizeof(T) <= sizeof(std::int64_t),
                "holdfast: integers of more than 64 bits are not known here; specialise holdfast::Codec");
  static void write(JsonWriter& out, T value) {
    if constexpr (std::is_signed_v<T>) {
      out.integer(static_cast<std::int64_t>(value));
    } else {
      out.integer(static_cast<std::uint64_t>(value));
    }
  }
  static bool read(JsonReader& in, T& value) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_signed_v<T>) {
      std::int64_t number = 0;
      if (!in.integer(number, Limits::min(), Limits::max())) return false;
      value = static_cast<T>(number);
    } else {
      std::uint64_t number = 0;
      if (!in.integer(number, Limits::max())) return false;
      value = static_cast<T>(number);
    }
    return true;
  }
};

template <std::floating_point T>
struct Codec<T> {
  static void write(JsonWriter& out, T value) { out.number(value); }
  static bool read(JsonReader& in, T& value) { return in.number(value); }
};

template <>
struct Codec<std::string> {
  static void write(JsonWriter& out, const std::string& value) { out.string(value); }
  static bool read(JsonReader& in, std::string& value) { return in.string(value); }
};

/// A text of one byte.
template <>
struct Codec<char> {
  static void write(JsonWriter& out, char value) { out.string({&value, 1}); }
  static bool read(JsonReader& in, char& value) {
    std::string text;
    if (!in.string(text)) return false;
    if (text.size() != 1)
      return in.fail("expected a string of one byte, found one of " + std::to_string(text.size()));
    value = text[0];
    return true;
  }
};

namespace detail {
/// Written like a std::string. It can't be read: it would not own its text.
template <class View>
struct ViewCodec {
  static void write(JsonWriter& out, View value) { out.string(value); }
  template <class Reader>
  static bool read(Reader&, View&) {
    static_assert(!std::same_as<Reader, JsonReader>,
                  "holdfast: a std::string_view or const char* does not own its text and can't be decoded; "
                  "use std::string");
    return false;
  }
};
}  // namespace detail
template <>
struct Codec<std::string_view> : detail::ViewCodec<std::string_view> {};
template <>
struct Codec<const char*> : detail::ViewCodec<const char*> {};

/// Stands for void where a value is needed.
template <>
struct Codec<std::monostate> {
  static void write(JsonWriter& out, std::monostate) { out.null(); }
  static bool read(JsonReader& in, std::monostate&) { return in.null(); }
};

template <>
struct Codec<std::byte> {
  static void write(JsonWriter& out, std::byte value) { out.integer(std::to_integer<std::uint64_t>(value)); }
  static bool read(JsonReader& in, std::byte& value) {
    std::uint64_t number = 0;
    if (!in.integer(number, 255)) return false;
    value = static_cast<std::byte>(number);
    return true;
  }
};

/// A buffer: bytes rather than a list of numbers.
template <class T, class Allocator>
  requires(std::same_as<T, std::byte> || std::same_as<T, unsigned char>)
struct Codec<std::vector<T, Allocator>> {
  static void write(JsonWriter& out, const std::vector<T, Allocator>& value) {
    out.bytes({reinterpret_cast<const char*>(value.data()), value.size()});
  }
  static bool read(JsonReader& in, std::vector<T, Allocator>& value) {
    std::string bytes;
    if (!in.bytes(bytes)) return false;
    const auto* const data = reinterpret_cast<const T*>(bytes.data());
    value.assign(data, data + bytes.size());
    return true;
  }
};

/// By name; a value without a name by its number.
template <class E>
  requires std::is_enum_v<E>
struct Codec<E> {
  static_assert(detail::FixedEnum<E>,
                "holdfast: the names of an unscoped enum without a fixed type can't be found; "
                "write `enum class E` or `enum E : int`, or specialise holdfast::Codec<E>");
  using Number = std::underlying_type_t<E>;

  static void write(JsonWriter& out, E value) {
    if (const std::string_view name = detail::enum_name(value); !name.empty()) {
      out.string(name);
    } else {
      Codec<Number>::write(out, static_cast<Number>(value));
    }
  }
  static bool read(JsonReader& in, E& value) {
    if (in.peek() != JsonKind::string) return read_number(in, value);
    std::string name;
    if (!in.string(name)) return false;
    for (std::size_t i = 0; i < detail::enum_names<E>.size(); ++i) {
      if (detail::enum_names<E>[i] != name || name.empty()) continue;
      value = static_cast<E>(static_cast<Number>(detail::enum_min<E> + static_cast<std::int64_t>(i)));
      return true;
    }
    return in.fail("expected " + choices() + ", found \"" + detail::quote(name) + '"');
  }

 private:
  static bool read_number(JsonReader& in, E& value) {
    if (in.peek() != JsonKind::number) return in.fail_expected(choices());
    Number number{};
    if (!Codec<Number>::read(in, number)) return false;
    value = static_cast<E>(number);
    return true;
  }
  static std::string choices() {
    std::string text;
    for (const std::string_view name : detail::enum_names<E>) {
      if (!name.empty()) text.append(text.empty() ? "one of " : ", ").append(name);
    }
    return text.empty() ? "integer" : text;
  }
};

}  // namespace holdfast
