// The code of one activity without its types: how a worker begins it and is told of its end.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/activity_context.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::runtime {
class Executor;
}

namespace holdfast::detail {

class ActivityCall;

/// Told how an attempt ends.
class ActivityHost {
 public:
  /// Called from any thread; the first call for an attempt counts, later ones are ignored.
  virtual void ended(const std::shared_ptr<ActivityCall>& call, Result<Payload> result) = 0;

 protected:
  ~ActivityHost() = default;
};

/// Ends an attempt: called once, from any thread. Copies belong to the same attempt, and keep alive what its
/// code may use, also after its worker has stopped waiting for it.
class Completion {
 public:
  Completion(ActivityHost& host, std::shared_ptr<ActivityCall> call, std::shared_ptr<const void> owner)
      : host_(&host), owner_(std::move(owner)), call_(std::move(call)) {}

  void operator()(Result<Payload> result) const { host_->ended(call_, std::move(result)); }
  /// With the exception of the user's code.
  void fail(const std::exception_ptr& error) const;

 private:
  ActivityHost* host_;
  std::shared_ptr<const void> owner_;  // outlives the call
  std::shared_ptr<ActivityCall> call_;
};

/// One attempt to be run. Its members are valid as long as a copy of its Completion exists.
struct ActivityTask {
  ActivityContext& ctx;
  const Payload& input;
  runtime::Executor& threads;  ///< for code that blocks
  std::stop_token end{};       ///< fires when the grace after the stop token is over; for coroutines only
  OperationKey key{};          ///< its idempotency key
};

/// One registered activity. Shared by all threads: several attempts begin and run at once.
class ActivityCode {
 public:
  virtual ~ActivityCode() = default;
  /// Begins an attempt and returns; the code runs elsewhere.
  virtual void invoke(ActivityTask task, Completion completion) const = 0;
  /// Whether it holds no thread while it waits, and can be ended by ActivityTask::end.
  [[nodiscard]] virtual bool is_coroutine() const noexcept { return false; }
};

/// How long code has taken lately. Any thread.
class RecentTimes {
 public:
  void note(std::chrono::nanoseconds time) noexcept {
    constexpr std::int64_t kWeight = 8;  // how many times the mean is about
    const std::int64_t mean = mean_.load(std::memory_order_relaxed);
    mean_.store(mean + (time.count() - mean) / kWeight, std::memory_order_relaxed);
  }
  /// So short that waking a thread for it costs more. False as long as nothing is known.
  [[nodiscard]] bool are_brief() const noexcept {
    constexpr std::chrono::microseconds kBrief(50);
    return std::chrono::nanoseconds(mean_.load(std::memory_order_relaxed)) < kBrief;
  }

 private:
  std::atomic<std::int64_t> mean_ = 1'000'000;
};

/// Code that holds a thread of the worker from its beginning to its end.
class BlockingActivity : public ActivityCode {
 public:
  void invoke(ActivityTask task, Completion completion) const final;

 private:
  /// Throws what the user's function throws; an input that can't be decoded is an error.
  virtual Result<Payload> run(ActivityContext& ctx, const Payload& input) const = 0;

  mutable RecentTimes times_;
};

template <class F, class R, class... P>
class FunctionActivity final : public BlockingActivity {
 public:
  explicit FunctionActivity(F function) : function_(std::move(function)) {}

 private:
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

  F function_;
};

/// How an activity is run whose function returns R, and the type of its result. asio.hpp adds awaitables.
template <class R>
struct ActivityForm {
  using Value = R;
  template <class F, class... P>
  static std::shared_ptr<const ActivityCode> wrap(F function) {
    return std::make_shared<FunctionActivity<F, R, P...>>(std::move(function));
  }
};

/// Whether the function can be registered under a handle with the signature R(P...).
template <class F, class R, class... P>
constexpr bool fits_handle() {
  if constexpr (std::is_invocable_v<const F&, ActivityContext&, P...>) {
    using Value = typename ActivityForm<std::invoke_result_t<const F&, ActivityContext&, P...>>::Value;
    return std::is_void_v<R> || std::is_convertible_v<Value, R>;
  } else {
    return false;
  }
}

template <class Signature>
struct ActivitySignature;
template <class R, class... P>
struct ActivitySignature<R (*)(ActivityContext&, P...)> {
  template <class F, class... How>
  static std::shared_ptr<const ActivityCode> wrap(F function, How... how) {
    static_assert(((!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>) && ...),
                  "holdfast: an activity takes its inputs by value or by const reference");
    return ActivityForm<R>::template wrap<F, P...>(std::move(function), std::move(how)...);
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

/// A function object that makes its ActivityCode itself, such as asio_activity().
template <class F>
concept SaysHowToRun = requires(F f) {
  { std::move(f).activity_code() } -> std::same_as<std::shared_ptr<const ActivityCode>>;
};

/// From a function, or an object with one call operator, which is const since several threads call it at
/// once. `how` is passed to the ActivityForm of its result. Nothing comes of a null pointer.
template <class F, class... How>
std::shared_ptr<const ActivityCode> make_activity(F function, How... how) {
  if constexpr (SaysHowToRun<F>) {
    return std::move(function).activity_code();
  } else if constexpr (std::is_pointer_v<F>) {
    static_assert(is_activity<F>,
                  "holdfast: an activity looks like R name(ActivityContext& ctx, Inputs... in)");
    if (function == nullptr) return nullptr;
    if constexpr (is_activity<F>) return ActivitySignature<F>::wrap(function, std::move(how)...);
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
      if constexpr (fits)
        return ActivitySignature<decltype(&F::operator())>::wrap(std::move(function), std::move(how)...);
    }
  }
  return nullptr;
}

}  // namespace holdfast::detail
