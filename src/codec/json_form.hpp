// JsonForm<T>: how the values in history look as JSON. Unlike Codec<T> it leaves out what is at its default,
// refuses fields that it doesn't know, and shows payloads as the values that they hold.
#pragma once

#include "base/utf8.hpp"
#include "codec/history.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::history {

template <class T>
struct JsonForm;

// ---- the fields of a struct ---------------------------------------------------------------------

/// The names of T's fields in JSON.
template <class T>
inline constexpr auto json_names = detail::field_names<T>;
template <>
inline constexpr std::array<std::string_view, 7> json_names<detail::ActivitySettings> = {
    "queue", "worker_session", "timeout", "schedule_to_start", "retry", "priority", "connection"};
template <>
inline constexpr std::array<std::string_view, 11> json_names<detail::SessionSettings> = {
    "session_id",        "queue",
    "connection",        "requirements",
    "lease_seconds",     "idle_seconds",
    "ttl_seconds",       "max_concurrent_activities",
    "create_if_missing", "allow_reacquire_after_failure",
    "outlives_opener"};

/// A duration as a number of seconds.
struct SecondsForm {
  static void write(JsonWriter& out, const std::optional<Duration>& value);
  static bool read(JsonReader& in, std::optional<Duration>& value);
};

/// How the I-th field of a T is written.
template <class T, std::size_t I>
struct FieldForm : JsonForm<detail::FieldType<T, I>> {};
template <std::size_t I>
  requires std::is_same_v<detail::FieldType<detail::SessionSettings, I>, std::optional<Duration>>
struct FieldForm<detail::SessionSettings, I> : SecondsForm {};

template <class T>
inline constexpr bool is_number = std::is_integral_v<T>;
template <class Tag>
inline constexpr bool is_number<Number<Tag>> = true;
template <>
inline constexpr bool is_number<CalendarTime> = true;

/// Fields that are written also when they are at their default, as one would miss them otherwise: choices,
/// and the numbers and times of an event itself.
template <class T, bool kOfEvent>
inline constexpr bool always_written = std::is_enum_v<T> || (kOfEvent && is_number<T>);

