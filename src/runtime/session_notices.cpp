#include "runtime/session_notices.hpp"

#include "base/failure_text.hpp"

#include <exception>
#include <utility>

namespace holdfast::runtime {

void SessionNotices::note(const SessionChange& change) {
  using Kind = SessionChange::Kind;
  const bool came = change.kind == Kind::claimed || change.kind == Kind::came;
  if (!came && change.kind != Kind::left) return;
  const SessionHooks& hooks = settings_.registry.hooks();
  const SessionHook& hook = came ? hooks.acquired : hooks.released;
  if (!hook) return;
  SessionNotice notice{change.hold.id, change.hold.generation, change.reason, change.from};
  const MutexLock lock(mutex_);
  notices_.emplace_back([&hook, notice = std::move(notice)] { hook(notice); });
}

void SessionNotices::note_superseded() {
  const auto& hook = settings_.registry.hooks().superseded;
  if (!hook) return;
  const MutexLock lock(mutex_);
  notices_.emplace_back(hook);
}

void SessionNotices::begin() {
  {
    const MutexLock lock(mutex_);
    if (notices_.empty() || std::exchange(telling_, true)) return;
  }
  jobs_.run([this] { tell_all(); });
}

void SessionNotices::tell_all() {
  for (;;) {
    std::function<void()> notice;
    {
      const MutexLock lock(mutex_);
      if (notices_.empty()) {
        telling_ = false;
        return;
      }
      notice = std::move(notices_.front());
      notices_.pop_front();
    }
    try {
      notice();
    } catch (const std::exception& e) {
      log(*settings_.logger, LogLevel::error, "a hook has thrown", {{"error", detail::failure_text(e)}});
    } catch (...) {
      log(*settings_.logger, LogLevel::error, "a hook has thrown");
    }
  }
}

}  // namespace holdfast::runtime
