#include "contract/wake_bus.hpp"

#include "base/moments.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
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
  std::mutex mutex{};
  std::vector<Ear*> ears{};
};

class WakeBus::Ear final : public Listener {
 public:
  Ear(std::shared_ptr<Shared> shared, WorkMask mask, WorkerKey worker)
      : shared_(std::move(shared)), mask_(mask), worker_(worker) {
    const std::lock_guard lock(shared_->mutex);
    shared_->ears.push_back(this);
  }
  ~Ear() override {
    const std::lock_guard lock(shared_->mutex);
    std::erase(shared_->ears, this);
  }
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  Wake wait(BootTime deadline) override {
    std::unique_lock lock(shared_->mutex);
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
      const std::lock_guard lock(shared_->mutex);
      interrupted_ = true;
    }
    woken_.notify_all();
  }

  void watch(InstanceKey key) override {
    const std::lock_guard lock(shared_->mutex);
    watched_.insert(key);
  }
  void unwatch(InstanceKey key) override {
    const std::lock_guard lock(shared_->mutex);
    watched_.erase(key);
    instances_.erase(key);
  }

  /// Under the mutex of the bus.
  void hear(const News& news) {
    work_ |= news.work & mask_ & (kTurns | kActivities | kSweep);
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
  [[nodiscard]] bool anything() const {
    return interrupted_ || !work_.empty() || any_instance_ || !instances_.empty();
  }

  Wake take() {
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
  std::condition_variable woken_{};
  std::set<InstanceKey> watched_{};
  // What nobody was told yet.
  WorkMask work_{};
  std::set<InstanceKey> instances_{};
  bool any_instance_ = false;
  bool interrupted_ = false;
};

WakeBus::WakeBus(const Clock& clock) : shared_(std::make_shared<Shared>(clock)) {}
WakeBus::~WakeBus() = default;

std::unique_ptr<Listener> WakeBus::listen(WorkMask mask, WorkerKey worker) {
  return std::make_unique<Ear>(shared_, mask, worker);
}

void WakeBus::publish(const News& news) {
  const std::lock_guard lock(shared_->mutex);
  for (Ear* const ear : shared_->ears) ear->hear(news);
}

}  // namespace holdfast::store
