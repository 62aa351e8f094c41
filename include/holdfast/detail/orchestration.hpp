// The code of one orchestration without its types: how the engine begins an execution and reads its result.
#pragma once

#include <holdfast/codec.hpp>
#include <holdfast/context.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/result.hpp>
#include <holdfast/task.hpp>

#include <coroutine>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

/// The outermost frame of an execution. The engine owns it.
struct RootFrame {
  std::coroutine_handle<> frame;
  PromiseBase* promise = nullptr;
  /// The result of a task that ended without an exception.
  Payload (*output)(PromiseBase& promise) = nullptr;
};

class FrameExecutor;

/// One registered orchestration. Immutable: shared by all executions and threads.
class OrchestrationCode {
 public:
  virtual ~OrchestrationCode() = default;
  /// Makes the frame, not yet run; fails when the input can't be decoded.
  virtual Result<RootFrame> begin(Context& ctx, const Payload& input) const = 0;
  /// Where its frames live, always the same; null: in place, in whichever thread runs a turn.
  [[nodiscard]] virtual FrameExecutor* executor() const noexcept { return nullptr; }
};

/// Says what is wrong with an input of type P, if anything is.
template <class P>
consteval bool check_parameter() {
  static_assert(
      !std::is_reference_v<P>,
      "holdfast: an orchestration takes its inputs by value; a reference would dangle as soon as the "
      "coroutine is suspended (write Order instead of const Order&)");
  static_assert(
      !std::is_pointer_v<P>,
      "holdfast: a pointer can't be the input of an orchestration; it means nothing after a restart "
      "(pass the value)");
  static_assert(
      !std::is_same_v<P, std::string_view>,
      "holdfast: a std::string_view can't be the input of an orchestration; it does not own its text "
      "(write std::string)");
  return OwnsItsValue<P>;
}

template <class R, class... P>
class FunctionCode final : public OrchestrationCode {
 public:
  using Function = Task<R> (*)(Context&, P...);
  explicit FunctionCode(Function function) noexcept : function_(function) {}

  Result<RootFrame> begin(Context& ctx, const Payload& input) const override {
    Result<std::tuple<P...>> arguments = decode_args<P...>(input);
    if (!arguments) return Unexpected(std::move(arguments).error());
    Task<R> task = std::apply([&](P&... p) { return function_(ctx, std::move(p)...); }, *arguments);
    auto frame = task.release();
    return RootFrame{frame, &frame.promise(), &output};
  }

 private:
  static Payload output(PromiseBase& promise) {
    if constexpr (std::is_void_v<R>) {
      return Payload{kJsonEncoding, "null"};
    } else {
      return encode(*static_cast<TaskPromise<R>&>(promise).value);
    }
  }
  Function function_;
};

template <class F>
inline constexpr bool is_orchestration = false;
template <class R, class... P>
inline constexpr bool is_orchestration<Task<R> (*)(Context&, P...)> = true;

/// Whether a function, or a lambda without captures, is Task<R>(Context&, P...).
template <class F, class R, class... P>
inline constexpr bool has_signature =
    std::is_same_v<decltype(+std::declval<F>()), Task<R> (*)(Context&, P...)>;

template <class R, class... P>
std::shared_ptr<const OrchestrationCode> wrap_function(Task<R> (*function)(Context&, P...)) {
  // All inputs are checked; if one is wrong, the compiler prints its message and no further errors.
  constexpr bool fine = (check_parameter<P>() & ... & true);
  if constexpr (fine) {
    return std::make_shared<FunctionCode<R, P...>>(function);
  } else {
    return nullptr;
  }
}

/// From a function, or a lambda without captures. Nothing comes of a null pointer.
template <class F>
std::shared_ptr<const OrchestrationCode> make_orchestration(F function) {
  if constexpr (std::is_pointer_v<F>) {
    if (function == nullptr) return nullptr;
  }
  constexpr bool is_function = requires { +function; };
  static_assert(is_function,
                "holdfast: an orchestration is a function, or a lambda without captures and auto parameters; "
                "what it needs comes in as its input");
  if constexpr (is_function) {
    constexpr bool fits = is_orchestration<decltype(+function)>;
    static_assert(fits, "holdfast: an orchestration looks like Task<R> name(Context& ctx, Inputs... in)");
    if constexpr (fits) return wrap_function(+function);
  }
  return nullptr;
}

}  // namespace holdfast::detail
