#include "client/notifier.hpp"

#include "base/moments.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::client {
namespace {

// News may get lost between processes; then it is this late.
constexpr Duration kFloor = std::chrono::seconds(1);
// Callbacks that begin calls take no longer, as a rule.
constexpr Duration kCallbacksTake = std::chrono::milliseconds(5);

// The calling thread belongs to a client: it must not wait for one.
thread_local bool is_of_a_client = false;

}  // namespace

class Notifier::State : public std::enable_shared_from_this<State> {
 public:
  State(std::shared_ptr<Store> store, NotifierOptions options)
      : store_(std::move(store)),
        callbacks_(std::move(options.logger), [this] { wake_caller(); }),
        sender_(store_, options.retry_for, options.max_queued),
        watcher_(
            store_, [this] { wake_asker(); }, [this] { wake_caller(); }),
        questions_(store_, [this] { wake_asker(); }, [this] { wake_caller(); }) {}

  Sender& sender() noexcept { return sender_; }
  Watcher& watcher() noexcept { return watcher_; }
  Asker& questions() noexcept { return questions_; }

  /// Its threads run from now on.
  void begin();
  void stop();
  /// There is something to ask the store.
  void wake_asker() {
    const MutexLock lock(mutex_);
    if (std::exchange(asker_poked_, true)) return;
    if (listens_) listener_->interrupt();
    asker_woken_.notify_all();
  }

 private:
  void wake_caller() {
    const MutexLock lock(mutex_);
    if (std::exchange(caller_poked_, true)) return;
    caller_woken_.notify_all();
  }
  void ask();
  store::Wake wait_for_work();
  void wait_for_callbacks();
  void call();

  const std::shared_ptr<Store> store_;
  Callbacks callbacks_;
  Sender sender_;
  Watcher watcher_;
  Asker questions_;
  std::unique_ptr<store::Listener> listener_;  // made with the threads
  BootTime next_floor_ = kLongAgo;             // the asker's own
  BootTime next_answers_ = kLongAgo;           // likewise
  Duration sending_takes_{};                   // likewise: lately

  Mutex mutex_;
  Condition asker_woken_;
  Condition caller_woken_;
  Condition ended_;
  bool asker_poked_ HOLDFAST_GUARDED_BY(mutex_) = false;  // and it has not looked since
  bool caller_poked_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool listens_ HOLDFAST_GUARDED_BY(mutex_) = false;              // the asker waits for news
  bool calls_ HOLDFAST_GUARDED_BY(mutex_) = false;                // the caller is calling back
  bool waits_for_callbacks_ HOLDFAST_GUARDED_BY(mutex_) = false;  // the asker does
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool asked_all_ HOLDFAST_GUARDED_BY(mutex_) = false;  // the asker is at its end
  bool runs_ HOLDFAST_GUARDED_BY(mutex_) = false;       // the caller, which outlives the asker
  // Each keeps all of this alive.
  std::thread asker_ HOLDFAST_GUARDED_BY(mutex_);
  std::thread caller_ HOLDFAST_GUARDED_BY(mutex_);
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
  const auto wait = state_->watcher().wait_async(
      key, timeout, std::move(enough),
      [done = std::move(done), on_stop](Seen seen) { return done(std::move(seen)); });
  on_stop->emplace(stop, [wait, weak = std::weak_ptr(state_)] {
    if (const auto state = weak.lock()) state->watcher().give_up(wait);
  });
}

void Notifier::start(store::StartRequest request, Sender::Started done) {
  state_->begin();
  state_->sender().start(std::move(request), std::move(done));
  state_->wake_asker();
}

void Notifier::send(std::vector<store::ClientMessage> messages, Sender::Sent done) {
  state_->begin();
  state_->sender().send(std::move(messages), std::move(done));
  state_->wake_asker();
}

void Notifier::set_suspended(store::Suspension wish, Sender::Sent done) {
  state_->begin();
  state_->sender().set_suspended(std::move(wish), std::move(done));
  state_->wake_asker();
}

// The callback for a stop goes with `done`, and refers to nothing that refers to it: whoever requests a stop
// keeps what it needs for as long as that takes.
void Notifier::ask(store::Ask ask, std::string instance, Asker::Done done, const std::stop_token& stop) {
  state_->begin();
  if (!stop.stop_possible())
    return state_->questions().ask(std::move(ask), std::move(instance), std::move(done));
  using OnStop = std::stop_callback<std::function<void()>>;
  const auto on_stop = std::make_shared<std::optional<OnStop>>();
  const store::AskId id = ask.id;
  state_->questions().ask(
      std::move(ask), std::move(instance),
      [done = std::move(done), on_stop](Asker::Said said) { return done(std::move(said)); });
  on_stop->emplace(stop, [id, weak = std::weak_ptr(state_)] {
    if (const auto state = weak.lock()) state->questions().give_up(id);
  });
}

