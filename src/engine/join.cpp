#include <holdfast/combinators.hpp>

#include <utility>

namespace holdfast::detail {

Join::Join(std::vector<JoinPart> parts, JoinUntil until) : parts_(std::move(parts)), until_(until) {
  for (const JoinPart& part : parts_) {
    if (!part.state->ready()) {
      ++open_;
      owned_open_ += part.owned ? 1 : 0;
    } else if (part.state->failed) {
      failed_ = true;
    }
  }
}

bool Join::satisfied() const noexcept {
  if (open_ == 0) return true;
  switch (until_) {
    case JoinUntil::all_or_failure:
      return failed_ && may_drop();
    case JoinUntil::all:
      return false;
    case JoinUntil::any:
    case JoinUntil::next:
      return open_ < parts_.size() && (!failed_ || may_drop());
  }
  return true;
}

// A request to cancel fails the parts that it reaches. The others, which are in a shield or tidy up in one,
// are not dropped for it: they end first.
bool Join::may_drop() const noexcept {
  const bool cancelled = core_ != nullptr && core_->cancel_request() && !shielded_;
  return !cancelled || owned_open_ == 0;
}

bool Join::suspend(std::coroutine_handle<> frame, PromiseBase& promise) {
  Core& core = *promise.core;
  if (core.stopped()) return true;
  core_ = &core;
  shielded_ = promise.shielded;
  // After a request to cancel nobody outside of a shield begins to wait for an operation that others keep
  // going. A task that is in a shield is waited for, as by an await.
  const bool cancelled = core.cancel_request() && !shielded_;
  const auto is_given_up = [cancelled](const JoinPart& part) {
    return cancelled && !part.owned && !part.state->ready() && part.state->task == nullptr;
  };
  for (const JoinPart& part : parts_) {
    if (!is_given_up(part)) continue;
    --open_;
    failed_ = true;
    interrupted_ = true;
  }
  if (satisfied()) {
    interrupted_ = core.interrupts(promise);
    return interrupted_ ? core.is_over() : core.stopped();
  }
  waiter_.suspend(frame, promise);
  arms_ = std::make_unique<Arm[]>(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Arm& arm = arms_[i];
    arm.join = this;
    arm.part = parts_[i];
    arm.shielded = promise.shielded;
    arm.resume = [](Waiter& self) {
      auto& arm_of_part = static_cast<Arm&>(self);
      arm_of_part.join->part_ended(arm_of_part);
    };
    if (!parts_[i].state->ready() && !is_given_up(parts_[i])) parts_[i].state->waiters.push_back(arm);
  }
  return true;
}

// The part has its outcome, or a request to cancel has ended the wait for one that goes on.
void Join::part_ended(const Arm& arm) {
  if (satisfied()) return;  // the frame is on its way already
  const OpState& state = *arm.part.state;
  --open_;
  owned_open_ -= arm.part.owned ? 1 : 0;
  failed_ |= state.failed || arm.interrupted;
  interrupted_ |= arm.interrupted;
  if (satisfied()) state.core->make_ready(waiter_);
}

std::vector<Undoing*> Join::drop_rest() const {
  if (open_ == 0 || core_->stopped()) return {};
  const Dropping dropping(*parts_.front().state->core);
  for (const JoinPart& part : parts_) {
    OpState& state = *part.state;
    const bool goes_on = state.task && !state.ready();
    if (part.owned && goes_on && !state.core->runs_inside(state)) state.core->drop_frame(state);
  }
  return dropping.left();
}

void Join::throw_not_undone(const Failure& why) const {
  const std::optional<std::size_t> part = decided();
  if (!part || !failed(*part)) throw_failure(not_undone(why));
  OpState& state = *parts_[*part].state;
  state.told = true;
  Failure first = state.task ? failure_of(state.task_promise->error) : *state.failure;
  throw_failure(with_last_cause(std::move(first), not_undone(why)));
}

std::optional<std::size_t> Join::decided() const {
  // What failed in a list of outcomes may have failed by the request: nobody is to count that as a failure.
  const bool gives_outcomes = until_ == JoinUntil::all || until_ == JoinUntil::next;
  const bool stopped_short = gives_outcomes && failed_ && core_->cancel_request() && !shielded_;
  if (interrupted_ || stopped_short) throw Cancelled(*core_->cancel_request());
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const OpState& part = *parts_[i].state;
    const bool any = until_ == JoinUntil::any || until_ == JoinUntil::next;
    if (!part.ready() || (!any && !part.failed)) continue;
    if (!first || part.completed_at < parts_[*first].state->completed_at) first = i;
  }
  return first;
}

}  // namespace holdfast::detail
