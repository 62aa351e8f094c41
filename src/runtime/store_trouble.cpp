#include "runtime/store_trouble.hpp"

#include <holdfast/log.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::runtime {

using namespace std::chrono_literals;

Duration BackOff::next(Duration first) noexcept {
  pause_ = std::clamp<Duration>(pause_ * 2, first, 1s);
  return pause_;
}

BootTime StoreTrouble::failed(std::string_view what, const StoreError& error) {
  const BootTime now = settings_.now();
  if (error.kind == StoreError::Kind::busy) {
    settings_.counters.store_busy.add();
    const Verdict verdict = locked_out(now);
    if (verdict.say) {
      log(*settings_.logger, LogLevel::warn,
          "another transaction has locked rows that this worker needs; trying again",
          {{"what", what}, {"error", error.message}});
    }
    return verdict.due;
  }
  // It did answer: that this worker has no standing there, or that something is gone. Whoever acts on it says
  // so.
  const bool answered =
      error.kind == StoreError::Kind::superseded || error.kind == StoreError::Kind::not_found;
  if (!answered) settings_.counters.store_errors.add();
  // Of a store that is shut whoever leaves says so, once.
  const Verdict verdict = unanswered(now, !answered && !settings_.store->is_shut());
  if (verdict.say) {
    log(*settings_.logger, LogLevel::warn, "the store could not answer; trying again",
        {{"what", what}, {"kind", to_string(error.kind)}, {"error", error.message}});
  }
  return verdict.due;
}

StoreTrouble::Verdict StoreTrouble::locked_out(BootTime now) {
  const MutexLock lock(mutex_);
  const bool say = now >= say_locked_from_;
  if (say) say_locked_from_ = after(now, 10s);
  return {after(now, kLockedPause), say};
}

StoreTrouble::Verdict StoreTrouble::unanswered(BootTime now, bool may_say) {
  const MutexLock lock(mutex_);
  if (now >= due_) due_ = after(now, back_off_.next());
  const bool say = may_say && (!said_ || now - last_said_ >= 1s);
  if (say) {
    said_ = true;
    last_said_ = now;
  }
  return {due_, say};
}

void StoreTrouble::worked() {
  bool say = false;
  {
    const MutexLock lock(mutex_);
    if (!back_off_.began()) return;
    back_off_ = {};
    due_ = BootTime::min();
    say = std::exchange(said_, false);
  }
  if (say) log(*settings_.logger, LogLevel::info, "the store answers again");
}

}  // namespace holdfast::runtime
