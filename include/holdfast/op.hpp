// Op<T> and Future<T>: a durable operation before and after it is started.
//
//   co_await ctx.activity<int>("count", url)                              an int; failures are thrown
//   co_await ctx.activity<int>("count", url).result()                     a Result<int>; Cancelled is thrown
//   co_await ctx.activity<int>("count", url).settled()                    a Result<int> in every case
//   Future<int> later = ctx.activity<int>("count", url).start();          runs while the code goes on
#pragma once

#include <holdfast/codec.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/result.hpp>
#include <holdfast/task.hpp>

#include <coroutine>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace holdfast {

template <class T>
class Future;

namespace detail {

/// How the value of an operation becomes a T. Specialised for handles, which need more than the payload.
template <class T>
struct OutcomeReader {
  static Result<T> read(OpState& state) { return decode<T>(state.value); }
};
/// For operations whose value may be missing; for others, std::optional is the type of the value itself.
template <class T>
struct OutcomeReader<std::optional<T>> {
  static Result<std::optional<T>> read(OpState& state) {
    if (!may_be_missing(state)) return decode<std::optional<T>>(state.value);
    const Result<std::optional<Payload>> found = read_found(state);
    if (!found) return Unexpected(found.error());
    if (!*found) return std::optional<T>();
    Result<T> value = decode<T>(**found);
    if (!value) return Unexpected(std::move(value).error());
    return std::optional<T>(*std::move(value));
  }
};
template <>
struct OutcomeReader<void> {
  static Result<void> read(OpState&) { return {}; }
};

template <class T>
void read_into(OpState& state, void* result) {
  static_cast<std::optional<Result<T>>*>(result)->emplace(OutcomeReader<T>::read(state));
}
/// The value of an operation that was described as an Op<T>.
template <class T>
Result<T> read_value_of(OpState& state) {
  std::optional<Result<T>> value;
  state.read(state, &value);
  return *std::move(value);
}

template <class T>
Result<T> take_outcome(OpState& state) {
  if (state.task) {
    state.told = true;
    auto& promise = static_cast<TaskPromise<T>&>(*state.task_promise);
    if (promise.error) return Unexpected(failure_of(promise.error));
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::move(*promise.value);
    }
  }
  if (state.failed) return Unexpected(*state.failure);
  return read_value_of<T>(state);
}

template <class T>
T take_value(OpState& state) {
  if (state.task) {
    state.told = true;
    return static_cast<TaskPromise<T>&>(*state.task_promise).take();
  }
  if (state.failed) throw_failure(*state.failure);
  return read_value_of<T>(state).value();
}

/// The outcome of a wait.
template <class T, Awaits kAs>
auto outcome_of(const Wait& wait, const Core& core) {
  if constexpr (kAs == Awaits::settled) {
    if (wait.waiter.interrupted) return Result<T>(Unexpected(*core.cancel_request()));
  } else {
    if (wait.waiter.interrupted) throw Cancelled(*core.cancel_request());
  }
  if constexpr (kAs == Awaits::value) {
    return take_value<T>(*wait.state);
  } else {
    return take_outcome<T>(*wait.state);
  }
}

/// Waits for an operation that a Future owns.
template <class T, Awaits kAs>
class FutureAwaiter {
 public:
  explicit FutureAwaiter(OpState* state) noexcept : borrowed_(state) { wait_.state = state; }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    return wait_.state->core->wait(wait_, frame, frame.promise());
  }
  auto await_resume() { return outcome_of<T, kAs>(wait_, *wait_.state->core); }

 private:
  Borrow borrowed_;
  Wait wait_;
};

/// Starts an operation and waits for it; drops it if the frame is destroyed first.
template <class T, Awaits kAs>
class OpAwaiter {
 public:
  OpAwaiter(Core& core, Described& described) noexcept : core_(core), described_(described) {}
  OpAwaiter(const OpAwaiter&) = delete;
  OpAwaiter& operator=(const OpAwaiter&) = delete;
  ~OpAwaiter() {
    if (wait_.state != nullptr) core_.release(wait_.state);
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    const bool suspends = core_.start_and_wait(described_, wait_, frame, frame.promise());
    if (wait_.state != nullptr) wait_.state->read = &read_into<T>;
    return suspends;
  }
  auto await_resume() { return outcome_of<T, kAs>(wait_, core_); }

 private:
  Core& core_;
  Described& described_;
  Wait wait_;
};

