// Activity<R(P...)>: a typed name for an activity, shared by the code that calls it and the worker that runs
// it.
//
//   inline constexpr Activity<Receipt(Order)> charge{"charge", {.queue = "payments", .timeout = 30s}};
//
//   Receipt receipt = co_await ctx.activity(charge, order);
#pragma once

#include <holdfast/options.hpp>

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast {

namespace detail {

/// Types that own their value, so that it can go to another process: no references, pointers or views.
template <class T>
concept OwnsItsValue =
    !std::is_reference_v<T> && !std::is_pointer_v<T> && !std::is_same_v<T, std::string_view>;

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
/// g++ 12 destroys a temporary aggregate twice when it shares an expression with co_await.
template <class T>
concept SafeInput = std::is_lvalue_reference_v<T> || !std::is_aggregate_v<std::remove_cvref_t<T>> ||
                    std::is_trivially_destructible_v<std::remove_cvref_t<T>>;
/// The same for lambdas whose captures have a destructor.
template <class T>
concept SafeFunction = std::is_lvalue_reference_v<T> || std::is_trivially_destructible_v<T>;
#else
template <class T>
concept SafeInput = true;
template <class T>
concept SafeFunction = true;
#endif

template <class... In>
constexpr void check_inputs() {
  static_assert(
      (SafeInput<In> && ...),
      "holdfast: GCC 12 destroys a temporary aggregate twice in an expression with co_await; pass a named "
      "variable; inputs are encoded, not moved");
}

template <class...>
inline constexpr bool always_false = false;

/// Whether inputs of the first types can be given to parameters of the second ones: as many, each
/// convertible.
template <class... T>
struct Types {};
template <class In, class P>
inline constexpr bool fits = false;
template <class... In, class... P>
  requires(sizeof...(In) == sizeof...(P))
inline constexpr bool fits<Types<In...>, Types<P...>> = (std::convertible_to<In, P> && ...);

/// Only an input in bare braces converts to it: overloads that take it give the error message for that
/// mistake. They are more const than those that take options, since g++ 12 converts
/// `{.id = "a", .version = "b"}` to both, and has to prefer options.
struct BareBraces {
  template <class T>
  BareBraces(std::initializer_list<T>) {
    explain<T>();
  }
  template <class First, class Second, class... Rest>
  BareBraces(First&&, Second&&, Rest&&...) {
    explain<First>();
  }

 private:
  template <class T>
  static constexpr void explain() {
    static_assert(always_false<T>,
                  "holdfast: braces alone don't say what type an input has; name it first (const Order "
                  "order{...};), and write options with the names of their members ({.queue = \"gpu\"})");
  }
};

}  // namespace detail

template <class Signature>
struct Activity {
  static_assert(detail::always_false<Signature>,
                "holdfast: the type of an activity is its signature, as in Activity<Receipt(Order)>");
};

template <class R, class... P>
struct Activity<R(P...)> {
  static_assert(detail::OwnsItsValue<R> && (detail::OwnsItsValue<P> && ...),
                "holdfast: the inputs and the result of an activity travel to another process; write "
                "std::string instead of std::string_view, and values instead of references and pointers");
  std::string_view name{};
  ActivityOptions options{};
};

}  // namespace holdfast
