#include "contract/wake_bus.hpp"

#include "base/block_containers.hpp"
#include "base/moments.hpp"
#include "base/mutex.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::store {

namespace {

// A condition variable counts no time while the machine is suspended, boot time does: look at it now and
// then.
constexpr std::chrono::seconds kLongestSleep{10};

}  // namespace

/// The listeners of one bus, and the mutex of all that belongs to them.
class WakeBus::Shared {
 public:
  explicit Shared(const Clock& of_the_store) : clock(of_the_store) {}

  const Clock& clock;
  Mutex mutex{};
  std::vector<Ear*> ears HOLDFAST_GUARDED_BY(mutex){};
};

class WakeBus::Ear final : public Listener {
 public:
  Ear(std::shared_ptr<Shared> shared, WorkMask mask, WorkerKey worker)
      : shared_(std::move(shared)), mask_(mask), worker_(worker) {
    const MutexLock lock(shared_->mutex);
    shared_->ears.push_back(this);
  }
  ~Ear() override {
    const MutexLock lock(shared_->mutex);
    std::erase(shared_->ears, this);
  }
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  Wake wait(BootTime deadline) override {
    MutexLock lock(shared_->mutex);
    const bool blocks = &shared_->clock == &real_clock();
    while (blocks && !anything()) {
      const BootTime now = shared_->clock.boot_now();
      if (now >= deadline) break;
      woken_.wait_for(lock, std::min<BootTime::duration>(left(deadline, now), kLongestSleep));
    }
    return take();
  }

  void interrupt() override {
    {
      const MutexLock lock(shared_->mutex);
      interrupted_ = true;
    }
    woken_.notify_all();
  }

  void watch(InstanceKey key) override {
    const MutexLock lock(shared_->mutex);
    watched_.insert(key);
  }
  void unwatch(InstanceKey key) override {
    const MutexLock lock(shared_->mutex);
    watched_.erase(key);
    instances_.erase(key);
  }

  void hear(const News& news) HOLDFAST_REQUIRES(shared_->mutex) {
    work_ |= news.work & mask_ & (kTurns | kActivities | kSweep | kAsks | kAnswers);
    const bool concerned =
        news.any_worker || std::ranges::find(news.cancelled, worker_) != news.cancelled.end();
    if (mask_.has(kCancels) && worker_.value != 0 && concerned) work_ |= kCancels;
    if (mask_.has(kWatched) && !watched_.empty()) {
      any_instance_ = any_instance_ || news.any_instance;
      for (const InstanceKey key : news.instances) {
        if (watched_.contains(key)) instances_.insert(key);
      }
    }
    if (anything()) woken_.notify_all();
  }

 private:
  [[nodiscard]] bool anything() const HOLDFAST_REQUIRES(shared_->mutex) {
    return interrupted_ || !work_.empty() || any_instance_ || !instances_.empty();
  }

  Wake take() HOLDFAST_REQUIRES(shared_->mutex) {
    Wake wake{.work = std::exchange(work_, {}),
              .instances = {instances_.begin(), instances_.end()},
              .any_instance = std::exchange(any_instance_, false)};
    instances_.clear();
    if (wake.any_instance || !wake.instances.empty()) wake.work |= kWatched;
    interrupted_ = false;
    return wake;
  }

  const std::shared_ptr<Shared> shared_;
  const WorkMask mask_;
  const WorkerKey worker_;
  Condition woken_{};
  BlockSet<InstanceKey> watched_ HOLDFAST_GUARDED_BY(shared_->mutex){};
  // What nobody was told yet.
  WorkMask work_ HOLDFAST_GUARDED_BY(shared_->mutex){};
  BlockSet<InstanceKey> instances_ HOLDFAST_GUARDED_BY(shared_->mutex){};
  bool any_instance_ HOLDFAST_GUARDED_BY(shared_->mutex) = false;
  bool interrupted_ HOLDFAST_GUARDED_BY(shared_->mutex) = false;
};

WakeBus::WakeBus(const Clock& clock) : shared_(std::make_shared<Shared>(clock)) {}
WakeBus::~WakeBus() = default;

std::unique_ptr<Listener> WakeBus::listen(WorkMask mask, WorkerKey worker) {
  return std::make_unique<Ear>(shared_, mask, worker);
}

void WakeBus::publish(const News& news) {
  const MutexLock lock(shared_->mutex);
  // All ears of a bus have its mutex; that theirs is this one is more than the compiler knows.
  const auto tell = [&](Ear& ear) HOLDFAST_UNCHECKED { ear.hear(news); };
  for (Ear* const ear : shared_->ears) tell(*ear);
}

}  // namespace holdfast::store
