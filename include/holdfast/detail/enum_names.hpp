// The names of an enum's values, found without macros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast {

/// Which values of E are looked at for a name. Specialise it for an enum with values outside of this range;
/// a value without a name is written as its number.
template <class E>
struct EnumRange {
  static constexpr int min = -16;
  static constexpr int max = 239;
};

namespace detail {

/// Enums whose values may be any number of the underlying type: scoped ones, and those with a fixed type.
/// Others can't be looked at beyond their largest enumerator.
template <class E>
concept FixedEnum = std::is_enum_v<E> && requires { E{0}; };

template <class E>
constexpr std::int64_t clamp_to_enum(std::int64_t value) {
  using Limits = std::numeric_limits<std::underlying_type_t<E>>;
  if (value < 0 && !Limits::is_signed) return 0;
  if (Limits::digits < 63 && value > static_cast<std::int64_t>(Limits::max())) return Limits::max();
  if (Limits::digits < 63 && value < static_cast<std::int64_t>(Limits::min())) return Limits::min();
  return value;
}
template <class E>
inline constexpr std::int64_t enum_min = clamp_to_enum<E>(EnumRange<E>::min);
template <class E>
inline constexpr std::int64_t enum_max = clamp_to_enum<E>(EnumRange<E>::max);

// One instantiation for all values: the compiler prints them as a list.
template <class E, E... Values>
constexpr std::string_view pretty_values() {
  return __PRETTY_FUNCTION__;
}

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// `Color::red` -> `red`; a value without a name is printed as `(Color)4`, and gives nothing.
constexpr std::string_view name_in(std::string_view item) {
  std::size_t begin = item.size();
  while (begin > 0 && is_name_character(item[begin - 1])) --begin;
  const std::string_view name = item.substr(begin);
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? std::string_view{} : name;
}

template <class E, std::size_t... I>
constexpr auto find_enum_names(std::index_sequence<I...>) {
  std::array<std::string_view, sizeof...(I)> names{};
  std::string_view text = pretty_values<E, static_cast<E>(enum_min<E> + static_cast<std::int64_t>(I))...>();
  // clang: `[E = Color, Values = <Color::red, ...>]`   g++: `[with E = Color; E ...Values = {Color::red,
  // ...}; ...`
  text.remove_prefix(text.find("Values = ") + 10);
  int depth = 0;
  std::size_t begin = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; found < names.size(); ++i) {
    const char c = text[i];
    const bool ends_list = depth == 0 && (c == '>' || c == '}');
    if (ends_list || (depth == 0 && c == ',')) {
      names[found++] = name_in(text.substr(begin, i - begin));
      begin = i + 2;
    } else if (c == '<' || c == '(' || c == '{') {
      ++depth;
    } else if (c == '>' || c == ')' || c == '}') {
      --depth;
    }
  }
  return names;
}

/// The names of enum_min<E> to enum_max<E>, empty for values without one.
template <class E>
inline constexpr auto enum_names =
    find_enum_names<E>(std::make_index_sequence<static_cast<std::size_t>(enum_max<E> - enum_min<E> + 1)>{});

template <class E>
constexpr std::string_view enum_name(E value) {
  const auto number = static_cast<std::int64_t>(static_cast<std::underlying_type_t<E>>(value));
  if (number < enum_min<E> || number > enum_max<E>) return {};
  return enum_names<E>[static_cast<std::size_t>(number - enum_min<E>)];
}

}  // namespace detail
}  // namespace holdfast