/// What `.result()` and `.settled()` of an operation return; refers to the operation.
template <class T, Awaits kAs>
struct OpResult {
  using HoldfastAwaitable = void;
  Core& core;
  Described& described;
  OpAwaiter<T, kAs> operator co_await() const noexcept { return {core, described}; }
};
template <class T, Awaits kAs>
class FutureResult {
 public:
  using HoldfastAwaitable = void;
  explicit FutureResult(OpState* state) noexcept : borrowed_(state) {}
  FutureAwaiter<T, kAs> operator co_await() const noexcept {
    return FutureAwaiter<T, kAs>(borrowed_.state());
  }

 private:
  Borrow borrowed_;
};

}  // namespace detail

/// A durable operation that is described, and not yet started: nothing is recorded until it is awaited,
/// started or given to a combinator. So the order in which a compiler evaluates arguments can't affect
/// history.
template <class T>
class [[nodiscard("an Op does nothing until it is awaited or started")]] Op {
 public:
  using HoldfastAwaitable = void;
  using value_type = T;

  /// Operations come from a Context.
  Op(detail::Core& core, detail::Described described) noexcept
      : core_(&core), described_(std::move(described)) {}

  detail::OpAwaiter<T, detail::Awaits::value> operator co_await() && noexcept { return {*core_, described_}; }
  /// Awaiting this gives a Result<T>: a failure is a value. A request to cancel the instance throws
  /// Cancelled.
  detail::OpResult<T, detail::Awaits::result> result() && noexcept { return {*core_, described_}; }
  /// Awaiting this gives a Result<T> in every case: a request to cancel is a failure of category cancelled.
  detail::OpResult<T, detail::Awaits::settled> settled() && noexcept { return {*core_, described_}; }
  /// Starts it now, to be awaited later. After a request to cancel, outside of a shield, the Future is
  /// cancelled at once. Operations that a request does not cancel are started all the same: detached
  /// orchestrations, children with ParentClosePolicy::abandon, the opening and closing of sessions.
  Future<T> start() &&;
  /// The same operation for callers who don't want its value.
  Op<void> discard() && { return {*core_, std::move(described_)}; }

  /// For the engine: starts it as a part of something that is awaited.
  Future<T> start_to_wait() &&;

 private:
  Future<T> start_for(detail::StartedFor purpose);

  detail::Core* core_;
  detail::Described described_;
};

/// A started operation or task. Dropping it before it has an outcome cancels it; after detach() it goes on,
/// and so does a task that drops its own Future. Several tasks may wait for one Future: after detach() they
/// go on waiting, after a drop their await fails.
template <class T>
class [[nodiscard("dropping a Future cancels it; detach() lets it run")]] Future {
 public:
  using HoldfastAwaitable = void;
  using value_type = T;

  explicit Future(detail::OpState* state) noexcept : state_(state) {}
  Future(Future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Future& operator=(Future&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Future() {
    if (state_ != nullptr) state_->core->release(state_);
  }

  /// Gives its value; a failure is thrown. The value of a started task is moved out: await that one once.
  detail::FutureAwaiter<T, detail::Awaits::value> operator co_await() const {
    return detail::FutureAwaiter<T, detail::Awaits::value>(state());
  }
  /// Awaiting this gives a Result<T>: a failure is a value. A request to cancel the instance throws
  /// Cancelled.
  [[nodiscard]] detail::FutureResult<T, detail::Awaits::result> result() const {
    return detail::FutureResult<T, detail::Awaits::result>(state());
  }
  /// Awaiting this gives a Result<T> in every case: a request to cancel is a failure of category cancelled.
  [[nodiscard]] detail::FutureResult<T, detail::Awaits::settled> settled() const {
    return detail::FutureResult<T, detail::Awaits::settled>(state());
  }

  /// Whether it has an outcome, so that awaiting it doesn't wait.
  [[nodiscard]] bool ready() const { return state()->ready(); }
  /// Gives up the Future without cancelling the operation, which goes on until the execution ends at most.
  void detach() && {
    detail::OpState* const given_up = state();
    state_ = nullptr;
    given_up->core->detach(given_up);
  }

  /// For the engine. This and all calls above throw std::logic_error when the Future was moved away.
  [[nodiscard]] detail::OpState* state() const {
    if (state_ == nullptr) throw std::logic_error("holdfast: this Future was moved away or detached");
    return state_;
  }

 private:
  detail::OpState* state_;
};

template <class T>
Future<T> Op<T>::start_for(detail::StartedFor purpose) {
  detail::OpState* const state = core_->start(std::move(described_), purpose);
  state->read = &detail::read_into<T>;
  return Future<T>(state);
}
template <class T>
Future<T> Op<T>::start() && {
  return start_for(detail::StartedFor::itself);
}
template <class T>
Future<T> Op<T>::start_to_wait() && {
  return start_for(detail::StartedFor::a_wait);
}

}  // namespace holdfast
