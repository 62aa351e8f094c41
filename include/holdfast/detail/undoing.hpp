// Sagas that are being undone.
//
// A saga is undone by a task that belongs to the execution, not to the frame that asked for it: code may drop
// that frame at any time, as a race does with its losers, and what was done has to be undone all the same.
// Whoever drops such a frame is told of the undoing that this leaves behind, and can wait for it.
#pragma once

#include <holdfast/detail/core.hpp>
#include <holdfast/result.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace holdfast::detail {

/// What failed where a step could not be undone.
Failure not_undone(Failure why);
/// The failure with another one at the end of its causes.
Failure with_last_cause(Failure failure, Failure last);

/// One saga that is being undone. The execution does not end before it.
struct Undoing {
  Undoing() = default;
  Undoing(const Undoing&) = delete;
  Undoing& operator=(const Undoing&) = delete;
  ~Undoing() {
    if (state.task) state.task.destroy();
  }

  /// One that is inside of this one, and is undone before it.
  struct Inner : Waiter {
    Undoing* outer = nullptr;
  };

  std::uint32_t saga = 0;  // its number
  OpState state;           // of the task
  FrameWaiter beginning;   // the task's, until it runs
  bool dropped = false;    // and not begun
  std::list<Inner> inner;  // that are to end first
  bool told = false;       // somebody was given its outcome
};

/// While frames are dropped, on the stack of who does it: the sagas that are undone because of it. Frames
/// that are dropped drop others, and what comes of that is told to both.
class Dropping {
 public:
  explicit Dropping(Core& core) noexcept;
  ~Dropping();
  Dropping(const Dropping&) = delete;
  Dropping& operator=(const Dropping&) = delete;

  void leaves(Undoing& undoing) { left_.push_back(&undoing); }
  [[nodiscard]] const std::vector<Undoing*>& left() const noexcept { return left_; }

 private:
  Core& core_;
  Dropping* outer_;
  std::vector<Undoing*> left_;
};

/// Waits until all of these have ended, whatever is asked of the instance meanwhile, and gives the first
/// failure.
class Undone {
 public:
  using HoldfastAwaitable = void;
  Undone(Core& core, const std::vector<Undoing*>& undoings);
  Undone(const Undone&) = delete;
  Undone& operator=(const Undone&) = delete;
  /// A frame that is dropped while it waits leaves them to who drops it.
  ~Undone();

  struct Awaiter {
    Undone& undone;
    bool await_ready() const noexcept { return undone.open_ == 0; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> frame) {
      undone.suspend(frame, frame.promise());
      return true;
    }
    Result<void> await_resume() { return undone.tell(); }
  };
  Awaiter operator co_await() noexcept { return {*this}; }

 private:
  struct One : Waiter {
    Undone* all = nullptr;
    Undoing* undoing = nullptr;
  };
  void suspend(std::coroutine_handle<> frame, PromiseBase& promise);
  Result<void> tell();

  Core& core_;
  std::unique_ptr<One[]> ones_;
  std::size_t size_;
  std::size_t open_ = 0;
  FrameWaiter waiter_;
};

}  // namespace holdfast::detail
