// SuspectInstance: the instance that may be what kills its workers, and is therefore run by itself.
#pragma once

#include <holdfast/ids.hpp>

#include <atomic>
#include <cstdint>

namespace holdfast::runtime {

/// An instance that was handed out again and again without a commit may be what kills its workers, or may
/// have been beside it. So that this shows, a process has one of them at a time. Any thread.
class SuspectInstance {
 public:
  /// The one that is here, unless it has left in the meantime; zero when there is none.
  [[nodiscard]] InstanceKey current() const noexcept { return {key_}; }
  void set(InstanceKey key) noexcept { key_ = key.value; }
  /// It has had its turn, or was given back. False when it was not this one.
  bool clear(InstanceKey key) noexcept {
    std::uint64_t expected = key.value;
    return key.value != 0 && key_.compare_exchange_strong(expected, 0);
  }

 private:
  std::atomic<std::uint64_t> key_{0};
};

}  // namespace holdfast::runtime
