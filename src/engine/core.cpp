#include "base/failure_text.hpp"
#include "codec/operation.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/handlers.hpp>
#include <holdfast/task.hpp>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <typeinfo>
#include <utility>

namespace holdfast::detail {

// ---- frames -------------------------------------------------------------------------------------

void FrameWaiter::resume_frame(Waiter& self) {
  auto& waiter = static_cast<FrameWaiter&>(self);
  // The waiter lives in the frame that is resumed: it may be gone when resume() returns.
  waiter.promise->core->set_shield(waiter.promise->shielded);
  const Resumed resumed(*waiter.promise->core, *waiter.promise);
  waiter.frame.resume();
}

void FinalAwaiter::finished(PromiseBase& promise) noexcept {
  if (promise.owner != nullptr) {
    promise.owner->failed = promise.error != nullptr;
    promise.core->complete(*promise.owner);
  } else if (promise.awaiting != nullptr) {
    promise.core->make_ready(*promise.awaiting);
  } else if (promise.root) {
    promise.core->root_ended();
  }
}

void throw_moved_away() { throw std::logic_error("holdfast: this Task was moved away"); }

bool await_task(std::coroutine_handle<> task, PromiseBase& promise, FrameWaiter& waiter,
                std::coroutine_handle<> frame, PromiseBase& parent) {
  if (promise.core != nullptr) throw std::logic_error("holdfast: a Task can be awaited or started only once");
  Core& core = *parent.core;
  promise.depth = core.next_depth(parent);
  promise.saga = parent.saga;
  promise.core = &core;
  promise.shielded |= parent.shielded;
  core.set_shield(promise.shielded);
  {
    const Resumed resumed(core, promise);
    task.resume();
  }
  core.set_shield(parent.shielded);
  if (task.done()) return false;
  // From here on the task is resumed from the queue, and so is whoever awaits it: no stack is kept.
  waiter.suspend(frame, parent);
  promise.awaiting = &waiter;
  return true;
}

bool may_be_missing(const OpState& state) noexcept {
  return state.kind == kind_of_operation<MessageTried> || state.kind == kind_of_operation<ValueRead>;
}

// A look into a mailbox says it beside its value, a value of another instance is sent in an optional.
Result<std::optional<Payload>> read_found(const OpState& state) {
  if (state.kind == kind_of_operation<ValueRead>) return decode<std::optional<Payload>>(state.value);
  if (state.absent) return std::optional<Payload>();
  return std::optional<Payload>(state.value);
}

void free_state(OpState* state) noexcept {
  if (state->task) {
    if (state->failed && !state->told) state->core->never_told(state->task_promise->error);
    state->task.destroy();
  }
  delete state;
}

namespace {

Failure failure_of_any(const std::exception_ptr& error) {
  const auto type_name = [](const std::type_info& type) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
    return std::string(name ? name.get() : type.name());
  };
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.failure();
  } catch (const Cancelled& e) {
    return e.failure();
  } catch (const ReadOnlyError& e) {
    return {.type = "read_only", .message = failure_text(e), .retryable = false};
  } catch (const ActivityFailure& e) {
    return {.type = e.type(), .message = failure_text(e), .retryable = e.retryable(), .details = e.details()};
  } catch (const std::exception& e) {
    return {.type = type_name(typeid(e)), .message = failure_text(e)};
  } catch (...) {
    return {.type = "unknown", .message = "an exception that is not a std::exception"};
  }
}

}  // namespace

// The texts may be anything, and go into history.
Failure failure_of(const std::exception_ptr& error) noexcept {
  Failure failure = failure_of_any(error);
  failure.type = failure_text(failure.type);
  failure.message = failure_text(failure.message);
  return failure;
}

void rethrow_if_cancelled(const std::exception_ptr& error) {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    return;
  }
}

// ---- waiting ------------------------------------------------------------------------------------

bool Core::interrupts(const PromiseBase& promise) {
  if (!cancel_request_ || promise.shielded) return false;
  if (++interruptions_ > kMaxInterruptions) too_many_interruptions();
  return true;
}

