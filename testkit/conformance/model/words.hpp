// What stores answer, in words: for people who compare two of them. Members that have their default are left
// out.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/detail/fields.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::testing::model {

/// The high half of every token that programs make; the low half says which step made it.
inline constexpr std::uint64_t kTokenMark = 0x57e9;

std::string words(std::string_view text);  ///< in quotes, and bytes that are no text as \xff
inline std::string words(const std::string& text) { return words(std::string_view(text)); }
std::string words(Duration duration);  ///< "1.5s", "never"
std::string words(CalendarTime time);  ///< counted from where clocks of tests begin
std::string words(const StoreError& error);
std::string words_of_token(std::uint64_t high, std::uint64_t low);

inline std::string words(bool value) { return value ? "yes" : "no"; }
inline std::string words(std::monostate) { return "ok"; }
template <std::integral T>
std::string words(T value) {
  return std::to_string(value);
}
inline std::string words(double value) { return std::to_string(value); }
template <class E>
  requires std::is_enum_v<E>
std::string words(E value) {
  return std::string(holdfast::detail::enum_name(value));
}
template <class Tag>
std::string words(Number<Tag> number) {
  return to_string(number);
}
template <class Tag>
std::string words(Token<Tag> token) {
  return words_of_token(token.high, token.low);
}

// All that contain others: declared before they are defined, because they contain each other.
template <class T>
std::string words(const std::optional<T>& value);
template <class T>
std::string words(const std::vector<T>& values);
template <class T, class Less>
std::string words(const std::set<T, Less>& values);
template <class K, class V>
std::string words(const std::map<K, V>& values);
template <class... T>
std::string words(const std::variant<T...>& value);
template <class T>
std::string words(const StoreResult<T>& result);

template <class T>
concept Struct = std::is_class_v<T> && std::is_aggregate_v<T>;

template <Struct T>
std::string words(const T& object) {
  std::string text;
  const T plain{};
  const auto members = holdfast::detail::fields_of(object);
  const auto defaults = holdfast::detail::fields_of(plain);
  const auto add = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if (std::get<I>(members) == std::get<I>(defaults)) return;
    if (!text.empty()) text += ", ";
    text.append(holdfast::detail::field_names<T>[I]).append(": ").append(words(std::get<I>(members)));
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (add(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<holdfast::detail::field_count<T>>{});
  return "{" + text + "}";
}

template <class T>
std::string words(const std::optional<T>& value) {
  return value ? words(*value) : "none";
}

/// "[1, 2]"
template <class Range>
std::string words_of_range(const Range& values) {
  std::string text;
  for (const auto& value : values) {
    if (!text.empty()) text += ", ";
    text += words(value);
  }
  return "[" + text + "]";
}
template <class T>
std::string words(const std::vector<T>& values) {
  return words_of_range(values);
}
template <class T, class Less>
std::string words(const std::set<T, Less>& values) {
  return words_of_range(values);
}
template <class K, class V>
std::string words(const std::map<K, V>& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    if (!text.empty()) text += ", ";
    text.append(words(key)).append(": ").append(words(value));
  }
  return "{" + text + "}";
}

template <class... T>
std::string words(const std::variant<T...>& value) {
  return std::visit([](const auto& held) { return words(held); }, value);
}

template <class T>
std::string words(const StoreResult<T>& result) {
  return result ? words(*result) : words(result.error());
}

}  // namespace holdfast::testing::model
