// Saga: a process whose steps are undone when one of them fails or times out, or the instance is cancelled.
//
//   Task<std::string> book(Context& ctx, Saga& saga, Trip trip) {
//     saga.undo_with("cancel_hotel", trip);  // before the step: one that failed may have been done
//     co_await ctx.activity<void>("book_hotel", trip);
//     saga.undo_with("cancel_flight", trip);
//     co_await ctx.activity<void>("book_flight", trip);
//     co_return "booked";
//   }
//
//   Task<std::string> travel(Context& ctx, Trip trip) { return run_saga(ctx, book, trip); }
#pragma once

#include <holdfast/context.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

/// The activities that undo the steps of one run. It lives in the frame of the orchestration. When that frame
/// is dropped, since it lost a race or took too long, they run all the same: race, with_timeout and when_all
/// wait for them, and so does the end of the execution. A frame that ends by itself undoes nothing, also when
/// an exception or Cancelled leaves it: use run_saga(), which calls compensate() then.
class Saga {
 public:
  explicit Saga(Context& ctx);
  ~Saga();
  Saga(const Saga&) = delete;
  Saga& operator=(const Saga&) = delete;

  /// The activity that undoes the step that follows. The arguments are those of Context::activity. It runs
  /// also when the step has failed or was cancelled, and has to be right whether the step was done, was not
  /// done, or is being stopped: let both use the same key.
  template <class... In>
    requires detail::PlainInputs<In...>
  void undo_with(std::string_view name, In&&... in) {
    add(ctx_.activity<void>(name, std::forward<In>(in)...));
  }
  template <class... In>
  void undo_with(std::string_view name, ActivityOptions options, In&&... in) {
    add(ctx_.activity<void>(name, options, std::forward<In>(in)...));
  }
  template <class R, class... P, class... In>
    requires(sizeof...(In) == sizeof...(P) && (std::convertible_to<In, P> && ...))
  void undo_with(const Activity<R(P...)>& handle, In&&... in) {
    add(ctx_.activity(handle, std::forward<In>(in)...).discard());
  }
  template <class R, class... P, class... In>
    requires(sizeof...(In) == sizeof...(P) && (std::convertible_to<In, P> && ...))
  void undo_with(const Activity<R(P...)>& handle, ActivityOptions options, In&&... in) {
    add(ctx_.activity(handle, options, std::forward<In>(in)...).discard());
  }

  template <class Name, class... In>
  void undo_with(const Name& name, detail::BareBraces, In&&... in) const;

  /// Undoes all steps, the last one first, also when the instance is being cancelled or the frame that waits
  /// for it is dropped. Every step is tried; if some fail, the first failure is thrown at the end. The saga
  /// has its steps until this is awaited or started. run_saga() calls it.
  Task<void> compensate();

  [[nodiscard]] bool empty() const noexcept { return !steps_ || steps_->undo.empty(); }

 private:
  struct Steps {
    std::vector<Op<void>> undo{};
    bool open = false;  // there is something to undo, and the saga lives
  };
  static Task<void> undo_and_wait(detail::Core& core, std::uint32_t number, std::shared_ptr<Steps> steps);
  void add(Op<void> step);

  Context& ctx_;
  detail::Core& core_;
  std::uint32_t number_;
  std::shared_ptr<Steps> steps_;  // with the tasks of compensate(); null while there never were any
};

namespace detail {

/// Throws what ended the steps. Where they could not be undone either, that is the last of its causes.
[[noreturn]] void rethrow_after_undoing(const std::exception_ptr& error, const Result<void>& undone);

}  // namespace detail

/// Runs `steps(ctx, saga, in...)`. When it throws anything, Cancelled included, everything that it gave to
/// `saga` is undone, the last step first, and the same is thrown on.
template <class R, class... P>
Task<R> run_saga(Context& ctx, Task<R> (*steps)(Context&, Saga&, P...),
                 std::type_identity_t<std::decay_t<P>>... in) {
  Saga saga(ctx);
  std::exception_ptr error;
  try {
    Task<R> body = steps(ctx, saga, static_cast<P&&>(in)...);
    co_return co_await std::move(body);
  } catch (...) {
    error = std::current_exception();  // C++ allows no co_await in here
  }
  const Result<void> undone = co_await saga.compensate().settled();
  detail::rethrow_after_undoing(error, undone);
}
/// The same with a lambda that captures nothing.
template <class Steps, class... In>
  requires(std::is_class_v<Steps> && std::is_empty_v<Steps>)
auto run_saga(Context& ctx, Steps steps, In&&... in) {
  return run_saga(ctx, +steps, std::forward<In>(in)...);
}

}  // namespace holdfast
