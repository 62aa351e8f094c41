// ActivityCall: one attempt of an activity that this worker has in its hands.
#pragma once

#include "base/moments.hpp"
#include "base/mutex.hpp"
#include "client/bodies.hpp"
#include "codec/operation.hpp"
#include "runtime/executor.hpp"
#include "runtime/registry.hpp"
#include "runtime/session_stay.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/detail/activity_code.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/activities.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::detail {

/// The type of the failure of ActivityContext::throw_if_stopping().
inline constexpr std::string_view kStoppedType = "asked_to_stop";

/// Shared by the thread that runs the code and the steps. What is not const is atomic or behind the mutex.
class ActivityCall {
 public:
  ActivityCall(store::LockedActivity locked, LockToken token, bodies::Activity body,
               std::shared_ptr<const ActivityCode> code, std::unique_ptr<runtime::SessionStay> stay,
               const runtime::Registry& registry, const Clock& clock, BootTime started,
               std::uint64_t payload_limit)
      : locked_(std::move(locked)),
        scheduled_(std::move(body.scheduled)),
        key_(body.key),
        code_(std::move(code)),
        stay_(std::move(stay)),
        registry_(registry),
        clock_(clock),
        started_(started),
        deadline_(deadline_of(scheduled_, started)),
        payload_limit_(payload_limit),
        end_(code_->is_coroutine() ? std::stop_source() : std::stop_source(std::nostopstate)),
        token_(token) {}

  [[nodiscard]] const store::LockedActivity& locked() const noexcept { return locked_; }
  [[nodiscard]] const store::ActivityId& id() const noexcept { return locked_.id; }
  /// What it is locked by; another one after a lease that was over, see ActivityDesk.
  [[nodiscard]] LockToken token() const {
    const MutexLock lock(mutex_);
    return token_;
  }
  void set_token(LockToken token) {
    const MutexLock lock(mutex_);
    token_ = token;
  }
  [[nodiscard]] const ActivityScheduled& scheduled() const noexcept { return scheduled_; }
  [[nodiscard]] OperationKey key() const noexcept { return key_; }
  /// Its part in its session; null when it has none.
  [[nodiscard]] runtime::SessionStay* stay() const noexcept { return stay_.get(); }
  [[nodiscard]] const runtime::Registry& registry() const noexcept { return registry_; }
  /// Whether its code may block. Coroutines share a thread.
  [[nodiscard]] bool may_wait() const noexcept { return may_wait_ && !code_->is_coroutine(); }
  /// Begins to run the code. `completion` is of this call.
  void invoke(runtime::Executor& threads, Completion completion) {
    may_wait_ = threads.may_wait();
    code_->invoke({context_, scheduled_.input, threads, end_.get_token(), key_}, std::move(completion));
  }
  [[nodiscard]] BootTime started() const noexcept { return started_; }
  /// When the attempt has taken too long.
  [[nodiscard]] BootTime deadline() const noexcept { return deadline_; }
  [[nodiscard]] BootTime now() const noexcept { return clock_.boot_now(); }
  [[nodiscard]] CalendarTime calendar_now() const noexcept { return clock_.calendar_now(); }
  [[nodiscard]] std::uint64_t payload_limit() const noexcept { return payload_limit_; }
  [[nodiscard]] bool too_large(const Payload& payload) const noexcept {
    return payload_limit_ != 0 && payload.bytes.size() > payload_limit_;
  }

  /// True for the first caller: its answer counts, all others are late.
  bool answer() noexcept { return !answered_.exchange(true); }
  [[nodiscard]] bool answered() const noexcept { return answered_.load(); }

  /// Why the code is to stop; the first reason stays.
  void give_reason(CancelReason reason) noexcept {
    int none = -1;
    reason_.compare_exchange_strong(none, static_cast<int>(reason));
  }
  /// Asks the code to stop. Callbacks of the token are code of the user, and run in here.
  void stop() { stop_source().request_stop(); }
  [[nodiscard]] bool was_asked_to_stop() const {
    const MutexLock lock(mutex_);
    return stop_.stop_requested();
  }
  /// Ends code that has not stopped in its grace, where that is possible.
  [[nodiscard]] bool can_be_ended() const noexcept { return end_.stop_possible(); }
  void end() { end_.request_stop(); }
  [[nodiscard]] std::stop_token stop_token() const { return stop_source().get_token(); }
  [[nodiscard]] std::optional<CancelReason> reason() const noexcept {
    const int reason = reason_.load();
    if (reason < 0) return std::nullopt;
    return static_cast<CancelReason>(reason);
  }

  void set_progress(std::string bytes) {
    const MutexLock lock(mutex_);
    progress_ = bytes;
    unsent_progress_ = std::move(bytes);
  }
  [[nodiscard]] std::string progress() const {
    const MutexLock lock(mutex_);
    return progress_ ? *progress_ : locked_.progress;
  }
  std::optional<std::string> take_unsent_progress() {
    const MutexLock lock(mutex_);
    return std::exchange(unsent_progress_, std::nullopt);
  }
  /// It could not be sent; what was said since then counts more.
  void give_back_progress(std::string bytes) {
    const MutexLock lock(mutex_);
    if (!unsent_progress_) unsent_progress_ = std::move(bytes);
  }
  /// What this attempt said last, sent or not.
  [[nodiscard]] std::optional<std::string> own_progress() const {
    const MutexLock lock(mutex_);
    return progress_;
  }

 private:
  [[nodiscard]] std::stop_source stop_source() const {
    const MutexLock lock(mutex_);
    if (!stop_.stop_possible()) stop_ = std::stop_source();
    return stop_;
  }
  static BootTime deadline_of(const ActivityScheduled& scheduled, BootTime started) {
    return after(started, scheduled.settings->timeout.value_or(never));
  }

  const store::LockedActivity locked_;
  const ActivityScheduled scheduled_;
  const OperationKey key_;
  const std::shared_ptr<const ActivityCode> code_;
  const std::unique_ptr<runtime::SessionStay> stay_;
  const runtime::Registry& registry_;
  const Clock& clock_;
  const BootTime started_;
  const BootTime deadline_;
  const std::uint64_t payload_limit_;
  bool may_wait_ = true;
  std::atomic<bool> answered_{false};
  std::atomic<int> reason_{-1};
  std::stop_source end_;
  ActivityContext context_{*this};
  mutable Mutex mutex_;
  LockToken token_ HOLDFAST_GUARDED_BY(mutex_);
  /// Made when somebody asks for it: most code never does, and it costs memory of its own.
  mutable std::stop_source stop_ HOLDFAST_GUARDED_BY(mutex_){std::nostopstate};
  std::optional<std::string> progress_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<std::string> unsent_progress_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::detail
