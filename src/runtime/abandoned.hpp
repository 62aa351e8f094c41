// Activities whose code goes on although it was asked to stop and its grace is over.
#pragma once

#include "runtime/calls.hpp"
#include "runtime/settings.hpp"

#include <cstddef>
#include <set>

namespace holdfast::runtime {

/// Counts them, says so, and tells when their threads are too many. Not thread-safe.
class AbandonedCalls {
 public:
  explicit AbandonedCalls(const Settings& settings) : settings_(settings) {}

  void add(const detail::ActivityCall& call);
  /// Its code has ended after all. False when it was none of them.
  bool remove(const detail::ActivityCall& call);
  [[nodiscard]] bool contains(const detail::ActivityCall& call) const { return calls_.contains(&call); }
  [[nodiscard]] const std::set<const detail::ActivityCall*>& calls() const noexcept { return calls_; }
  /// Whether the worker must not begin more, before it has no thread left for anything else.
  [[nodiscard]] bool too_many() const noexcept { return threads_ >= settings_.options.max_abandoned; }

 private:
  const Settings& settings_;
  std::set<const detail::ActivityCall*> calls_;
  std::size_t threads_ = 0;  // of those that have one: a coroutine only waits
};

}  // namespace holdfast::runtime
