// The fields of a type: references and names, from HOLDFAST_FIELDS where the type has it, else by reflection.
#pragma once

#include <holdfast/detail/reflect.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

/// Put it into a class whose members reflection can't see (private ones, those of a base class, C arrays):
///
///   class Account : public Entity {
///     HOLDFAST_FIELDS(id, owner_, balance_)
///
/// These are then its fields, by these names. The class needs a default constructor.
#define HOLDFAST_FIELDS(...)                                                          \
  friend struct ::holdfast::detail::FieldAccess;                                      \
  static constexpr std::string_view holdfast_field_names() { return #__VA_ARGS__; }   \
  constexpr auto holdfast_fields() { return ::holdfast::detail::refer(__VA_ARGS__); } \
  constexpr auto holdfast_fields() const { return ::holdfast::detail::refer(__VA_ARGS__); }

/// Put it into a class to make these fields required: without one of them a value is not decoded. All others
/// take the default that they have in the class when they are missing.
#define HOLDFAST_REQUIRED(...)                   \
  friend struct ::holdfast::detail::FieldAccess; \
  static constexpr std::string_view holdfast_required_names() { return #__VA_ARGS__; }

namespace holdfast::detail {

template <class... T>
constexpr std::tuple<T&...> refer(T&... members) noexcept {
  return {members...};
}

// The macros above may stand in a private section.
struct FieldAccess {
  template <class T>
  static constexpr auto fields(T& object) -> decltype(object.holdfast_fields()) {
    return object.holdfast_fields();
  }
  template <class T>
  static constexpr auto names() -> decltype(T::holdfast_field_names()) {
    return T::holdfast_field_names();
  }
  template <class T>
  static constexpr auto required() -> decltype(T::holdfast_required_names()) {
    return T::holdfast_required_names();
  }
};

template <class T>
concept ListsFields = requires { FieldAccess::names<T>(); };
template <class T>
concept ListsRequired = requires { FieldAccess::required<T>(); };

// "a, b_" -> {"a", "b_"}
template <std::size_t Count>
constexpr std::array<std::string_view, Count> split_names(std::string_view list) {
  std::array<std::string_view, Count> names{};
  for (auto& name : names) {
    const std::size_t comma = std::min(list.find(','), list.size());
    name = list.substr(0, comma);
    list.remove_prefix(comma < list.size() ? comma + 1 : list.size());
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  }
  return names;
}
constexpr std::size_t count_names(std::string_view list) {
  std::size_t names = 1;
  for (const char c : list) names += c == ',' ? 1 : 0;
  return names;
}

template <class T>
constexpr std::size_t count_fields() {
  if constexpr (ListsFields<T>) {
    return count_names(FieldAccess::names<T>());
  } else {
    return member_count<T>;
  }
}
template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

template <class T>
constexpr auto list_field_names() {
  if constexpr (ListsFields<T>) {
    return split_names<field_count<T>>(FieldAccess::names<T>());
  } else {
    return aggregate_member_names<T>;
  }
}
template <class T>
inline constexpr std::array<std::string_view, field_count<T>> field_names = list_field_names<T>();

/// References to the fields of `object`, in the order of field_names.
template <class T>
constexpr auto fields_of(T& object) {
  using Plain = std::remove_const_t<T>;
  if constexpr (ListsFields<Plain>) {
    return FieldAccess::fields(object);
  } else {
    return bind_members<field_count<Plain>>(object);
  }
}
template <class T, std::size_t I>
using FieldType = std::remove_cvref_t<std::tuple_element_t<I, decltype(fields_of(std::declval<T&>()))>>;

/// The names that HOLDFAST_REQUIRED lists.
template <class T>
constexpr auto list_required_names() {
  if constexpr (ListsRequired<T>) {
    return split_names<count_names(FieldAccess::required<T>())>(FieldAccess::required<T>());
  } else {
    return std::array<std::string_view, 0>{};
  }
}
template <class T>
inline constexpr auto required_names = list_required_names<T>();

template <class Names>
constexpr bool contains_name(const Names& names, std::string_view name) {
  for (const std::string_view one : names) {
    if (one == name) return true;
  }
  return false;
}
template <class T>
constexpr bool find_required_names() {
  for (const std::string_view name : required_names<T>) {
    if (!contains_name(field_names<T>, name)) return false;
  }
  return true;
}
template <class T>
inline constexpr bool has_required_names = find_required_names<T>();

/// A bit for each field that must be there: those that are listed, and those that a T can't be made without.
template <class T>
constexpr std::uint64_t find_required_fields() {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < field_count<T>; ++i) {
    const bool listed = contains_name(required_names<T>, field_names<T>[i]);
    bool needed = false;
    if constexpr (!ListsFields<T>) needed = i < members_to_give<T>;
    if (listed || needed) mask |= std::uint64_t{1} << i;
  }
  return mask;
}
template <class T>
inline constexpr std::uint64_t required_fields = find_required_fields<T>();

}  // namespace holdfast::detail
