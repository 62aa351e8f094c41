#include "runtime/driver.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::runtime {

using namespace std::chrono_literals;

Driver::~Driver() { stop(); }

void Driver::poke(Step step) {
  Signal& signal = signals_[static_cast<std::size_t>(step)];
  {
    const std::lock_guard lock(signal.mutex);
    ++signal.pokes;
  }
  signal.changed.notify_one();
}

void Driver::start(Node& node, std::size_t turn_threads) {
  listen_as(node);
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
}

void Driver::drive(Node& node, Step step) {
  Signal& signal = signals_[static_cast<std::size_t>(step)];
  while (!stopping_) {
    const Progress progress = node.run(step);
    if (!progress.progressed) sleep(signal, progress.next_due);
  }
}

void Driver::sleep(Signal& signal, BootTime due) {
  std::unique_lock lock(signal.mutex);
  const auto wake = [&] { return stopping_ || signal.pokes > 0; };
  const BootTime now = clock_.boot_now();
  if (due == BootTime::max()) {
    signal.changed.wait(lock, wake);
  } else if (due > now) {
    signal.changed.wait_for(lock, due - now, wake);
  }
  signal.pokes = 0;
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
