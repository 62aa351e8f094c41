#include "client/callbacks.hpp"

#include <exception>
#include <stdexcept>

namespace holdfast::client {
namespace {

thread_local bool in_callback = false;

}  // namespace

void refuse_as_closed() { throw std::logic_error("holdfast: this client was closed"); }

bool Callbacks::is_here() noexcept { return in_callback; }

void Callbacks::add(Callback callback) {
  {
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(callback));
  }
  poke_();
}

bool Callbacks::any() const {
  const MutexLock lock(mutex_);
  return !queue_.empty();
}

void Callbacks::call() {
  std::vector<Callback> queue;
  {
    const MutexLock lock(mutex_);
    queue = std::exchange(queue_, {});
  }
  for (Callback& callback : queue) call(std::exchange(callback, nullptr));
}

// What it holds is the user's as well, and is destroyed as a part of the call.
void Callbacks::call(Callback callback) const noexcept {
  in_callback = true;
  try {
    const Callback own(std::move(callback));
    own();
  } catch (const std::exception& e) {
    say(e.what());
  } catch (...) {
    say("what it threw is no std::exception");
  }
  in_callback = false;
}

void Callbacks::say(std::string_view what) const noexcept {
  try {
    const std::shared_ptr<Logger> logger = logger_ ? logger_ : stderr_logger(LogLevel::info);
    log(*logger, LogLevel::error, "a callback of a client call threw", {{"error", what}});
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
  }
}

}  // namespace holdfast::client
