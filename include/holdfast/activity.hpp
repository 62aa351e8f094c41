// Activity<R(P...)>: a typed name for an activity, shared by the code that calls it and the worker that runs
// it.
//
//   inline constexpr Activity<Receipt(Order)> charge{"charge", {.queue = "payments", .timeout = 30s}};
//
//   Receipt receipt = co_await ctx.activity(charge, order);
#pragma once

#include <holdfast/options.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast {

namespace detail {

/// Values that may go from one process to another: owned, and not pointers into this one.
template <class T>
concept OwnsItsValue =
    !std::is_reference_v<T> && !std::is_pointer_v<T> && !std::is_same_v<T, std::string_view>;

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
/// g++ 12 destroys such a temporary twice when it stands in an expression with co_await.
template <class T>
concept SafeInput = std::is_lvalue_reference_v<T> || !std::is_aggregate_v<std::remove_cvref_t<T>> ||
                    std::is_trivially_destructible_v<std::remove_cvref_t<T>>;
#else
template <class T>
concept SafeInput = true;
#endif

template <class... In>
constexpr void check_inputs() {
  static_assert(
      (SafeInput<In> && ...),
      "holdfast: GCC 12 destroys a temporary aggregate twice in an expression with co_await; pass a named "
      "variable; inputs are encoded, not moved");
}

}  // namespace detail

template <class Signature>
struct Activity;

template <class R, class... P>
struct Activity<R(P...)> {
  static_assert((detail::OwnsItsValue<P> && ...),
                "holdfast: the inputs of an activity travel to another process; write std::string instead of "
                "std::string_view, and values instead of references and pointers");
  std::string_view name{};
  ActivityOptions options{};
};

}  // namespace holdfast
