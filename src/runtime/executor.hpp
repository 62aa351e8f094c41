// Executor: where the code of activities runs.
#pragma once

#include "runtime/work.hpp"

#include <utility>

namespace holdfast::runtime {

/// Runs what it is given, each once, at some later time. Any thread may post.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(Work work) = 0;
  /// The same for what has taken next to no time so far: it may begin a moment later, if that saves waking a
  /// thread. If it takes long after all, nobody else waits for it.
  virtual void post_brief(Work work) { post(std::move(work)); }
  /// The same for what the code of an activity may wait for: it begins also when the calling thread, which
  /// may be running that code, does not come back.
  virtual void post_apart(Work work) { post(std::move(work)); }
  /// For a word to code that runs: apart, and without taking time in a simulation.
  virtual void post_at_once(Work work) { post_apart(std::move(work)); }
  /// Whether what it runs may wait for something else that it runs.
  [[nodiscard]] virtual bool may_wait() const noexcept { return true; }
};

}  // namespace holdfast::runtime
