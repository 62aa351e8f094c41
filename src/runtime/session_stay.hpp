// SessionStay: one activity in its session, from its lock to the end of its code and its answer.
#pragma once

#include "base/mutex.hpp"
#include "runtime/session_memory.hpp"

#include <holdfast/activity_context.hpp>
#include <holdfast/store/sessions.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace holdfast::runtime {

/// Belongs to its call, and ends with it. What the code of the activity calls may come from any of its
/// threads, the rest from one at a time.
class SessionStay {
 public:
  /// `left` is called once, when it is over; `aborted`: it has ended the session.
  SessionStay(ActivitySession shown, std::shared_ptr<SessionMemory> memory,
              std::function<void(bool aborted)> left)
      : shown_(std::move(shown)), memory_(std::move(memory)), left_(std::move(left)) {}
  ~SessionStay() {
    memory_->end_of_use(use_, recorded_);
    memory_.reset();
    left_(recorded_ && abort_.has_value());
  }
  SessionStay(const SessionStay&) = delete;
  SessionStay& operator=(const SessionStay&) = delete;

  [[nodiscard]] const std::optional<ActivitySession>& shown() const noexcept { return shown_; }

  [[nodiscard]] const SessionMemory* memory() const noexcept { return memory_.get(); }

  void* state(const detail::SessionStateCode& code, const std::stop_token& stop, bool may_wait) {
    return memory_->state(code, shown_->generation, use_, stop, may_wait);
  }
  void* state(const detail::SessionStateCode& code, std::function<void()> when_free) {
    return memory_->state(code, shown_->generation, use_, std::move(when_free));
  }
  void abort(std::string_view reason) {
    const MutexLock lock(mutex_);
    abort_ = reason;
  }

  /// The code has returned: what goes with the answer.
  [[nodiscard]] std::optional<std::string> abort_reason() const {
    const MutexLock lock(mutex_);
    return abort_;
  }
  std::optional<store::SessionSave> end_of_code(bool succeeded) {
    auto bytes = memory_->end_of_code(use_, succeeded);
    if (!bytes) return std::nullopt;
    return store::SessionSave{.bytes = *std::move(bytes), .required = true};
  }
  /// Whether the store did not answer when a state was to be made: that is no fault of the attempt.
  [[nodiscard]] bool unanswered() const noexcept { return use_.unanswered; }
  /// The store has recorded its outcome, and what came with it.
  void recorded() noexcept { recorded_ = true; }

 private:
  const std::optional<ActivitySession> shown_;
  std::shared_ptr<SessionMemory> memory_;
  std::function<void(bool)> left_;
  SessionMemory::Use use_;
  mutable Mutex mutex_;
  std::optional<std::string> abort_ HOLDFAST_GUARDED_BY(mutex_);
  bool recorded_ = false;
};

}  // namespace holdfast::runtime
