// ThreadPool: threads for blocking code, made when they are needed and reused.
#pragma once

#include "runtime/executor.hpp"

#include <holdfast/options.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace holdfast::runtime {

/// Makes a new thread only when no idle one is there. The caller bounds how much runs at once.
///
/// Waking a thread costs more than short work does. So one thread at most is on its way at any time, and
/// whoever takes something and leaves more behind calls the next before it begins: what is there begins soon,
/// however long the rest takes. Brief work is left to the thread that is busy with other brief work. That one
/// of it may take long after all is noticed by a thread that looks now and then for as long as there is such
/// work: what has waited for longer than a moment is begun by another thread.
class ThreadPool final : public Executor {
 public:
  /// `rest` is what work leaves to be done, see ask_for_rest(). True: call it again.
  explicit ThreadPool(std::function<bool()> rest = {});
  /// stop() without patience.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void post(Work work) override;
  void post_brief(Work work) override;
  void post_apart(Work work) override;

  /// Calls `rest` in one of the threads once no work is left to begin, or after a fraction of a millisecond:
  /// what short work leaves behind is done in one go, by the thread that did the work. Asking again before
  /// that changes nothing.
  void ask_for_rest();
  /// Whether something was posted that nobody has begun.
  [[nodiscard]] bool has_work() const;
  /// Whether the calling thread is one of its own.
  [[nodiscard]] bool is_here() const noexcept;

  /// Runs what was posted before, takes nothing more, and waits for it, but not for longer than `patience`:
  /// code can't be killed in C++. Threads that still run then are left to themselves, and end when their work
  /// does. Returns how many.
  std::size_t stop(Duration patience);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace holdfast::runtime
