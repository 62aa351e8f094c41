// Executor: where the code of activities runs.
#pragma once

#include <functional>

namespace holdfast::runtime {

/// Runs what it is given, each once, at some later time. Any thread may post.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(std::function<void()> work) = 0;
  /// Whether what it runs may wait for something else that it runs.
  [[nodiscard]] virtual bool may_wait() const noexcept { return true; }
};

}  // namespace holdfast::runtime
