// when_all, when_all_settled, race and with_timeout: several operations, futures and tasks at once.
//
// Parts are started in the order in which they are written. What is passed as an rvalue is owned, and
// cancelled when it is no longer needed; an lvalue Future is borrowed and lives on. Void parts count as
// std::monostate. Sagas in what is cancelled are undone first, and an undo that fails is thrown.
#pragma once

#include <holdfast/detail/describe.hpp>
#include <holdfast/detail/undoing.hpp>
#include <holdfast/op.hpp>
#include <holdfast/options.hpp>
#include <holdfast/task.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

namespace detail {

// ---- waiting for several states -----------------------------------------------------------------

enum class JoinUntil : std::uint8_t {
  all_or_failure,  // every part has a value, or one failed
  all,             // every part has an outcome, or a request to cancel ended the wait
  any,             // one part has an outcome
  next,            // likewise, and a failure is an outcome like any other
};

/// A state to wait for. `owned`: it is dropped when the wait is over.
struct JoinPart {
  OpState* state = nullptr;
  bool owned = true;
};

/// Waits for several states.
class Join {
 public:
  using HoldfastAwaitable = void;
  Join(std::vector<JoinPart> parts, JoinUntil until);

  struct Awaiter {
    Join& join;
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> frame) {
      return join.suspend(frame, frame.promise());
    }
    std::optional<std::size_t> await_resume() const { return join.decided(); }
  };
  Awaiter operator co_await() noexcept { return {*this}; }

  /// When it is decided: drops the owned tasks that go on, and gives the sagas that are undone because of it.
  [[nodiscard]] std::vector<Undoing*> drop_rest() const;
  /// Whether this part has failed.
  [[nodiscard]] bool failed(std::size_t part) const noexcept { return parts_[part].state->failed; }
  /// Throws what the part failed with that decided, if it did; that a saga could not be undone is its last
  /// cause.
  [[noreturn]] void throw_not_undone(const Failure& why) const;

 private:
  struct Arm : Waiter {
    Join* join = nullptr;
    JoinPart part{};
  };
  [[nodiscard]] bool satisfied() const noexcept;
  [[nodiscard]] bool may_drop() const noexcept;
  /// False: the frame need not be suspended.
  bool suspend(std::coroutine_handle<> frame, PromiseBase& promise);
  void part_ended(const Arm& arm);
  /// The part that decided: the first to fail, or for `any` the first with an outcome, in the order of
  /// history. Nothing when all parts ended well. Throws Cancelled when a request to cancel came first.
  [[nodiscard]] std::optional<std::size_t> decided() const;

  std::vector<JoinPart> parts_;
  JoinUntil until_;
  std::size_t open_ = 0;        // parts without an outcome
  std::size_t owned_open_ = 0;  // those that are owned
  bool failed_ = false;
  const Core* core_ = nullptr;  // of the frame that awaits
  bool shielded_ = false;
  bool interrupted_ = false;
  std::unique_ptr<Arm[]> arms_;
  FrameWaiter waiter_;
};

/// The parts that a decided wait no longer needs: dropped, and awaited until the sagas among them are undone.
/// Throws when one of those could not be.
class DroppedRest {
 public:
  using HoldfastAwaitable = void;
  DroppedRest(Core& core, const Join& join) : join_(join), undone_(core, join.drop_rest()) {}

  struct Awaiter : Undone::Awaiter {
    const Join& join;
    void await_resume() {
      if (const Result<void> outcome = Undone::Awaiter::await_resume(); !outcome)
        join.throw_not_undone(outcome.error());
    }
  };
  Awaiter operator co_await() noexcept { return {{undone_}, join_}; }

 private:
  const Join& join_;
  Undone undone_;
};

/// The core of the frame that awaits it.
struct CurrentCore {
  using HoldfastAwaitable = void;
  struct Awaiter {
    Core* core = nullptr;
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> frame) noexcept {
      core = frame.promise().core;
      return false;
    }
    Core& await_resume() const noexcept { return *core; }
  };
  Awaiter operator co_await() const noexcept { return {}; }
};

// ---- parts --------------------------------------------------------------------------------------

/// A Future that somebody else owns.
template <class T>
struct Borrowed : Borrow {
  using Borrow::Borrow;
  using value_type = T;
};

template <class A>
struct PartOf {
  using Type = A;
};
template <class T>
struct PartOf<Future<T>&> {
  using Type = Borrowed<T>;
};
template <class T>
struct PartOf<const Future<T>&> {
  using Type = Borrowed<T>;
};

