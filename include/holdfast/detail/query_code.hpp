// The handler of a query without its types.
#pragma once

#include <holdfast/codec.hpp>
#include <holdfast/detail/describe.hpp>
#include <holdfast/result.hpp>
#include <holdfast/task.hpp>

#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

/// One registered handler. It belongs to an execution, and is called between its turns.
class QueryCode {
 public:
  virtual ~QueryCode() = default;
  /// `state`: the execution's state that it reads; null for one that has none. Throws what the handler
  /// throws; arguments that can't be decoded are an error.
  virtual Result<Payload> ask(const void* state, const Payload& arguments) const = 0;
};

template <class P>
inline constexpr bool is_read_only_parameter =
    !std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>;

/// What is wrong with the result of a handler, if anything is.
template <class R>
consteval bool check_answer() {
  static_assert(!Durable<R>,
                "holdfast: a query handler is no coroutine: it returns its answer at once, from what the "
                "orchestration knows");
  static_assert(!std::is_void_v<R>, "holdfast: a query handler returns its answer, and not void");
  return !Durable<R> && !std::is_void_v<R>;
}

template <class F, class R, class... P>
class PlainQuery final : public QueryCode {
 public:
  explicit PlainQuery(F function) : function_(std::move(function)) {}
  Result<Payload> ask(const void* /*state*/, const Payload& arguments) const override {
    Result<std::tuple<std::remove_cvref_t<P>...>> decoded = decode_args<std::remove_cvref_t<P>...>(arguments);
    if (!decoded) return Unexpected(std::move(decoded).error());
    return std::apply(
        [&](auto&... p) { return encode(std::invoke(function_, static_cast<P>(std::move(p))...)); },
        *decoded);
  }

 private:
  F function_;
};

template <class F, class S, class R, class... P>
class StateQuery final : public QueryCode {
 public:
  explicit StateQuery(F function) : function_(std::move(function)) {}
  Result<Payload> ask(const void* state, const Payload& arguments) const override {
    Result<std::tuple<std::remove_cvref_t<P>...>> decoded = decode_args<std::remove_cvref_t<P>...>(arguments);
    if (!decoded) return Unexpected(std::move(decoded).error());
    const S& read = *static_cast<const S*>(state);
    return std::apply(
        [&](auto&... p) { return encode(std::invoke(function_, read, static_cast<P>(std::move(p))...)); },
        *decoded);
  }

 private:
  F function_;
};

template <class Signature>
struct QuerySignature;
template <class R, class... P>
struct QuerySignature<R (*)(P...)> {
  template <class F>
  static std::unique_ptr<const QueryCode> plain(F function) {
    constexpr bool reads = (is_read_only_parameter<P> && ...);
    static_assert(reads, "holdfast: a query handler takes its arguments by value or by const reference");
    constexpr bool answers = check_answer<R>();
    if constexpr (reads && answers) return std::make_unique<PlainQuery<F, R, P...>>(std::move(function));
    return nullptr;
  }
};
template <class C, class R, class... P>
struct QuerySignature<R (C::*)(P...) const> : QuerySignature<R (*)(P...)> {};

template <class S, class Signature>
struct StateQuerySignature {
  template <class F>
  static std::unique_ptr<const QueryCode> over_state(F) {
    static_assert(!std::is_same_v<S, S>,
                  "holdfast: a query handler over a state looks like Answer(const S& state, Arguments...): "
                  "it may not change what it reads");
    return nullptr;
  }
};
template <class S, class R, class... P>
struct StateQuerySignature<S, R (*)(const S&, P...)> {
  template <class F>
  static std::unique_ptr<const QueryCode> over_state(F function) {
    constexpr bool reads = (is_read_only_parameter<P> && ...);
    static_assert(reads, "holdfast: a query handler takes its arguments by value or by const reference");
    constexpr bool answers = check_answer<R>();
    if constexpr (reads && answers) return std::make_unique<StateQuery<F, S, R, P...>>(std::move(function));
    return nullptr;
  }
};

template <class F>
inline constexpr bool is_const_call = false;
template <class C, class R, class... P>
inline constexpr bool is_const_call<R (C::*)(P...) const> = true;

/// From a function, or a lambda that is not mutable. Nothing comes of what does not compile.
template <class F>
std::unique_ptr<const QueryCode> make_query(F function) {
  if constexpr (std::is_pointer_v<F>) {
    return QuerySignature<F>::plain(function);
  } else {
    constexpr bool callable = requires { &F::operator(); };
    static_assert(callable,
                  "holdfast: a query handler is a function or a lambda Answer(Arguments...), without auto "
                  "parameters");
    if constexpr (callable) {
      constexpr bool reads = is_const_call<decltype(&F::operator())>;
      static_assert(reads, "holdfast: a query handler changes nothing, so it can't be a mutable lambda");
      if constexpr (reads) return QuerySignature<decltype(&F::operator())>::plain(std::move(function));
    }
    return nullptr;
  }
}

/// The same for a handler over the state of an execution, which it may outlive the code with.
template <class S, class F>
std::unique_ptr<const QueryCode> make_state_query(F function) {
  constexpr bool is_function = requires { +function; };
  static_assert(is_function,
                "holdfast: a query handler over a state answers after the end of the code too, so it can't "
                "have captures (nor auto parameters); keep what it needs in the state");
  if constexpr (is_function) return StateQuerySignature<S, decltype(+function)>::over_state(+function);
  return nullptr;
}

}  // namespace holdfast::detail
