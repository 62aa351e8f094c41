// What an aggregate is made of, found without macros: how many members, references to them, their names.
#pragma once

#include <holdfast/detail/bind_members.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

// ---- how many members ---------------------------------------------------------------------------

// Stands for any initialiser. Only ever used unevaluated; the bodies are for compilers that look at them
// anyway.
struct AnyValue {
  template <class T>
  operator T() const noexcept {
    std::terminate();
  }
};
// Stands for a base class of T, and for nothing else.
template <class T>
struct AnyBase {
  template <class Base>
    requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
  operator Base() const noexcept {
    std::terminate();
  }
};

template <class T, std::size_t... I>
constexpr bool initialises_with(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyValue{})...}; };
}
template <class T, std::size_t Count>
inline constexpr bool takes_initialisers = initialises_with<T>(std::make_index_sequence<Count>{});

// T takes every number of initialisers from the fewest (members without a default have to be given) to the
// most (all of them). Searched from below, where most types end.
template <class T, std::size_t Count = 0>
constexpr std::size_t fewest_initialisers() {
  if constexpr (Count > kMaxMembers || takes_initialisers<T, Count>) {
    return Count;
  } else {
    return fewest_initialisers<T, Count + 1>();
  }
}
template <class T, std::size_t Count>
constexpr std::size_t most_initialisers() {
  if constexpr (Count <= kMaxMembers && takes_initialisers<T, Count + 1>) {
    return most_initialisers<T, Count + 1>();
  } else {
    return Count;
  }
}

/// How many members of T, from the first on, have no default. kMaxMembers + 1: T can't be made at all.
template <class T>
inline constexpr std::size_t members_to_give = fewest_initialisers<T>();
template <class T>
inline constexpr std::size_t member_count = most_initialisers<T, members_to_give<T>>();

// Base classes stand before the members.
template <class T, std::size_t First, std::size_t... Rest>
constexpr bool starts_with_base(std::index_sequence<First, Rest...>) {
  return requires { T{AnyBase<T>{}, (static_cast<void>(Rest), AnyValue{})...}; };
}
template <class T>
constexpr bool starts_with_base(std::index_sequence<>) {
  return false;
}
template <class T>
inline constexpr bool has_base = starts_with_base<T>(std::make_index_sequence<member_count<T>>{});

// A C array swallows several initialisers, so `{}` in its place leaves too many for the members after it.
template <class T, std::size_t... Before, std::size_t... After>
constexpr bool has_array_at(std::index_sequence<Before...>, std::index_sequence<After...>) {
  constexpr bool takes_braces = requires { T{(static_cast<void>(Before), AnyValue{})..., {}}; };
  constexpr bool as_one_member = requires {
    T{(static_cast<void>(Before), AnyValue{})..., {}, (static_cast<void>(After), AnyValue{})...};
  };
  return takes_braces && !as_one_member;
}
template <class T, std::size_t... I>
constexpr bool has_array(std::index_sequence<I...>) {
  constexpr std::size_t count = sizeof...(I);
  return (has_array_at<T>(std::make_index_sequence<I>{}, std::make_index_sequence<count - 1 - I>{}) || ...);
}
template <class T>
inline constexpr bool has_c_array = has_array<T>(std::make_index_sequence<member_count<T>>{});

/// Whether the members of T can be found without the user's help.
template <class T>
constexpr bool is_reflectable() {
  if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
    if constexpr (member_count<T> <= kMaxMembers) return !has_base<T> && !has_c_array<T>;
  }
  return false;
}

// ---- their names --------------------------------------------------------------------------------

// An object that is never constructed: only the addresses of its members are used.
template <class T>
union Unmade {
  char none;
  T value;
  constexpr Unmade() noexcept : none() {}
  constexpr ~Unmade() {}
};
template <class T>
inline constexpr Unmade<T> unmade{};

// A class around the pointer: clang prints the name of a member only in there.
template <class T>
struct MemberPointer {
  const T* pointer;
};
template <class T>
MemberPointer(const T*) -> MemberPointer<T>;

template <auto Value>
constexpr std::string_view pretty_function() {
  return __PRETTY_FUNCTION__;
}

// clang: `... [Value = MemberPointer<int>{&unmade.value.name}]`
// g++:   `... [with auto Value = MemberPointer<int>{(& unmade<T>.Unmade<T>::value.T::name)}; ...`
template <auto Pointer>
constexpr std::string_view member_name() {
  constexpr std::string_view text = pretty_function<Pointer>();
#if defined(__clang__)
  constexpr std::size_t end = text.rfind("}]");
  constexpr std::size_t begin = text.rfind('.', end) + 1;
#else
  constexpr std::size_t end = text.find(")}", text.find("unmade<"));
  constexpr std::size_t begin = text.rfind("::", end) + 2;
#endif
  return text.substr(begin, end - begin);
}

template <class T, std::size_t... I>
constexpr auto find_member_names(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{
      member_name<MemberPointer{&std::get<I>(bind_members<sizeof...(I)>(unmade<T>.value))}>()...};
}

template <class T>
inline constexpr auto aggregate_member_names =
    find_member_names<T>(std::make_index_sequence<member_count<T>>{});

}  // namespace holdfast::detail
