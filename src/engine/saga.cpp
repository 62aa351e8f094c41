#include <holdfast/detail/undoing.hpp>
#include <holdfast/saga.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace holdfast {

namespace {

// Every step is tried, the last one first.
Task<void> undo_all(std::vector<Op<void>> steps) {
  std::optional<Failure> first;
  while (!steps.empty()) {
    Op<void> step = std::move(steps.back());
    steps.pop_back();
    const Result<void> outcome = co_await std::move(step).settled();
    if (!outcome && !first) first = outcome.error();
  }
  if (first) throw_failure(std::move(*first));
}

}  // namespace

Saga::Saga(Context& ctx) : ctx_(ctx), core_(ctx.core_), number_(core_.new_saga()) {}

Saga::~Saga() {
  if (empty()) return;
  core_.saga_closes();
  steps_->open = false;
  if (core_.dropping() == nullptr) return;
  const auto frame = undo_all(std::exchange(steps_->undo, {})).release();
  core_.undo_dropped(number_, frame, frame.promise());
}

void Saga::add(Op<void> step) {
  if (!steps_) steps_ = std::make_shared<Steps>();
  if (!std::exchange(steps_->open, true)) core_.saga_opens();
  steps_->undo.push_back(std::move(step));
}

Task<void> Saga::compensate() {
  if (!steps_) steps_ = std::make_shared<Steps>();
  return undo_and_wait(core_, number_, steps_);
}

Task<void> Saga::undo_and_wait(detail::Core& core, std::uint32_t number, std::shared_ptr<Steps> steps) {
  if (std::exchange(steps->open, false)) core.saga_closes();
  const auto frame = undo_all(std::exchange(steps->undo, {})).release();
  const std::vector<detail::Undoing*> begun(1, &core.undo(number, frame, frame.promise()));
  detail::Undone undone(core, begun);
  const Result<void> outcome = co_await undone;
  if (!outcome) throw_failure(outcome.error());
}

namespace detail {

void rethrow_after_undoing(const std::exception_ptr& error, const Result<void>& undone) {
  if (undone) std::rethrow_exception(error);
  throw_failure(with_last_cause(failure_of(error), not_undone(undone.error())));
}

}  // namespace detail

}  // namespace holdfast
