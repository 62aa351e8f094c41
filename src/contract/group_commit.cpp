#include "contract/group_commit.hpp"

#include "contract/futex.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::store {

GroupedCall::State GroupedCall::wait() noexcept {
  for (;;) {
    const std::uint32_t state = state_.load(std::memory_order_acquire);
    if (state != kWaits) return static_cast<State>(state);
    futex_wait_here(state_, kWaits);
  }
}

void GroupedCall::tell(State state) noexcept {
  state_.store(state, std::memory_order_release);
  futex_wake_here(state_);
}

// The next group goes first: its commit takes longer than all that its callers do with their answers.
void CallQueue::run(GroupedCall& call, const Lead& lead) {
  if (call.size() == 0) return;
  enqueue(call);
  if (call.wait() == GroupedCall::kDone) return;
  const std::vector<GroupedCall*> group = take_group(call);
  std::size_t items = 0;
  for (const GroupedCall* one : group) items += one->size();
  const Led led = lead(group);
  if (!led.afterwards) pass_on(items, led.waited_for_disk);
  for (GroupedCall* done : group) {
    if (done != &call) done->tell(GroupedCall::kDone);
  }
  if (!led.afterwards) return;
  led.afterwards();
  pass_on(items, led.waited_for_disk);
}

void CallQueue::enqueue(GroupedCall& call) {
  const MutexLock lock(mutex_);
  queue_.push_back(&call);
  items_queued_ += call.size();
  if (all_came()) came_.notify_one();
  if (std::exchange(leading_, true)) return;
  call.state_.store(GroupedCall::kLeads, std::memory_order_relaxed);  // nobody waits for it yet
}

void refuse_to_write(GroupedCall& call) {
  const StoreError error{.kind = StoreError::Kind::invalid,
                         .message = "the store was opened with read_only, and this would change it"};
  for (std::size_t item = 0; item < call.size(); ++item) call.fail(item, error);
}

void CallQueue::pass_on(std::size_t items_answered, Duration waited_for_disk) {
  const MutexLock lock(mutex_);
  if (waited_for_disk > Duration::zero()) {
    pace_.waited(waited_for_disk);
    items_expected_ = items_answered + items_queued_;
    answered_ = std::chrono::steady_clock::now();
  }
  if (queue_.empty()) {
    leading_ = false;
  } else {
    queue_.front()->tell(GroupedCall::kLeads);
  }
}

// A group that asks for nothing but locks does not wait for the disk. Those who were answered come back soon,
// or are no longer waited for.
void CallQueue::gather(MutexLock& lock) {
  const auto waits_for_disk = [](const GroupedCall* call) { return call->order() == Order::middle; };
  if (all_came() || std::ranges::none_of(queue_, waits_for_disk)) return;
  const Duration patience = pace_.patience();
  if (patience == Duration::zero()) return;
  const auto gone = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - answered_);
  if (gone >= patience) return;
  const std::size_t before = queue_.size();
  came_.wait_for(lock, patience - gone, [this]() HOLDFAST_REQUIRES(mutex_) { return all_came(); });
  pace_.gathered(queue_.size() > before);
}

// Its own call is the first of it.
std::vector<GroupedCall*> CallQueue::take_group(GroupedCall& leader) {
  MutexLock lock(mutex_);
  gather(lock);
  std::erase(queue_, &leader);
  std::vector<GroupedCall*> group{&leader};
  std::size_t items = leader.size();
  std::erase_if(queue_, [&](GroupedCall* call) {
    if (items + call->size() > items_) return false;
    items += call->size();
    group.push_back(call);
    return true;
  });
  items_queued_ -= items;
  return group;
}

}  // namespace holdfast::store