/// The fields of `object`, inside an object that is open. kOfEvent: it is the body of an event.
template <class T, bool kOfEvent>
void write_json_fields(JsonWriter& out, const T& object) {
  static_assert(json_names<T>.size() == detail::field_count<T>);
  const T defaults{};
  const auto members = detail::fields_of(object);
  const auto default_members = detail::fields_of(defaults);
  const auto write_one = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if (!always_written<detail::FieldType<T, I>, kOfEvent> &&
        std::get<I>(members) == std::get<I>(default_members)) {
      return;
    }
    out.key(json_names<T>[I]);
    FieldForm<T, I>::write(out, std::get<I>(members));
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (write_one(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<detail::field_count<T>>{});
}

/// What reading an object needs to know about its type.
struct JsonFields {
  using Read = bool (*)(JsonReader& in, void* target);
  std::span<const std::string_view> names;
  std::span<const Read> read;
};
/// Reads an object into `target`; fields named in `apart` are passed over. Refuses unknown and repeated ones.
bool read_json_fields(JsonReader& in, const JsonFields& fields, std::span<const std::string_view> apart,
                      void* target);

template <class T, std::size_t I>
bool read_json_field(JsonReader& in, void* target) {
  return FieldForm<T, I>::read(in, std::get<I>(detail::fields_of(*static_cast<T*>(target))));
}
template <class T, std::size_t... I>
constexpr std::array<JsonFields::Read, sizeof...(I)> all_json_fields(std::index_sequence<I...>) {
  return {&read_json_field<T, I>...};
}
template <class T>
inline constexpr auto json_field_readers =
    all_json_fields<T>(std::make_index_sequence<detail::field_count<T>>{});

template <class T>
bool read_json_object(JsonReader& in, T& object, std::span<const std::string_view> apart = {}) {
  return read_json_fields(in, JsonFields{json_names<T>, json_field_readers<T>}, apart, &object);
}

// ---- values -------------------------------------------------------------------------------------

/// Structs as objects, all else as its Codec has it.
template <class T>
struct JsonForm {
  static constexpr bool kStruct = std::is_class_v<T> && std::is_aggregate_v<T>;

  static void write(JsonWriter& out, const T& value) {
    if constexpr (kStruct) {
      out.begin_object();
      write_json_fields<T, false>(out, value);
      out.end_object();
    } else {
      Codec<T>::write(out, value);
    }
  }
  static bool read(JsonReader& in, T& value) {
    if constexpr (kStruct) {
      return read_json_object(in, value);
    } else {
      return Codec<T>::read(in, value);
    }
  }
};

/// A number that stands for no choice is refused.
template <class E>
  requires std::is_enum_v<E>
struct JsonForm<E> {
  static void write(JsonWriter& out, E value) { Codec<E>::write(out, value); }
  static bool read(JsonReader& in, E& value) {
    if (in.peek() == JsonKind::number) return in.fail_expected("the name of a choice");
    return Codec<E>::read(in, value);
  }
};

template <class Tag>
struct JsonForm<Number<Tag>> {
  static void write(JsonWriter& out, Number<Tag> number) { out.integer(number.value); }
  static bool read(JsonReader& in, Number<Tag>& number) {
    return Codec<std::uint64_t>::read(in, number.value);
  }
};

/// "PT1M30S", or "never".
template <>
struct JsonForm<Duration> {
  static void write(JsonWriter& out, Duration value);
  static bool read(JsonReader& in, Duration& value);
};

/// A payload of JSON as that value; any other one, and JSON that would not come back byte by byte, as
/// {"encoding": "bytes", "$b64": "..."}.
template <>
struct JsonForm<Payload> {
  static void write(JsonWriter& out, const Payload& payload);
  static bool read(JsonReader& in, Payload& payload);
};

/// {"integer": 12}: the type and the value.
template <>
struct JsonForm<AttributeValue> {
  static void write(JsonWriter& out, const AttributeValue& value);
  static bool read(JsonReader& in, AttributeValue& value);
};

/// One after the other.
template <>
struct JsonForm<std::vector<Attribute>> {
  static void write(JsonWriter& out, const std::vector<Attribute>& attributes) {
    out.begin_array();
    for (const Attribute& attribute : attributes) JsonForm<Attribute>::write(out, attribute);
    out.end_array();
  }
  static bool read(JsonReader& in, std::vector<Attribute>& attributes) {
    return in.array([&](std::size_t) { return JsonForm<Attribute>::read(in, attributes.emplace_back()); });
  }
};

/// Like the value in it.
template <class T>
struct JsonForm<detail::Boxed<T>> {
  static void write(JsonWriter& out, const detail::Boxed<T>& boxed) { JsonForm<T>::write(out, *boxed); }
  static bool read(JsonReader& in, detail::Boxed<T>& boxed) {
    T value{};
    if (!JsonForm<T>::read(in, value)) return false;
    boxed = std::move(value);
    return true;
  }
};

template <class T>
struct JsonForm<std::optional<T>> {
  static void write(JsonWriter& out, const std::optional<T>& value) {
    if (!value) return out.null();
    JsonForm<T>::write(out, *value);
  }
  static bool read(JsonReader& in, std::optional<T>& value) {
    // A payload may be null itself: without a field, there is none.
    if (!std::is_same_v<T, Payload> && in.peek() == JsonKind::null) return in.null();
    return JsonForm<T>::read(in, value.emplace());
  }
};

/// An object; an array of pairs when JSON can't hold one of the keys.
template <class Value>
struct JsonForm<std::map<std::string, Value>> {
  using Map = std::map<std::string, Value>;

  static void write(JsonWriter& out, const Map& values) {
    const bool object = std::all_of(values.begin(), values.end(),
                                    [](const auto& pair) { return detail::is_utf8(pair.first); });
    object ? out.begin_object() : out.begin_array();
    for (const auto& [key, value] : values) {
      if (object) {
        out.key(key);
        JsonForm<Value>::write(out, value);
      } else {
        out.begin_array();
        out.string(key);
        JsonForm<Value>::write(out, value);
        out.end_array();
      }
    }
    object ? out.end_object() : out.end_array();
  }
  static bool read(JsonReader& in, Map& values) {
    if (in.peek() == JsonKind::array) return in.array([&](std::size_t) { return read_pair(in, values); });
    return in.object([&](std::string_view key) { return read_value(in, values, std::string(key)); });
  }

 private:
  static bool read_pair(JsonReader& in, Map& values) {
    std::string key;
    return detail::read_exactly(in, 2, [&](std::size_t i) {
      return i == 0 ? in.string(key) : read_value(in, values, std::move(key));
    });
  }
  static bool read_value(JsonReader& in, Map& values, std::string key) {
    const auto [place, is_new] = values.try_emplace(std::move(key));
    return is_new ? JsonForm<Value>::read(in, place->second) : in.fail("the same key stands here twice");
  }
};

/// Like an optional failure; one that is nested deeper than kMaxCauses is left out.
template <>
struct JsonForm<std::shared_ptr<const Failure>> {
  static void write(JsonWriter& out, const std::shared_ptr<const Failure>& cause);
  static bool read(JsonReader& in, std::shared_ptr<const Failure>& cause);
};

}  // namespace holdfast::history
