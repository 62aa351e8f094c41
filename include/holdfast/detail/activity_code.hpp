// The code of one activity without its types: how a worker runs it.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/activity_context.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/result.hpp>

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

/// One registered activity. Shared by all threads: its function is called by several at once.
class ActivityCode {
 public:
  virtual ~ActivityCode() = default;
  /// Runs it to its end. Throws what the user's function throws; an input that can't be decoded is an error.
  virtual Result<Payload> run(ActivityContext& ctx, const Payload& input) const = 0;
};

template <class F, class R, class... P>
class FunctionActivity final : public ActivityCode {
 public:
  explicit FunctionActivity(F function) : function_(std::move(function)) {}

  Result<Payload> run(ActivityContext& ctx, const Payload& input) const override {
    Result<std::tuple<std::remove_cvref_t<P>...>> arguments = decode_args<std::remove_cvref_t<P>...>(input);
    if (!arguments) return Unexpected(std::move(arguments).error());
    return std::apply(
        [&](auto&... p) -> Payload {
          if constexpr (std::is_void_v<R>) {
            std::invoke(function_, ctx, static_cast<P>(std::move(p))...);
            return Payload{kJsonEncoding, "null"};
          } else {
            return encode(std::invoke(function_, ctx, static_cast<P>(std::move(p))...));
          }
        },
        *arguments);
  }

 private:
  F function_;
};

template <class Signature>
struct ActivitySignature;
template <class R, class... P>
struct ActivitySignature<R (*)(ActivityContext&, P...)> {
  template <class F>
  static std::shared_ptr<const ActivityCode> wrap(F function) {
    static_assert(((!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>) && ...),
                  "holdfast: an activity takes its inputs by value or by const reference");
    return std::make_shared<FunctionActivity<F, R, P...>>(std::move(function));
  }
};
template <class C, class R, class... P>
struct ActivitySignature<R (C::*)(ActivityContext&, P...)>
    : ActivitySignature<R (*)(ActivityContext&, P...)> {};
template <class C, class R, class... P>
struct ActivitySignature<R (C::*)(ActivityContext&, P...) const>
    : ActivitySignature<R (*)(ActivityContext&, P...)> {};

template <class F>
inline constexpr bool is_activity = false;
template <class R, class... P>
inline constexpr bool is_activity<R (*)(ActivityContext&, P...)> = true;
template <class C, class R, class... P>
inline constexpr bool is_activity<R (C::*)(ActivityContext&, P...) const> = true;

/// From a function, or an object with one call operator that is const: it runs in several threads at once.
template <class F>
std::shared_ptr<const ActivityCode> make_activity(F function) {
  if constexpr (std::is_pointer_v<F>) {
    static_assert(is_activity<F>,
                  "holdfast: an activity looks like R name(ActivityContext& ctx, Inputs... in)");
    if constexpr (is_activity<F>) return ActivitySignature<F>::wrap(function);
  } else {
    constexpr bool callable = requires { &F::operator(); };
    static_assert(
        callable,
        "holdfast: an activity is a function or a lambda R(ActivityContext& ctx, Inputs... in), without "
        "auto parameters");
    if constexpr (callable) {
      constexpr bool fits = is_activity<decltype(&F::operator())>;
      static_assert(
          fits,
          "holdfast: an activity looks like R(ActivityContext& ctx, Inputs... in), and is not mutable: "
          "several threads call it at once");
      if constexpr (fits) return ActivitySignature<decltype(&F::operator())>::wrap(std::move(function));
    }
  }
  return nullptr;
}

}  // namespace holdfast::detail
