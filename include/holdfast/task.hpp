// Task<T>: the coroutine type of orchestrations and of their helper functions. Lazy: it runs when it is
// awaited.
//
//   Task<int> total(Context& ctx, std::vector<std::string> urls) {
//     int sum = 0;
//     for (auto& url : urls) sum += co_await ctx.activity<int>("count", url);
//     co_return sum;
//   }
#pragma once

#include <holdfast/detail/blocks.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/result.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

template <class T = void>
class Task;

namespace detail {

/// Stands for void where a value is needed.
template <class T>
using Lifted = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// What a Task can await. Anything else could not be replayed.
template <class A>
concept Durable = requires { typename std::remove_cvref_t<A>::HoldfastAwaitable; };

/// Operations and tasks are awaited as rvalues; what may be awaited again, as rvalue or lvalue.
template <class A>
concept AwaitedAs =
    Durable<A> && requires(A&& awaitable) { static_cast<A&&>(awaitable).operator co_await(); };

/// The failure that an exception stands for.
Failure failure_of(const std::exception_ptr& error) noexcept;
void rethrow_if_cancelled(const std::exception_ptr& error);

/// What an await gives: the value, with failures thrown; a Result, with Cancelled thrown; or always a Result.
enum class Awaits : std::uint8_t { value, result, settled };

/// A finished task wakes the frame that awaits it, or completes its Future.
struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
    finished(frame.promise());
  }
  void await_resume() const noexcept {}
  static void finished(PromiseBase& promise) noexcept;
};

/// With this base frames live in blocks.
struct TaskPromiseBase : PromiseBase, InBlocks {
  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  template <class A>
  decltype(auto) await_transform(A&& awaitable,
                                 std::source_location at = std::source_location::current()) noexcept {
    where = at;
    static_assert(Durable<A>,
                  "holdfast: an orchestration can only await operations of its Context, Futures, Tasks and "
                  "combinations of these; do other work in an activity");
    static_assert(!Durable<A> || AwaitedAs<A>,
                  "holdfast: an operation or Task is used up by awaiting it; write co_await std::move(it)");
    if constexpr (AwaitedAs<A>) {
      return static_cast<A&&>(awaitable);
    } else {
      return std::suspend_never();  // one error is enough
    }
  }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;

  Task<T> get_return_object() noexcept;
  template <class U = T>
    requires std::constructible_from<T, U&&>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

[[noreturn]] void throw_moved_away();

/// Runs a task up to its first wait, on the stack of the frame that awaits it. True when it has not ended
/// then.
bool await_task(std::coroutine_handle<> task, PromiseBase& promise, FrameWaiter& waiter,
                std::coroutine_handle<> frame, PromiseBase& parent);

template <class T>
struct TaskAwaiter {
  std::coroutine_handle<TaskPromise<T>> task;
  FrameWaiter waiter{};

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    if (!task) throw_moved_away();
    return await_task(task, task.promise(), waiter, frame, frame.promise());
  }
  T await_resume() { return task.promise().take(); }
};

template <class T, Awaits kAs>
struct TaskResultAwaiter : TaskAwaiter<T> {
  Result<T> await_resume() {
    TaskPromise<T>& promise = this->task.promise();
    if constexpr (kAs == Awaits::result) rethrow_if_cancelled(promise.error);
    if (promise.error) return Unexpected(failure_of(promise.error));
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::move(*promise.value);
    }
  }
};

}  // namespace detail

/// A coroutine that has not run yet. Await it once: gives its value, or throws its exception. Destroying it
/// destroys its frame; operations that it waits for are cancelled.
template <class T>
class [[nodiscard("a Task does nothing until it is awaited")]] Task {
 public:
  using HoldfastAwaitable = void;
  using value_type = T;
  using promise_type = detail::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle frame) noexcept : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

  detail::TaskAwaiter<T> operator co_await() && noexcept { return {frame_}; }
  /// Awaiting this gives a Result: a failure is a value. Cancelled is rethrown.
  auto result() && noexcept;
  /// Awaiting this gives a Result in every case: Cancelled is a failure of category cancelled.
  auto settled() && noexcept;

  /// For the engine: the frame, which the caller now owns.
  [[nodiscard]] Handle release() noexcept { return std::exchange(frame_, {}); }
  [[nodiscard]] Handle frame() const noexcept { return frame_; }

 private:
  Handle frame_;
};

namespace detail {

template <class T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

/// Hands a task to the core, which runs it up to its first wait. The caller owns the state.
template <class T>
OpState* start_task(Core& core, Task<T> task) {
  const auto frame = task.frame();
  if (!frame) throw_moved_away();
  OpState* const state = core.start(frame, frame.promise());
  static_cast<void>(task.release());
  return state;
}

/// The await of a Task's result; refers to the task.
template <class T, Awaits kAs>
struct TaskResult {
  using HoldfastAwaitable = void;
  std::coroutine_handle<TaskPromise<T>> frame;
  TaskResultAwaiter<T, kAs> operator co_await() const noexcept { return {{frame}}; }
};

}  // namespace detail

template <class T>
auto Task<T>::result() && noexcept {
  return detail::TaskResult<T, detail::Awaits::result>{frame_};
}
template <class T>
auto Task<T>::settled() && noexcept {
  return detail::TaskResult<T, detail::Awaits::settled>{frame_};
}

}  // namespace holdfast
