#include "contract/group_commit.hpp"

#include "contract/futex.hpp"

#include <algorithm>

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
  const Afterwards afterwards = lead(group);
  if (!afterwards) pass_on();
  for (GroupedCall* done : group) {
    if (done != &call) done->tell(GroupedCall::kDone);
  }
  if (!afterwards) return;
  afterwards();
  pass_on();
}

void CallQueue::enqueue(GroupedCall& call) {
  const MutexLock lock(mutex_);
  queue_.push_back(&call);
  if (leading_ == leaders_) return;
  ++leading_;
  call.state_.store(GroupedCall::kLeads, std::memory_order_relaxed);  // nobody waits for it yet
}

void refuse_to_write(GroupedCall& call) {
  const StoreError error{.kind = StoreError::Kind::invalid,
                         .message = "the store was opened with read_only, and this would change it"};
  for (std::size_t item = 0; item < call.size(); ++item) call.fail(item, error);
}

void CallQueue::pass_on() {
  const MutexLock lock(mutex_);
  const auto next = std::ranges::find_if(queue_, [](const GroupedCall* call) {
    return call->state_.load(std::memory_order_relaxed) == GroupedCall::kWaits;
  });
  if (next == queue_.end()) {
    --leading_;
  } else {
    (*next)->tell(GroupedCall::kLeads);
  }
}

// Its own call is the first of it; those that lead another group are not taken.
std::vector<GroupedCall*> CallQueue::take_group(GroupedCall& leader) {
  const MutexLock lock(mutex_);
  std::erase(queue_, &leader);
  std::vector<GroupedCall*> group{&leader};
  std::size_t items = leader.size();
  std::erase_if(queue_, [&](GroupedCall* call) {
    if (call->state_.load(std::memory_order_relaxed) != GroupedCall::kWaits) return false;
    if (items + call->size() > items_) return false;
    items += call->size();
    group.push_back(call);
    return true;
  });
  return group;
}

}  // namespace holdfast::store
