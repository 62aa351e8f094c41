// Saga: what has to be undone when a later step fails. C++ allows no co_await in a catch handler or
// destructor, so compensation is a call.
//
//   Saga saga(ctx);
//   auto outcome = co_await book(ctx, saga, trip).result();   // calls saga.undo_with("cancel_hotel", id)
//   if (!outcome) co_await saga.compensate();
#pragma once

#include <holdfast/context.hpp>

#include <concepts>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// Remembers one activity for each step that was done. It lives in the frame of the orchestration.
class Saga {
 public:
  explicit Saga(Context& ctx) noexcept : ctx_(ctx) {}
  Saga(const Saga&) = delete;
  Saga& operator=(const Saga&) = delete;

  /// The activity that undoes the step that was just done. The arguments are those of Context::activity.
  template <class... In>
    requires detail::PlainInputs<In...>
  void undo_with(std::string_view name, In&&... in) {
    steps_.push_back(ctx_.activity<void>(name, std::forward<In>(in)...));
  }
  template <class... In>
  void undo_with(std::string_view name, ActivityOptions options, In&&... in) {
    steps_.push_back(ctx_.activity<void>(name, options, std::forward<In>(in)...));
  }
  template <class R, class... P, class... In>
    requires(sizeof...(In) == sizeof...(P) && (std::convertible_to<In, P> && ...))
  void undo_with(const Activity<R(P...)>& handle, In&&... in) {
    steps_.push_back(ctx_.activity(handle, std::forward<In>(in)...).discard());
  }
  template <class R, class... P, class... In>
    requires(sizeof...(In) == sizeof...(P) && (std::convertible_to<In, P> && ...))
  void undo_with(const Activity<R(P...)>& handle, ActivityOptions options, In&&... in) {
    steps_.push_back(ctx_.activity(handle, options, std::forward<In>(in)...).discard());
  }

  template <class Name, class... In>
  void undo_with(const Name& name, detail::BareBraces, In&&... in) const;

  /// Undoes all steps, the last one first, also when the instance is being cancelled. Every step is tried; if
  /// some fail, the first failure is thrown at the end.
  Task<void> compensate() { return ctx_.shield(run(std::exchange(steps_, {}))); }

  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }

 private:
  static Task<void> run(std::vector<Op<void>> steps) {
    std::optional<Failure> first;
    while (!steps.empty()) {
      Op<void> step = std::move(steps.back());
      steps.pop_back();
      const Result<void> outcome = co_await std::move(step).result();
      if (!outcome && !first) first = outcome.error();
    }
    if (first) throw_failure(std::move(*first));
  }

  Context& ctx_;
  std::vector<Op<void>> steps_;
};

}  // namespace holdfast
