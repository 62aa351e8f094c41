#include "runtime/store_gate.hpp"

namespace holdfast::runtime {

void StoreGate::close_at(BootTime time) {
  const MutexLock lock(mutex_);
  closes_at_ = time;
}

bool StoreGate::is_shut() const {
  const MutexLock lock(mutex_);
  return unanswered_ && closes_at_ != BootTime::max() && clock().boot_now() >= closes_at_;
}

// Once it is closed, the calls that are under way show whether the store answers.
std::optional<StoreError> StoreGate::enter() {
  MutexLock lock(mutex_);
  if (closes_at_ != BootTime::max() && clock().boot_now() >= closes_at_) {
    changed_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return unanswered_ || under_way_ == 0; });
    if (unanswered_)
      return StoreError{
          .kind = StoreError::Kind::unavailable,
          .message = "the worker has no more time, and the store did not answer it: " + *unanswered_};
  }
  ++under_way_;
  return std::nullopt;
}

void StoreGate::leave_with(std::optional<std::string> unanswered) {
  const MutexLock lock(mutex_);
  --under_way_;
  unanswered_ = std::move(unanswered);
  changed_.notify_all();
}

}  // namespace holdfast::runtime
