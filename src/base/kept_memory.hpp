// Lists that are emptied and filled again, with the memory that they have.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast {

/// The list, emptied. The memory of one that was very long goes: what comes next is short, as a rule.
template <class T>
[[nodiscard]] std::vector<T> emptied(std::vector<T>&& list) {
  constexpr std::size_t kLongest = 64;
  if (list.capacity() > kLongest) return {};
  list.clear();
  return std::move(list);
}

}  // namespace holdfast
