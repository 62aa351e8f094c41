#include "client/notifier.hpp"

#include "base/moments.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::client {
namespace {

// News may get lost between processes; then it is this late.
constexpr Duration kFloor = std::chrono::seconds(1);

}  // namespace

class Notifier::State : public std::enable_shared_from_this<State> {
 public:
  State(std::shared_ptr<Store> store, NotifierOptions options)
      : store_(std::move(store)),
        callbacks_(std::move(options.logger)),
        sender_(store_, options.retry_for, options.max_queued),
        watcher_(store_, [this] { poke(); }) {}

  Sender& sender() noexcept { return sender_; }
  Watcher& watcher() noexcept { return watcher_; }

  /// There is something to do.
  void poke() {
    const MutexLock lock(mutex_);
    if (std::exchange(poked_, true)) return;
    if (listens_) listener_->interrupt();
    changed_.notify_all();
  }
  /// Its thread runs from now on.
  void begin();
  void stop();

 private:
  void run();
  store::Wake sleep();
  [[nodiscard]] BootTime due(BootTime now) const;

  const std::shared_ptr<Store> store_;
  const Callbacks callbacks_;
  Sender sender_;
  Watcher watcher_;
  std::unique_ptr<store::Listener> listener_;  // made with the thread
  BootTime next_floor_ = kLongAgo;             // the thread's own

  Mutex mutex_;
  Condition changed_;
  bool poked_ HOLDFAST_GUARDED_BY(mutex_) = false;    // and the thread has not looked since
  bool listens_ HOLDFAST_GUARDED_BY(mutex_) = false;  // it waits for news
  bool runs_ HOLDFAST_GUARDED_BY(mutex_) = false;     // its thread, which keeps all of this alive
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::thread thread_ HOLDFAST_GUARDED_BY(mutex_);
};

Notifier::Notifier(std::shared_ptr<Store> store, NotifierOptions options)
    : state_(std::make_shared<State>(std::move(store), std::move(options))) {}

Notifier::~Notifier() { state_->stop(); }
void Notifier::close() { state_->stop(); }

Seen Notifier::wait(InstanceKey key, Duration timeout, const Watcher::Enough& enough) {
  state_->begin();
  return state_->watcher().wait(key, timeout, enough);
}

void Notifier::wait_async(InstanceKey key, Duration timeout, Watcher::Enough enough, Watcher::Done done,
                          const std::stop_token& stop) {
  state_->begin();
  if (!stop.stop_possible()) {
    state_->watcher().wait_async(key, timeout, std::move(enough), std::move(done));
    return;
  }
  // It goes with `done`; whoever requests a stop keeps what it needs for as long as that takes.
  using OnStop = std::stop_callback<std::function<void()>>;
  const auto on_stop = std::make_shared<std::optional<OnStop>>();
  const auto wait =
      state_->watcher().wait_async(key, timeout, std::move(enough),
                                   [done = std::move(done), on_stop](Seen seen) { done(std::move(seen)); });
  on_stop->emplace(stop, [wait, weak = std::weak_ptr(state_)] {
    if (const auto state = weak.lock()) state->watcher().give_up(wait);
  });
}

void Notifier::start(store::StartRequest request, Sender::Started done) {
  state_->begin();
  state_->sender().start(std::move(request), std::move(done));
  state_->poke();
}

void Notifier::send(std::vector<store::ClientMessage> messages, Sender::Sent done) {
  state_->begin();
  state_->sender().send(std::move(messages), std::move(done));
  state_->poke();
}

void Notifier::State::begin() {
  const MutexLock lock(mutex_);
  if (stopping_) refuse_as_closed();
  if (listener_) return;
  listener_ = store_->listen(store::kWatched, {});
  watcher_.hear(*listener_);
  runs_ = true;
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
}

void Notifier::State::stop() {
  const bool may_wait = !Callbacks::is_here();  // that may be this thread, which would wait for itself
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (listens_) listener_->interrupt();
    changed_.notify_all();
    thread = std::move(thread_);
    // Somebody else stops it.
    if (!thread.joinable() && may_wait)
      changed_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return !runs_; });
  }
  if (!thread.joinable()) return;
  if (may_wait) {
    thread.join();
  } else {
    thread.detach();
  }
}

void Notifier::State::run() {
  for (;;) {
    const store::Wake wake = sleep();
    {
      const MutexLock lock(mutex_);
      if (stopping_) break;
    }
    sender_.send_due(store_->clock().boot_now(), callbacks_);
    const BootTime now = store_->clock().boot_now();
    watcher_.look(wake, now);
    if (now >= next_floor_ && watcher_.has_waiters()) {
      watcher_.look_around();
      next_floor_ = after(now, kFloor);
    }
    watcher_.tell(callbacks_);
  }
  sender_.finish(callbacks_);
  watcher_.abandon();
  watcher_.tell(callbacks_);
  const MutexLock lock(mutex_);
  runs_ = false;
  changed_.notify_all();
}

// Between waits it goes on listening for a while: the next one comes soon, as a rule.
store::Wake Notifier::State::sleep() {
  bool at_once = false;
  {
    MutexLock lock(mutex_);
    const auto has_to_look = [this]() HOLDFAST_REQUIRES(mutex_) { return poked_ || stopping_; };
    while (!has_to_look() && !watcher_.has_waiters() && store_->clock().boot_now() >= next_floor_) {
      const BootTime due = sender_.due();
      const BootTime now = store_->clock().boot_now();
      if (due <= now) break;
      changed_.wait_for(lock, left(due, now), has_to_look);
    }
    at_once = has_to_look();
    poked_ = false;
    listens_ = !at_once;
  }
  const BootTime now = store_->clock().boot_now();
  store::Wake wake = listener_->wait(at_once ? now : due(now));
  const MutexLock lock(mutex_);
  listens_ = false;
  poked_ = false;  // it looks now
  return wake;
}

BootTime Notifier::State::due(BootTime now) const {
  return std::min({sender_.due(), watcher_.due(), std::max(next_floor_, now)});
}

}  // namespace holdfast::client