template <class A>
inline constexpr bool is_part = false;
template <class T>
inline constexpr bool is_part<Op<T>> = true;
template <class T>
inline constexpr bool is_part<Task<T>> = true;
template <class T>
inline constexpr bool is_part<Future<T>> = true;
template <class T>
inline constexpr bool is_part<Future<T>&> = true;
template <class T>
inline constexpr bool is_part<const Future<T>&> = true;

/// An rvalue Op, Task or Future, or an lvalue Future.
template <class A>
concept Part = is_part<A>;

template <class A>
auto to_part(A&& part) {
  if constexpr (std::is_lvalue_reference_v<A>) {
    return Borrowed<typename std::remove_cvref_t<A>::value_type>(part.state());
  } else {
    return std::remove_cvref_t<A>(std::forward<A>(part));
  }
}

/// A part that runs: owned or borrowed.
template <class T>
class Running {
 public:
  Running(Core&, Op<T> op) : owned_(std::move(op).start_to_wait()), state_(owned_->state()) {}
  Running(Core&, Future<T> future) : owned_(std::move(future)), state_(owned_->state()) {}
  Running(Core&, Borrowed<T> borrowed) : state_(borrowed) {}
  Running(Core& core, Task<T> task)
      : owned_(std::in_place, start_task(core, std::move(task))), state_(owned_->state()) {}

  [[nodiscard]] JoinPart part() const noexcept { return {state_.state(), owned_.has_value()}; }
  Lifted<T> take() {
    if constexpr (std::is_void_v<T>) {
      take_value<void>(*state_.state());
      return {};
    } else {
      return take_value<T>(*state_.state());
    }
  }
  Result<T> outcome() { return take_outcome<T>(*state_.state()); }

 private:
  std::optional<Future<T>> owned_;
  Borrow state_;
};

template <class T>
std::vector<JoinPart> parts_of(const std::vector<Running<T>>& running) {
  std::vector<JoinPart> parts;
  parts.reserve(running.size());
  for (const auto& part : running) parts.push_back(part.part());
  return parts;
}

template <class... T>
std::vector<JoinPart> parts_of(const std::tuple<Running<T>...>& running) {
  return std::apply([](const auto&... part) { return std::vector<JoinPart>{part.part()...}; }, running);
}

// Braces evaluate from left to right, so the parts start in index order.
template <class... A>
std::tuple<Running<typename A::value_type>...> start_parts(Core& core, A&... parts) {
  return std::tuple<Running<typename A::value_type>...>{
      Running<typename A::value_type>(core, std::move(parts))...};
}
template <class A>
std::vector<Running<typename A::value_type>> start_parts(Core& core, std::vector<A>& parts) {
  std::vector<Running<typename A::value_type>> running;
  running.reserve(parts.size());
  for (auto& part : parts) running.emplace_back(core, std::move(part));
  return running;
}

// ---- the coroutines behind the functions below --------------------------------------------------

// They take parts by value, so that the frame owns them, and name everything: see the page on compilers.

template <class... A>
Task<std::tuple<Lifted<typename A::value_type>...>> when_all_parts(A... parts) {
  Core& core = co_await CurrentCore();
  auto running = start_parts(core, parts...);
  Join join(parts_of(running), JoinUntil::all_or_failure);
  const std::optional<std::size_t> failed = co_await join;
  DroppedRest rest(core, join);
  co_await rest;
  if (failed) {
    const auto throw_failed = [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == *failed ? void(std::get<I>(running).take()) : void()), ...);
    };
    throw_failed(std::index_sequence_for<A...>{});
  }
  using Values = std::tuple<Lifted<typename A::value_type>...>;
  const auto take_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Values{std::get<I>(running).take()...};
  };
  co_return take_all(std::index_sequence_for<A...>{});
}

template <class A>
Task<std::vector<Lifted<typename A::value_type>>> when_all_list(std::vector<A> parts) {
  Core& core = co_await CurrentCore();
  auto running = start_parts(core, parts);
  Join join(parts_of(running), JoinUntil::all_or_failure);
  const std::optional<std::size_t> failed = co_await join;
  DroppedRest rest(core, join);
  co_await rest;
  if (failed) running[*failed].take();
  std::vector<Lifted<typename A::value_type>> values;
  values.reserve(running.size());
  for (auto& part : running) values.push_back(part.take());
  co_return values;
}

template <class... A>
Task<std::tuple<Result<typename A::value_type>...>> settle_parts(A... parts) {
  Core& core = co_await CurrentCore();
  auto running = start_parts(core, parts...);
  Join join(parts_of(running), JoinUntil::all);
  co_await join;
  using Outcomes = std::tuple<Result<typename A::value_type>...>;
  const auto take_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Outcomes{std::get<I>(running).outcome()...};
  };
  co_return take_all(std::index_sequence_for<A...>{});
}

