#include "runtime/driver.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::runtime {

using namespace std::chrono_literals;

void Driver::poke(Step step) {
  Signal& signal = signal_of(step);
  {
    const MutexLock lock(signal.mutex);
    signal.poked = true;
    if (full(signal)) return;  // whoever ends first looks again
  }
  signal.changed.notify_one();
}

void Driver::start(const std::shared_ptr<Node>& node, std::size_t turn_threads) {
  listen_as(*node);
  {
    Signal& turns = signal_of(Step::turns);
    const MutexLock lock(turns.mutex);
    turns.allowed = turn_threads;
  }
  for (std::size_t i = 0; i < turn_threads; ++i) make_thread(node, Step::turns);
  for (const Step step : {Step::activities, Step::answers, Step::keep, Step::limits}) make_thread(node, step);
  const MutexLock lock(threads_mutex_);
  threads_.emplace_back([self = shared_from_this(), node] { self->listen(*node); });
}

void Driver::make_thread(const std::shared_ptr<Node>& node, Step step) {
  const MutexLock lock(threads_mutex_);
  threads_.emplace_back([self = shared_from_this(), node, step] { self->drive(node, step); });
}

// The limits step goes on until the others have come to their end, since it is what gives up those that
// don't.
std::size_t Driver::stop() {
  for (const Step step : {Step::turns, Step::activities, Step::answers, Step::keep, Step::limits})
    end_step(step);
  {
    const MutexLock lock(listener_mutex_);
    stopping_ = true;
    if (listener_) listener_->interrupt();
  }
  Signal& turns = signal_of(Step::turns);
  StuckThreads stuck;
  {
    const MutexLock lock(turns.mutex);
    stuck = turns.stuck;
  }
  const MutexLock lock(threads_mutex_);
  for (std::thread& thread : threads_) {
    if (stuck.contains(thread.get_id())) {
      thread.detach();
    } else {
      thread.join();
    }
  }
  threads_.clear();
  return stuck.size();
}

void Driver::end_step(Step step) {
  Signal& signal = signal_of(step);
  MutexLock lock(signal.mutex);
  signal.ended = true;
  signal.changed.notify_all();
  signal.changed.wait(
      lock, [&]() HOLDFAST_REQUIRES(signal.mutex) { return signal.running == signal.stuck.size(); });
}

void Driver::drive(const std::shared_ptr<Node>& node, Step step) {
  Signal& signal = signal_of(step);
  while (wait_to_begin(signal)) {
    const Progress progress = node->run(step);
    if (!progress.stuck.empty()) replace(node, progress.stuck);
    end(signal, progress);
    if (progress.came_back) return;  // another one has taken its place
  }
}

void Driver::replace(const std::shared_ptr<Node>& node, const std::vector<std::thread::id>& stuck) {
  Signal& signal = signal_of(Step::turns);
  for (const std::thread::id id : stuck) {
    if (is_own(id)) make_thread(node, Step::turns);
    const MutexLock lock(signal.mutex);
    signal.stuck.given_up(id);
  }
  signal.changed.notify_all();
}

bool Driver::is_own(std::thread::id id) {
  const MutexLock lock(threads_mutex_);
  return std::ranges::any_of(threads_, [id](const std::thread& thread) { return thread.get_id() == id; });
}

bool Driver::help(Node& node, Step step) {
  Signal& signal = signal_of(step);
  {
    const MutexLock lock(signal.mutex);
    signal.poked = true;
    if (!begin(signal)) return false;
  }
  end(signal, node.run(step));
  const MutexLock lock(signal.mutex);
  return wanted(signal) && !full(signal) && !signal.ended;
}

// False when it is time to stop.
bool Driver::wait_to_begin(Signal& signal) {
  MutexLock lock(signal.mutex);
  while (!signal.ended) {
    if (wanted(signal)) {
      if (begin(signal)) return true;
      signal.changed.wait(lock);  // whoever ends first looks again
    } else {
      signal.changed.wait_for(lock, left(signal.due, clock_.boot_now()));
    }
  }
  return false;
}

// False when it runs in as many threads as it may.
bool Driver::begin(Signal& signal) {
  if (signal.ended || full(signal)) return false;
  ++signal.running;
  signal.poked = false;
  if (signal.due <= clock_.boot_now()) signal.due = BootTime::max();
  return true;
}

// A due time that is no longer one costs a look; one that is lost would cost a timer.
void Driver::end(Signal& signal, const Progress& progress) {
  const MutexLock lock(signal.mutex);
  --signal.running;
  if (progress.came_back) signal.stuck.came_back(std::this_thread::get_id());
  signal.poked = signal.poked || progress.progressed;
  const bool earlier = progress.next_due < signal.due;
  if (earlier) signal.due = progress.next_due;
  if (earlier || signal.ended) signal.changed.notify_all();
}

// Cancels are heard under the key of the registration.
void Driver::listen_as(Node& node) {
  const WorkerKey key = node.standing().key();
  if (listener_ && key == listening_for_) return;
  auto listener = node.settings().store->listen(
      store::kTurns | store::kActivities | store::kCancels | store::kSweep, key);
  const MutexLock lock(listener_mutex_);
  listener_ = std::move(listener);
  listening_for_ = key;
}

// News that gets lost on its way between processes is made up for once per second.
void Driver::listen(Node& node) {
  while (!stopping_) {
    listen_as(node);
    const store::Wake wake = listener_->wait(clock_.boot_now() + 1s);
    if (stopping_) return;
    if (wake.work.empty()) {
      node.look_again();
    } else {
      node.hear(wake);
    }
  }
}

}  // namespace holdfast::runtime