// Without threads nothing has begun, and the next call tries again.
void Notifier::State::begin() {
  const MutexLock lock(mutex_);
  if (stopping_) refuse_as_closed();
  if (runs_) return;
  if (!listener_) {
    listener_ = store_->listen(store::kWatched | store::kAnswers, {});
    watcher_.hear(*listener_);
    questions_.belong_to(weak_from_this());
  }
  if (!caller_.joinable()) caller_ = std::thread([self = shared_from_this()] { self->call(); });
  asker_ = std::thread([self = shared_from_this()] { self->ask(); });
  runs_ = true;
}

void Notifier::State::stop() {
  const bool may_wait = !is_of_a_client;
  std::thread asker;
  std::thread caller;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (listens_) listener_->interrupt();
    if (!asker_.joinable() && !runs_) asked_all_ = true;
    asker_woken_.notify_all();
    caller_woken_.notify_all();
    asker = std::move(asker_);
    caller = std::move(caller_);
    // Somebody else stops it.
    if (!caller.joinable() && may_wait)
      ended_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return !runs_; });
  }
  for (std::thread* const thread : {&asker, &caller}) {
    if (!thread->joinable()) continue;
    if (may_wait) {
      thread->join();
    } else {
      thread->detach();
    }
  }
}

// ---- the thread that asks the store

void Notifier::State::ask() {
  is_of_a_client = true;
  for (;;) {
    const store::Wake wake = wait_for_work();
    {
      const MutexLock lock(mutex_);
      if (stopping_) break;
    }
    wait_for_callbacks();
    const BootTime asked = store_->clock().boot_now();
    sender_.send_due(asked, callbacks_);
    const BootTime now = store_->clock().boot_now();
    sending_takes_ += (now - asked - sending_takes_) / 8;
    watcher_.look(wake, now);
    if (now >= next_floor_ && watcher_.has_waiters()) {
      watcher_.look_around();
      next_floor_ = after(now, kFloor);
    }
    watcher_.tell_seen(callbacks_);
    questions_.find_answerers();
    if (wake.work.has(store::kAnswers) || now >= next_answers_) {
      questions_.take_answers();
      next_answers_ = after(now, kFloor);
    }
  }
  sender_.finish(callbacks_);
  watcher_.abandon();
  questions_.abandon();
  watcher_.tell_seen(callbacks_);
  const MutexLock lock(mutex_);
  asked_all_ = true;
  caller_woken_.notify_all();
}

// Callbacks begin calls, as a rule: what all of them begin is sent together. They wait for that no longer
// than a part of what sending takes, since callbacks may take long.
void Notifier::State::wait_for_callbacks() {
  if (sender_.due() > store_->clock().boot_now()) return;
  MutexLock lock(mutex_);
  waits_for_callbacks_ = true;
  asker_woken_.wait_for(lock, std::min(sending_takes_ / 2, kCallbacksTake),
                        [this]() HOLDFAST_REQUIRES(mutex_) { return !calls_ || stopping_; });
  waits_for_callbacks_ = false;
}

// Between waits it goes on listening for a while: the next one comes soon, as a rule.
store::Wake Notifier::State::wait_for_work() {
  const auto due = [this] { return std::min({sender_.due(), watcher_.due(), questions_.due()}); };
  bool at_once = false;
  {
    MutexLock lock(mutex_);
    const auto has_to_look = [this]() HOLDFAST_REQUIRES(mutex_) { return asker_poked_ || stopping_; };
    while (!has_to_look() && !watcher_.has_waiters() && !questions_.has_shared() &&
           store_->clock().boot_now() >= next_floor_) {
      const BootTime now = store_->clock().boot_now();
      if (due() <= now) break;
      asker_woken_.wait_for(lock, left(due(), now), has_to_look);
    }
    at_once = has_to_look();
    asker_poked_ = false;
    listens_ = !at_once;
  }
  const BootTime now = store_->clock().boot_now();
  BootTime floor = std::max(next_floor_, now);
  if (questions_.has_shared()) {
    const BootTime answers = std::max(next_answers_, now);
    floor = watcher_.has_waiters() ? std::min(floor, answers) : answers;
  }
  store::Wake wake = listener_->wait(at_once ? now : std::min(due(), floor));
  const MutexLock lock(mutex_);
  listens_ = false;
  asker_poked_ = false;  // it looks now
  return wake;
}

// ---- the thread that calls back

void Notifier::State::call() {
  is_of_a_client = true;
  for (bool last = false; !last;) {
    {
      MutexLock lock(mutex_);
      const auto is_wanted = [this]() HOLDFAST_REQUIRES(mutex_) { return caller_poked_ || asked_all_; };
      const BootTime now = store_->clock().boot_now();
      const BootTime due = std::min(watcher_.ends(), questions_.ends());
      if (due > now) caller_woken_.wait_for(lock, left(due, now), is_wanted);
      caller_poked_ = false;
      last = asked_all_;
      calls_ = true;
    }
    const BootTime now = store_->clock().boot_now();
    watcher_.tell_ends(now, callbacks_);
    questions_.tell(now, callbacks_);
    callbacks_.call();
    const MutexLock lock(mutex_);
    calls_ = false;
    if (waits_for_callbacks_) asker_woken_.notify_all();
  }
  const MutexLock lock(mutex_);
  runs_ = false;
  ended_.notify_all();
}

}  // namespace holdfast::client
