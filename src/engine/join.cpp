#include <holdfast/combinators.hpp>

#include <utility>

namespace holdfast::detail {

Join::Join(std::vector<OpState*> parts, JoinUntil until) : parts_(std::move(parts)), until_(until) {
  for (const OpState* part : parts_) {
    if (!part->ready()) ++open_;
    failed_ |= part->ready() && part->failed;
  }
}

bool Join::satisfied() const noexcept {
  switch (until_) {
    case JoinUntil::all_or_failure:
      return open_ == 0 || failed_;
    case JoinUntil::all:
      return open_ == 0;
    case JoinUntil::any:
      return open_ < parts_.size();
  }
  return true;
}

bool Join::suspend(std::coroutine_handle<> frame, PromiseBase& promise) {
  Core& core = *promise.core;
  if (core.stopped()) return true;
  const bool interrupted = core.interrupts(promise);
  if (core.stopped()) return true;
  if (satisfied()) {
    // Outcomes say for themselves that a part was cancelled.
    if (interrupted && until_ != JoinUntil::all) interrupted_by_ = &core;
    return false;
  }
  // What is open in spite of a request to cancel is inside a shield, and is waited for.
  waiter_.suspend(frame, promise);
  arms_ = std::make_unique<Arm[]>(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Arm& arm = arms_[i];
    arm.join = this;
    arm.part = parts_[i];
    arm.shielded = promise.shielded;
    arm.resume = [](Waiter& self) {
      auto& completed = static_cast<Arm&>(self);
      completed.join->part_completed(*completed.part);
    };
    if (!parts_[i]->ready()) parts_[i]->waiters.push_back(arm);
  }
  return true;
}

void Join::part_completed(const OpState& part) {
  if (satisfied()) return;  // the frame is on its way already
  --open_;
  failed_ |= part.failed;
  if (satisfied()) part.core->make_ready(waiter_);
}

std::optional<std::size_t> Join::decided() const {
  if (interrupted_by_ != nullptr) throw Cancelled(*interrupted_by_->cancel_request());
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i]->ready() || (until_ != JoinUntil::any && !parts_[i]->failed)) continue;
    if (!first || parts_[i]->completed_at < parts_[*first]->completed_at) first = i;
  }
  return first;
}

}  // namespace holdfast::detail
