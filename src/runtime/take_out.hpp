// Takes elements out of a list.
#pragma once

#include <utility>
#include <vector>

namespace holdfast::runtime {

/// Those of `list` that are meant, in their order; the others stay.
template <class T, class Meant>
std::vector<T> take_out(std::vector<T>& list, Meant meant) {
  std::vector<T> out;
  std::erase_if(list, [&](T& one) {
    if (!meant(one)) return false;
    out.push_back(std::move(one));
    return true;
  });
  return out;
}

}  // namespace holdfast::runtime
