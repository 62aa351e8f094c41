#include "runtime/driver.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::runtime {

using namespace std::chrono_literals;

Driver::~Driver() { stop(); }

void Driver::poke(Step step) {
  Signal& signal = signal_of(step);
  {
    const std::lock_guard lock(signal.mutex);
    signal.poked = true;
    if (signal.running == signal.allowed) return;  // whoever ends first looks again
  }
  signal.changed.notify_one();
}

void Driver::start(Node& node, std::size_t turn_threads) {
  listen_as(node);
  signal_of(Step::turns).allowed = turn_threads;
  for (std::size_t i = 0; i < turn_threads; ++i) {
    threads_.emplace_back([this, &node] { drive(node, Step::turns); });
  }
  for (const Step step : {Step::activities, Step::answers, Step::keep}) {
    threads_.emplace_back([this, &node, step] { drive(node, step); });
  }
  threads_.emplace_back([this, &node] { listen(node); });
}

void Driver::stop() {
  {
    const std::lock_guard lock(listener_mutex_);
    stopping_ = true;
    if (listener_) listener_->interrupt();
  }
  for (Signal& signal : signals_) {
    const std::lock_guard lock(signal.mutex);
    signal.changed.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (Signal& signal : signals_) {
    std::unique_lock lock(signal.mutex);
    signal.changed.wait(lock, [&] { return signal.running == 0; });
  }
}

void Driver::drive(Node& node, Step step) {
  Signal& signal = signal_of(step);
  while (wait_to_begin(signal)) end(signal, node.run(step));
}

bool Driver::help(Node& node, Step step) {
  Signal& signal = signal_of(step);
  {
    const std::lock_guard lock(signal.mutex);
    signal.poked = true;
    if (!begin(signal)) return false;
  }
  end(signal, node.run(step));
  const std::lock_guard lock(signal.mutex);
  return wanted(signal) && signal.running < signal.allowed && !stopping_;
}

// False when it is time to stop.
bool Driver::wait_to_begin(Signal& signal) {
  std::unique_lock lock(signal.mutex);
  while (!stopping_) {
    if (wanted(signal)) {
      if (begin(signal)) return true;
      signal.changed.wait(lock);  // whoever ends first looks again
    } else if (signal.due == BootTime::max()) {
      signal.changed.wait(lock);
    } else {
      signal.changed.wait_for(lock, signal.due - clock_.boot_now());
    }
  }
  return false;
}

// With the mutex held. False when it runs in as many threads as it may.
bool Driver::begin(Signal& signal) {
  if (stopping_ || signal.running == signal.allowed) return false;
  ++signal.running;
  signal.poked = false;
  if (signal.due <= clock_.boot_now()) signal.due = BootTime::max();
  return true;
}

// A due time that is no longer one costs a look; one that is lost would cost a timer.
void Driver::end(Signal& signal, Progress progress) {
  const std::lock_guard lock(signal.mutex);
  --signal.running;
  signal.poked = signal.poked || progress.progressed;
  const bool earlier = progress.next_due < signal.due;
  if (earlier) signal.due = progress.next_due;
  if (earlier || stopping_) signal.changed.notify_all();
}

// Cancels are heard under the key of the registration.
void Driver::listen_as(Node& node) {
  const WorkerKey key{node.worker().key};
  if (listener_ && key == listening_for_) return;
  auto listener =
      node.worker().store->listen(store::kTurns | store::kActivities | store::kCancels | store::kSweep, key);
  const std::lock_guard lock(listener_mutex_);
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
