// Callbacks: code of the user that waits to be called by a thread of its client.
#pragma once

#include "base/mutex.hpp"

#include <holdfast/log.hpp>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::client {

/// A callback with what it is called with.
using Callback = std::function<void()>;

/// A call is begun too late. Throws std::logic_error.
[[noreturn]] void refuse_as_closed();

/// A queue of callbacks. What one throws is logged, and the others are called all the same. Any thread may
/// add; one thread calls.
class Callbacks {
 public:
  /// `poke` wakes the thread that calls, and may be called by any thread. An empty logger: stderr.
  Callbacks(std::shared_ptr<Logger> logger, std::function<void()> poke)
      : logger_(std::move(logger)), poke_(std::move(poke)) {}

  void add(Callback callback);
  [[nodiscard]] bool any() const;
  /// Calls all that are there.
  void call();
  /// Whether the calling thread is in a callback, of any client.
  static bool is_here() noexcept;

 private:
  void call(Callback callback) const noexcept;
  void say(std::string_view what) const noexcept;

  const std::shared_ptr<Logger> logger_;
  const std::function<void()> poke_;
  mutable Mutex mutex_;
  std::vector<Callback> queue_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::client
