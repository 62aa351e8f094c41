// JSON schemas of the types that the API takes and gives, found by the same reflection that encodes them: the
// description of the API can't differ from what it does.
#pragma once

#include <holdfast/attributes.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/options.hpp>

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::server {

/// Schemas of named types, for `components` of an OpenAPI document.
using SchemaTable = std::map<std::string, std::string, std::less<>>;

/// How a type is called in the description, and its schema where it is written by a codec of its own.
/// Specialised for every type that is an object.
template <class T>
struct SchemaName;

namespace detail_schema {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

template <class T>
concept HasOwnSchema = requires(SchemaTable& table) { SchemaName<T>::write(table); };

template <class T>
std::string write(SchemaTable& table);

template <class T, std::size_t... I>
std::string fields(SchemaTable& table, std::index_sequence<I...>) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& schema) {
    text += (text.empty() ? "\"" : ",\"") + std::string(name) + "\":" + schema;
  };
  (add(detail::field_names<T>[I], write<detail::FieldType<T, I>>(table)), ...);
  return text;
}

template <class T>
std::string names_of() {
  std::string text;
  for (const std::string_view name : detail::enum_names<T>) {
    if (!name.empty()) text += (text.empty() ? "\"" : ",\"") + std::string(name) + '"';
  }
  return text;
}

// Objects that are given have all of their fields; of those that are taken each may be left out.
template <class T>
std::string object(SchemaTable& table) {
  constexpr auto kIndices = std::make_index_sequence<detail::field_count<T>>{};
  std::string required;
  if constexpr (!SchemaName<T>::taken) {
    for (const std::string_view name : detail::field_names<T>) {
      required += (required.empty() ? "\"" : ",\"") + std::string(name) + '"';
    }
  } else {
    for (const std::string_view name : detail::required_names<T>) {
      required += (required.empty() ? "\"" : ",\"") + std::string(name) + '"';
    }
  }
  return R"({"type":"object","properties":{)" + fields<T>(table, kIndices) + "}" +
         (required.empty() ? "" : R"(,"required":[)" + required + "]") + R"(,"additionalProperties":false})";
}

template <class T>
std::string write(SchemaTable& table) {
  if constexpr (is_optional<T>) {
    return R"({"anyOf":[)" + write<typename T::value_type>(table) + R"(,{"type":"null"}]})";
  } else if constexpr (is_list<T>) {
    return R"({"type":"array","items":)" + write<typename T::value_type>(table) + "}";
  } else if constexpr (std::is_same_v<T, bool>) {
    return R"({"type":"boolean"})";
  } else if constexpr (std::integral<T>) {
    return R"({"type":"integer"})";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return R"({"type":"string"})";
  } else if constexpr (std::is_same_v<T, Duration>) {
    return R"({"type":"string","format":"duration"})";
  } else if constexpr (std::is_same_v<T, CalendarTime>) {
    return R"({"type":"string","format":"date-time"})";
  } else if constexpr (std::is_same_v<T, Json>) {
    return "{}";
  } else if constexpr (std::is_enum_v<T>) {
    return R"({"type":"string","enum":[)" + names_of<T>() + "]}";
  } else {
    const std::string name(SchemaName<T>::name);
    if (table.try_emplace(name).second) {  // before its fields, which may refer to it
      if constexpr (HasOwnSchema<T>) {
        table[name] = SchemaName<T>::write(table);
      } else {
        table[name] = object<T>(table);
      }
    }
    return R"({"$ref":"#/components/schemas/)" + name + "\"}";
  }
}

}  // namespace detail_schema

/// A reference to the schema of T, which is in the table then, or the schema itself.
template <class T>
std::string schema_of(SchemaTable& table) {
  return detail_schema::write<T>(table);
}

/// A type that replies are made of: all of its fields are there.
#define HOLDFAST_GIVEN(Type, Name)                 \
  template <>                                      \
  struct SchemaName<Type> {                        \
    static constexpr std::string_view name = Name; \
    static constexpr bool taken = false;           \
  }
/// A type of requests: fields may be left out.
#define HOLDFAST_TAKEN(Type, Name)                 \
  template <>                                      \
  struct SchemaName<Type> {                        \
    static constexpr std::string_view name = Name; \
    static constexpr bool taken = true;            \
  }

HOLDFAST_TAKEN(Attribute, "Attribute");

/// As the codec writes it: which alternative it is, and its value.
template <>
struct SchemaName<AttributeValue> {
  static constexpr std::string_view name = "AttributeValue";
  static std::string write(SchemaTable& /*table*/) {
    return R"({"type":"array","items":{},"description":"the number of its type, and the value: )"
           R"(0 text, 1 list of keywords, 2 integer, 3 real, 4 boolean, 5 time"})";
  }
};

}  // namespace holdfast::server
