// Ring: a queue that keeps its memory.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast {

/// First in, first out. A std::deque frees memory at its front while it allocates at its back; this one grows
/// to what it has held at most and stays there. What was taken out leaves a T() behind. Not thread-safe.
template <class T>
class Ring {
 public:
  void push_back(T item) {
    if (size_ == slots_.size()) grow();
    slots_[at(size_++)] = std::move(item);
  }
  /// Precondition of both: !empty().
  [[nodiscard]] const T& front() const noexcept {
    assert(size_ > 0);
    return slots_[first_];
  }
  T take_front() {
    assert(size_ > 0);
    T item = std::exchange(slots_[first_], T());
    first_ = at(1);
    --size_;
    return item;
  }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  // The number of slots is a power of two.
  [[nodiscard]] std::size_t at(std::size_t place) const noexcept {
    return (first_ + place) & (slots_.size() - 1);
  }
  void grow() {
    constexpr std::size_t kFewest = 16;
    std::vector<T> larger(std::max(kFewest, 2 * slots_.size()));
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(slots_[at(i)]);
    slots_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace holdfast