template <class A>
Task<std::vector<Result<typename A::value_type>>> settle_list(std::vector<A> parts) {
  Core& core = co_await CurrentCore();
  auto running = start_parts(core, parts);
  Join join(parts_of(running), JoinUntil::all);
  co_await join;
  std::vector<Result<typename A::value_type>> outcomes;
  outcomes.reserve(running.size());
  for (auto& part : running) outcomes.push_back(part.outcome());
  co_return outcomes;
}

template <class... A>
Task<std::variant<Lifted<typename A::value_type>...>> race_parts(A... parts) {
  Core& core = co_await CurrentCore();
  auto running = start_parts(core, parts...);
  Join join(parts_of(running), JoinUntil::any);
  const std::optional<std::size_t> winner = co_await join;
  DroppedRest rest(core, join);
  co_await rest;
  using Winner = std::variant<Lifted<typename A::value_type>...>;
  std::optional<Winner> value;
  const auto take_winner = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((I == *winner ? void(value.emplace(std::in_place_index<I>, std::get<I>(running).take())) : void()), ...);
  };
  take_winner(std::index_sequence_for<A...>{});
  Winner result = std::move(*value);
  co_return result;
}

}  // namespace detail

/// The winner of a race over a list.
template <class T>
struct Winner {
  std::size_t index = 0;
  T value{};
};

namespace detail {

template <class A>
Task<Winner<Lifted<typename A::value_type>>> race_list(std::vector<A> parts) {
  if (parts.empty()) throw std::invalid_argument("a race needs at least one part, and this list is empty");
  Core& core = co_await CurrentCore();
  auto running = start_parts(core, parts);
  Join join(parts_of(running), JoinUntil::any);
  const std::optional<std::size_t> winner = co_await join;
  DroppedRest rest(core, join);
  co_await rest;
  Winner<Lifted<typename A::value_type>> result{*winner, running[*winner].take()};
  co_return result;
}

template <class A>
Task<std::optional<Lifted<typename A::value_type>>> timeout_part(A part, Duration limit) {
  Core& core = co_await CurrentCore();
  Running<typename A::value_type> running(core, std::move(part));
  Running<void> timer(core, Op<void>(core, describe_sleep(limit)));
  std::vector<JoinPart> parts;
  parts.push_back(running.part());
  parts.push_back(timer.part());
  Join join(std::move(parts), JoinUntil::any);
  const std::optional<std::size_t> winner = co_await join;
  DroppedRest rest(core, join);
  co_await rest;
  std::optional<Lifted<typename A::value_type>> value;
  if (*winner == 0) {
    value.emplace(running.take());
  } else {
    timer.take();
  }
  co_return value;
}

}  // namespace detail

/// All values, as a tuple. The first failure in the order of history is thrown, and the other parts are
/// dropped.
template <detail::Part... A>
auto when_all(A&&... parts) {
  return detail::when_all_parts(detail::to_part<A>(std::forward<A>(parts))...);
}
/// All values, in the order of the list; an empty list gives an empty one.
template <detail::Part A>
auto when_all(std::vector<A> parts) {
  return detail::when_all_list(std::move(parts));
}

/// The outcome of every part, whatever it is: a part that failed, or was cancelled alone, is a Failure. A
/// request to cancel the instance throws Cancelled.
template <detail::Part... A>
auto when_all_settled(A&&... parts) {
  return detail::settle_parts(detail::to_part<A>(std::forward<A>(parts))...);
}
template <detail::Part A>
auto when_all_settled(std::vector<A> parts) {
  return detail::settle_list(std::move(parts));
}

/// The first outcome in the order of history: its value in a variant whose index says which part it was; a
/// failure is thrown. Owned parts that lost are cancelled.
template <detail::Part... A>
auto race(A&&... parts) {
  static_assert(sizeof...(A) > 0, "holdfast: a race needs at least one part");
  return detail::race_parts(detail::to_part<A>(std::forward<A>(parts))...);
}
/// The same over a list. An empty list throws std::invalid_argument when it is awaited.
template <detail::Part A>
auto race(std::vector<A> parts) {
  return detail::race_list(std::move(parts));
}

/// The value of `part`, or nothing when it takes longer than `limit`; then an owned part is cancelled.
template <detail::Part A>
auto with_timeout(A&& part, Duration limit) {
  return detail::timeout_part(detail::to_part<A>(std::forward<A>(part)), limit);
}

}  // namespace holdfast