bool Core::wait(Wait& wait, std::coroutine_handle<> frame, PromiseBase& promise) {
  if (stopped_) return true;
  if (interrupts(promise)) {
    wait.waiter.interrupted = true;
    return is_over();
  }
  if (wait.state->ready()) return false;
  wait.waiter.suspend(frame, promise);
  wait.state->waiters.push_back(wait.waiter);
  return true;
}

bool Core::start_and_wait(Described& described, Wait& wait, std::coroutine_handle<> frame,
                          PromiseBase& promise) {
  if (stopped_) return true;
  if (interrupts(promise)) {
    wait.waiter.interrupted = true;
    return is_over();
  }
  wait.state = start(std::move(described), StartedFor::a_wait);
  if (stopped_) return true;
  if (wait.state->ready()) return false;
  wait.waiter.suspend(frame, promise);
  wait.state->waiters.push_back(wait.waiter);
  return true;
}

OpState* Core::start(std::coroutine_handle<> task, PromiseBase& promise) {
  if (promise.core != nullptr) throw std::logic_error("holdfast: a Task can be awaited or started only once");
  refuse_in_read_only("a task was started");
  if (const PromiseBase* const parent = running()) {
    promise.depth = next_depth(*parent);
    promise.saga = parent->saga;
  }
  auto* const state = new OpState;
  state->core = this;
  state->task = task;
  state->task_promise = &promise;
  promise.core = this;
  promise.owner = state;
  promise.shielded |= shield_;
  if (stopped_) return state;
  const bool outer = std::exchange(shield_, promise.shielded);
  {
    const Resumed resumed(*this, promise);
    task.resume();
  }
  shield_ = outer;
  return state;
}

bool Core::runs_inside(const OpState& task) const noexcept {
  for (const Resumed* resumed = resumed_; resumed != nullptr; resumed = resumed->outer()) {
    const PromiseBase* frame = &resumed->promise();
    while (frame != nullptr) {
      if (frame->owner == &task) return true;
      frame =
          frame->awaiting != nullptr ? static_cast<const FrameWaiter*>(frame->awaiting)->promise : nullptr;
    }
  }
  return false;
}

PromiseBase* Core::running() const noexcept { return resumed_ != nullptr ? &resumed_->promise() : nullptr; }

std::uint32_t Core::next_depth(const PromiseBase& parent) const {
  if (parent.depth < kMaxDepth) return parent.depth + 1;
  throw LimitError(Failure{.category = Category::limit,
                           .type = "tasks_too_deep",
                           .message = "tasks await each other more than " + std::to_string(kMaxDepth) +
                                      " deep; use a loop, or a child orchestration for a part of it",
                           .retryable = false});
}

// ---- the queue ----------------------------------------------------------------------------------

void Core::complete(OpState& state) noexcept {
  state.completed_at = ++completions_;
  while (Waiter* const waiter = state.waiters.front()) ready_.push_back(*waiter);
}

void Core::interrupt_waiters(OpState& state) noexcept {
  LinkList<Waiter> go_on;
  while (Waiter* const waiter = state.waiters.front()) {
    waiter->interrupted = !waiter->shielded;
    (waiter->shielded ? go_on : ready_).push_back(*waiter);
  }
  while (Waiter* const waiter = go_on.front()) state.waiters.push_back(*waiter);
}

void Core::refuse_in_read_only(std::string_view call) const {
  if (read_only_ == nullptr) return;
  throw ReadOnlyError("holdfast: " + std::string(call) + " inside " + std::string(read_only_->where) + ", " +
                      std::string(read_only_->why));
}

std::optional<ReadOnlyError> Core::take_drop_in_read_only(std::string_view where) {
  if (!std::exchange(dropped_in_read_only_, false)) return std::nullopt;
  return ReadOnlyError("holdfast: a Future that has no outcome yet was dropped or detached inside " +
                       std::string(where) + ", where nothing may change; keep it in the orchestration");
}

void remove_handler(Core& core, std::uint64_t number) noexcept { core.remove_handler(number); }

void Core::root_ended() noexcept {
  if (!undoing() && sagas_ == 0) stop();
}

void Core::run_ready() {
  while (!stopped_) {
    Waiter* const next = ready_.front();
    if (next == nullptr) break;
    next->unlink();
    next->resume(*next);
  }
}

}  // namespace holdfast::detail
