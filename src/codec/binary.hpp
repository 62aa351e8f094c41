// Binary<T>: the positional binary form of a value. Names are not in it: a field is found by its place.
//
// A struct is a block: its length, then its fields in order. Fields that are at their default are left out at
// the end of a block, and what is missing there keeps its default when it is read; what stands behind the
// last known field is ignored. So a struct may grow at its end, and only there, and no default may ever
// change.
#pragma once

#include "codec/bytes.hpp"
#include "codec/history.hpp"

#include <holdfast/attributes.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/detail/fields.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::history {

/// Where values are written to.
struct BinaryWriter {
  ByteWriter bytes;
  int causes = 0;  ///< how many causes deep in a failure
};

/// Where values are read from. The first failure is noted, with the path of its field.
struct BinaryReader {
  ByteReader bytes;
  int causes = 0;

  explicit BinaryReader(std::string_view all) noexcept : bytes(all) {}

  /// Notes what is wrong with the field that is being read, and returns false.
  bool fail(std::string problem);
  /// The same after a number or a string could not be read: the bytes say why.
  bool fail_read();
  /// Notes that the failure was inside the field `name`, and returns false.
  bool in_field(std::string_view name);
  /// "the settings.timeout is cut off"
  [[nodiscard]] std::string error() const { return "the " + path_ + " " + problem_; }

 private:
  std::string path_;
  std::string problem_;
};

/// How a T is written and read. `read` returns false after it noted a failure; it is given an object at its
/// default, and whatever the bytes are, it takes no more memory than some multiple of their size.
template <class T>
struct Binary;

// ---- fields -------------------------------------------------------------------------------------

// Never destroyed: threads may write while the process ends.
template <class T>
const T& default_of() {
  static const T* const value = new T();
  return *value;
}

/// How many fields there are up to the last one that is not at its default. Found from the end, where most
/// structs have one such field.
template <class T>
std::size_t fields_in_use(const T& object) {
  constexpr std::size_t kCount = detail::field_count<T>;
  const auto members = detail::fields_of(object);
  const auto defaults = detail::fields_of(default_of<T>());
  std::size_t at_default = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(
        ((std::get<kCount - 1 - I>(members) == std::get<kCount - 1 - I>(defaults) && ++at_default != 0) &&
         ...));
  }(std::make_index_sequence<kCount>{});
  return kCount - at_default;
}

/// The fields without the length before them.
template <class T>
void write_fields(BinaryWriter& out, const T& object) {
  const std::size_t count = fields_in_use(object);
  const auto members = detail::fields_of(object);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((I < count ? Binary<detail::FieldType<T, I>>::write(out, std::get<I>(members)) : void()), ...);
  }(std::make_index_sequence<detail::field_count<T>>{});
}

template <class T, std::size_t I>
bool read_field(BinaryReader& in, detail::FieldType<T, I>& value) {
  if (in.bytes.done()) return true;
  return Binary<detail::FieldType<T, I>>::read(in, value) || in.in_field(detail::field_names<T>[I]);
}

template <class T>
bool read_fields(BinaryReader& in, T& object) {
  const auto members = detail::fields_of(object);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (read_field<T, I>(in, std::get<I>(members)) && ...);
  }(std::make_index_sequence<detail::field_count<T>>{});
}

template <class T>
struct Binary {
  static_assert(std::is_aggregate_v<T> && std::is_class_v<T>, "this type has no binary form");

  static void write(BinaryWriter& out, const T& object) {
    const std::size_t block = out.bytes.begin_block();
    write_fields(out, object);
    out.bytes.end_block(block);
  }
  static bool read(BinaryReader& in, T& object) {
    std::string_view block;
    if (!in.bytes.string(block)) return in.fail_read();
    const ByteReader after = std::exchange(in.bytes, ByteReader(block));
    const bool fine = read_fields(in, object);
    in.bytes = after;
    return fine;
  }
};

// ---- numbers ------------------------------------------------------------------------------------

template <std::integral T>
struct Binary<T> {
  static void write(BinaryWriter& out, T value) {
    if constexpr (std::is_signed_v<T>) {
      out.bytes.zigzag(value);
    } else {
      out.bytes.varint(value);
    }
  }
  static bool read(BinaryReader& in, T& value) {
    if constexpr (std::is_signed_v<T>) {
      std::int64_t number = 0;
      return in.bytes.zigzag(number) ? narrow(in, number, value) : in.fail_read();
    } else {
      std::uint64_t number = 0;
      return in.bytes.varint(number) ? narrow(in, number, value) : in.fail_read();
    }
  }

 private:
  template <class Wide>
  static bool narrow(BinaryReader& in, Wide number, T& value) {
    if (!std::in_range<T>(number)) return in.fail("is " + std::to_string(number) + ", which is out of range");
    value = static_cast<T>(number);
    return true;
  }
};

/// A byte, 0 or 1.
template <>
struct Binary<bool> {
  static void write(BinaryWriter& out, bool value) { out.bytes.byte(value ? 1 : 0); }
  static bool read(BinaryReader& in, bool& value);
};

template <>
struct Binary<double> {
  static void write(BinaryWriter& out, double value) { out.bytes.number(value); }
  static bool read(BinaryReader& in, double& value) { return in.bytes.number(value) || in.fail_read(); }
};

/// Its number. One without a name was written by a newer version, and nobody here could handle it.
template <class E>
  requires std::is_enum_v<E>
