// Orchestration<R(P...)>: a typed name for an orchestration, shared by the code that starts it and the worker
// that runs it.
//
//   inline constexpr Orchestration<Receipt(Order)> sell{"sell"};
//
//   rt.orchestration(sell, sell_code);                                       checked when this is compiled
//   Receipt receipt = client.start(sell, {.id = "order-7"}, order).wait();   and so is this
//   Receipt receipt = co_await ctx.child(sell, order);
#pragma once

#include <holdfast/activity.hpp>

#include <string_view>

namespace holdfast {

template <class Signature>
struct Orchestration {
  static_assert(
      detail::always_false<Signature>,
      "holdfast: the type of an orchestration is its signature, as in Orchestration<Receipt(Order)>");
};

template <class R, class... P>
struct Orchestration<R(P...)> {
  static_assert(
      detail::OwnsItsValue<R> && (detail::OwnsItsValue<P> && ...),
      "holdfast: the inputs and the result of an orchestration are stored; write std::string instead of "
      "std::string_view, and values instead of references and pointers");
  std::string_view name{};
};

}  // namespace holdfast
