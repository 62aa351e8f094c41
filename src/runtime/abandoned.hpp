// Activities whose code goes on although it was asked to stop and its grace is over.
#pragma once

#include "runtime/calls.hpp"

#include <cstddef>
#include <optional>
#include <set>

namespace holdfast::runtime {

/// Counts them, and tells when their threads are too many. Not thread-safe.
class AbandonedCalls {
 public:
  explicit AbandonedCalls(std::size_t max_threads) : max_threads_(max_threads) {}

  /// What there is to say of one that has come or gone.
  struct Change {
    std::size_t calls = 0;    ///< now
    std::size_t threads = 0;  ///< now
    bool turned = false;      ///< they are too many with this one, or no longer without it
  };
  Change add(const detail::ActivityCall& call) {
    const bool had_too_many = too_many();
    calls_.insert(&call);
    if (!call.can_be_ended()) ++threads_;
    return {calls_.size(), threads_, too_many() != had_too_many};
  }
  /// Its code has ended after all. Nothing when it was none of them.
  std::optional<Change> remove(const detail::ActivityCall& call) {
    const bool had_too_many = too_many();
    if (calls_.erase(&call) == 0) return std::nullopt;
    if (!call.can_be_ended()) --threads_;
    return Change{calls_.size(), threads_, too_many() != had_too_many};
  }
  [[nodiscard]] const std::set<const detail::ActivityCall*>& calls() const noexcept { return calls_; }
  /// Whether the worker must not begin more, before it has no thread left for anything else.
  [[nodiscard]] bool too_many() const noexcept { return threads_ >= max_threads_; }

 private:
  const std::size_t max_threads_;
  std::set<const detail::ActivityCall*> calls_;
  std::size_t threads_ = 0;  // of those that have one: a coroutine only waits
};

}  // namespace holdfast::runtime