struct Binary<E> {
  using Number = std::underlying_type_t<E>;

  static void write(BinaryWriter& out, E value) { Binary<Number>::write(out, static_cast<Number>(value)); }
  static bool read(BinaryReader& in, E& value) {
    Number number{};
    if (!Binary<Number>::read(in, number)) return false;
    value = static_cast<E>(number);
    return !detail::enum_name(value).empty() ||
           in.fail("is " + std::to_string(number) + ", which this version of Holdfast doesn't know");
  }
};

template <class Tag>
struct Binary<Number<Tag>> {
  static void write(BinaryWriter& out, Number<Tag> number) { out.bytes.varint(number.value); }
  static bool read(BinaryReader& in, Number<Tag>& number) {
    return in.bytes.varint(number.value) || in.fail_read();
  }
};

template <>
struct Binary<Duration> {
  static void write(BinaryWriter& out, Duration value) { out.bytes.zigzag(value.count()); }
  static bool read(BinaryReader& in, Duration& value) {
    std::int64_t count = 0;
    if (!in.bytes.zigzag(count)) return in.fail_read();
    value = Duration(count);
    return true;
  }
};

template <>
struct Binary<CalendarTime> {
  static void write(BinaryWriter& out, CalendarTime value) {
    Binary<Duration>::write(out, value.time_since_epoch());
  }
  static bool read(BinaryReader& in, CalendarTime& value) {
    Duration since_epoch{};
    if (!Binary<Duration>::read(in, since_epoch)) return false;
    value = CalendarTime(since_epoch);
    return true;
  }
};

// ---- text, bytes, and several of something ------------------------------------------------------

template <>
struct Binary<std::string> {
  static void write(BinaryWriter& out, const std::string& value) { out.bytes.string(value); }
  static bool read(BinaryReader& in, std::string& value) {
    std::string_view text;
    if (!in.bytes.string(text)) return in.fail_read();
    value.assign(text);
    return true;
  }
};

/// How its bytes are encoded: 0 for json, 1 for bytes, else one more than the length of the id that follows;
/// then the bytes.
template <>
struct Binary<Payload> {
  static void write(BinaryWriter& out, const Payload& payload);
  static bool read(BinaryReader& in, Payload& payload);
};

/// A byte, 0 or 1, and the value when there is one.
template <class T>
struct Binary<std::optional<T>> {
  static void write(BinaryWriter& out, const std::optional<T>& value) {
    out.bytes.byte(value ? 1 : 0);
    if (value) Binary<T>::write(out, *value);
  }
  static bool read(BinaryReader& in, std::optional<T>& value) {
    bool there = false;
    if (!Binary<bool>::read(in, there)) return false;
    return !there || Binary<T>::read(in, value.emplace());
  }
};

/// Like the value in it: that a field is boxed makes no difference to its bytes.
template <class T>
struct Binary<detail::Boxed<T>> {
  static void write(BinaryWriter& out, const detail::Boxed<T>& boxed) {
    if (std::is_aggregate_v<T> && boxed.is_default()) return out.bytes.byte(0);  // a block without fields
    Binary<T>::write(out, *boxed);
  }
  static bool read(BinaryReader& in, detail::Boxed<T>& boxed) {
    T value{};
    if (!Binary<T>::read(in, value)) return false;
    boxed = std::move(value);
    return true;
  }
};

/// How many, then one after the other. Each takes a byte at least, so that a count can't promise more than
/// there is.
template <class T>
struct Binary<std::vector<T>> {
  static void write(BinaryWriter& out, const std::vector<T>& values) {
    out.bytes.varint(values.size());
    for (const T& value : values) Binary<T>::write(out, value);
  }
  static bool read(BinaryReader& in, std::vector<T>& values) {
    std::uint64_t count = 0;
    if (!in.bytes.varint(count)) return in.fail_read();
    if (count > in.bytes.left()) return in.fail("is cut off");
    for (; count > 0; --count) {
      if (!Binary<T>::read(in, values.emplace_back())) return false;
    }
    return true;
  }
};

template <class Key, class Value>
struct Binary<std::map<Key, Value>> {
  static void write(BinaryWriter& out, const std::map<Key, Value>& values) {
    out.bytes.varint(values.size());
    for (const auto& [key, value] : values) {
      Binary<Key>::write(out, key);
      Binary<Value>::write(out, value);
    }
  }
  static bool read(BinaryReader& in, std::map<Key, Value>& values) {
    std::uint64_t count = 0;
    if (!in.bytes.varint(count)) return in.fail_read();
    if (count > in.bytes.left()) return in.fail("is cut off");
    for (; count > 0; --count) {
      Key key{};
      if (!Binary<Key>::read(in, key)) return false;
      const auto [place, is_new] = values.try_emplace(std::move(key));
      if (!is_new) return in.fail("has the same key twice");
      if (!Binary<Value>::read(in, place->second)) return false;
    }
    return true;
  }
};

/// Its type, then the value.
template <>
struct Binary<AttributeValue> {
  static void write(BinaryWriter& out, const AttributeValue& value);
  static bool read(BinaryReader& in, AttributeValue& value);
};

/// Like an optional failure. A cause that is nested deeper than kMaxCauses is left out.
template <>
struct Binary<std::shared_ptr<const Failure>> {
  static void write(BinaryWriter& out, const std::shared_ptr<const Failure>& cause);
  static bool read(BinaryReader& in, std::shared_ptr<const Failure>& cause);
};

}  // namespace holdfast::history
