// QuestionFrames: frames that were made to be asked, kept for the next question.
#pragma once

#include "base/mutex.hpp"
#include "runtime/frame.hpp"

#include <holdfast/ids.hpp>

#include <cstddef>
#include <list>
#include <utility>

namespace holdfast::runtime {

/// The most recently used ones. Few, so that it looks through all of them. Any thread; frames are destroyed
/// without its mutex.
class QuestionFrames {
 public:
  explicit QuestionFrames(std::size_t capacity) : capacity_(capacity) {}

  /// The frame of this execution, if there is one: the caller's from now on. One of a former execution goes.
  Frame take(InstanceKey key, ExecutionNumber execution) {
    std::list<Kept> found;
    const MutexLock lock(mutex_);
    for (auto it = frames_.begin(); it != frames_.end(); ++it) {
      if (it->key != key) continue;
      found.splice(found.end(), frames_, it);
      break;
    }
    if (found.empty() || found.front().execution != execution) return {};
    return std::move(found.front().frame);
  }
  void put(InstanceKey key, ExecutionNumber execution, Frame&& frame) {
    std::list<Kept> one;
    one.push_back({key, execution, std::move(frame)});
    std::list<Kept> over;
    const MutexLock lock(mutex_);
    frames_.splice(frames_.end(), one);
    while (frames_.size() > capacity_) over.splice(over.end(), frames_, frames_.begin());
  }
  void clear() {
    std::list<Kept> all;
    const MutexLock lock(mutex_);
    all.swap(frames_);
  }

 private:
  struct Kept {
    InstanceKey key{};
    ExecutionNumber execution{};
    Frame frame{};
  };

  const std::size_t capacity_;
  Mutex mutex_;
  std::list<Kept> frames_ HOLDFAST_GUARDED_BY(mutex_);  // the least recently used first
};

}  // namespace holdfast::runtime
