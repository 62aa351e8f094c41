// StuckThreads: which threads are in code that was given up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <thread>

namespace holdfast::runtime {

/// One thread gives code up at the moment in which that code comes back in another. Either may be the first
/// to say so: the two cancel each other out in any order. Not thread-safe.
class StuckThreads {
 public:
  void given_up(std::thread::id id) { count(id, 1); }
  void came_back(std::thread::id id) { count(id, -1); }

  [[nodiscard]] bool contains(std::thread::id id) const {
    const auto found = balance_.find(id);
    return found != balance_.end() && found->second > 0;
  }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(balance_, [](const auto& entry) { return entry.second > 0; }));
  }

 private:
  void count(std::thread::id id, int by) {
    const auto entry = balance_.try_emplace(id).first;
    entry->second += by;
    if (entry->second == 0) balance_.erase(entry);
  }

  std::map<std::thread::id, int> balance_;  // 1: is stuck; -1: has come back, and will be heard to be stuck
};

}  // namespace holdfast::runtime
