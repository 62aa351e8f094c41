// Crossing: the turns of one executor: those that wait for it, those that it has, those that came back.
#pragma once

#include "base/mutex.hpp"
#include "runtime/cache.hpp"
#include "runtime/frame_home.hpp"
#include "runtime/take_out.hpp"
#include "runtime/turn_batch.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// An executor has one batch of a worker at a time. What becomes ready meanwhile waits, and crosses together:
/// an executor that is busy gets larger batches, one that is stuck gets nothing. It keeps the books and calls
/// nobody. Any thread.
class Crossing {
 public:
  using Taken = InstanceCache::Taken;

  explicit Crossing(std::shared_ptr<FrameHome> home) : home_(std::move(home)) {}

  [[nodiscard]] const std::shared_ptr<FrameHome>& home() const noexcept { return home_; }

  /// These wait for it. False when it takes none now, and they were left alone.
  bool wait(std::vector<Taken>& taken) {
    const MutexLock lock(mutex_);
    if (!home_->takes_turns() || closed_) return false;
    std::ranges::move(taken, std::back_inserter(waiting_));
    taken.clear();
    return true;
  }
  /// Those that cross next; nothing when none waits, or the executor has some already. Whoever gets them
  /// calls send() or end(). What may kill this process goes last and by itself, when the others are settled.
  template <class IsSuspect>
  std::vector<Taken> begin(std::size_t max, IsSuspect is_suspect) {
    const MutexLock lock(mutex_);
    if (taken_ || waiting_.empty()) return {};
    std::vector<Taken> suspects = take_out(waiting_, is_suspect);
    const bool are_suspects = waiting_.empty();
    if (are_suspects) std::swap(waiting_, suspects);
    if (are_suspects && unsettled_ > 0) return {};
    taken_ = true;
    const std::size_t count = are_suspects ? 1 : std::min(max, waiting_.size());
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Taken> next(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    std::ranges::move(suspects, std::back_inserter(waiting_));
    return next;
  }
  /// There was no room for these.
  void wait_longer(std::vector<Taken>&& taken) {
    const MutexLock lock(mutex_);
    waiting_.insert(waiting_.begin(), std::make_move_iterator(taken.begin()),
                    std::make_move_iterator(taken.end()));
  }
  /// The executor has this batch now.
  void send(std::shared_ptr<TurnBatch> batch) {
    const MutexLock lock(mutex_);
    sent_ = std::move(batch);
  }
  /// Nothing was sent after all.
  void end() {
    const MutexLock lock(mutex_);
    taken_ = false;
    sent_.reset();
  }
  /// The executor is done with its batch.
  void come_back() {
    const MutexLock lock(mutex_);
    back_.push_back(std::move(sent_));
    ++unsettled_;
    taken_ = false;
  }
  /// Batches that have come back. Whoever gets them calls settle() for each.
  std::vector<std::shared_ptr<TurnBatch>> take_back() {
    const MutexLock lock(mutex_);
    return std::exchange(back_, {});
  }
  /// One of them is committed.
  void settle() {
    const MutexLock lock(mutex_);
    --unsettled_;
  }
  /// The executor does not come back with this batch: it takes no turns until come_back_late(). Returns those
  /// that wait for it. It may just have come back, and said so before this: then it is not away.
  std::vector<Taken> give_up(const TurnBatch& batch) {
    const MutexLock lock(mutex_);
    if (sent_.get() != &batch) return {};
    home_->set_away(true);
    sent_.reset();
    return std::exchange(waiting_, {});
  }
  /// The executor is here again, after this batch was given up.
  void come_back_late(const TurnBatch& batch) {
    const MutexLock lock(mutex_);
    if (sent_.get() == &batch) sent_.reset();
    home_->set_away(false);
    taken_ = false;
  }
  /// The executor has refused a batch: it is gone. Returns those that wait for it.
  std::vector<Taken> be_refused() {
    const MutexLock lock(mutex_);
    sent_.reset();
    taken_ = false;
    return std::exchange(waiting_, {});
  }
  /// Nothing waits from now on. Returns those that do.
  std::vector<Taken> close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    return std::exchange(waiting_, {});
  }

 private:
  const std::shared_ptr<FrameHome> home_;
  mutable Mutex mutex_;
  std::vector<Taken> waiting_ HOLDFAST_GUARDED_BY(mutex_);
  bool taken_ HOLDFAST_GUARDED_BY(mutex_) = false;  // some are about to cross, or the executor has them
  std::shared_ptr<TurnBatch> sent_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<TurnBatch>> back_ HOLDFAST_GUARDED_BY(mutex_);
  int unsettled_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // that have come back
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::runtime
