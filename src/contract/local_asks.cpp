#include "base/mutex.hpp"

#include <holdfast/store/asks.hpp>

#include <map>
#include <utility>
#include <vector>

namespace holdfast::store {

class LocalAsks::Shared {
 public:
  void attach(std::weak_ptr<Taker> taker) {
    const MutexLock lock(mutex_);
    std::erase_if(takers_, [](const auto& entry) { return entry.second.expired(); });
    takers_.emplace(++last_, std::move(taker));
  }

  /// Those that are there, after number `after`.
  std::vector<std::pair<std::uint64_t, std::shared_ptr<Taker>>> takers(std::uint64_t after) {
    const MutexLock lock(mutex_);
    std::vector<std::pair<std::uint64_t, std::shared_ptr<Taker>>> there;
    for (auto next = takers_.upper_bound(after); next != takers_.end(); ++next) {
      if (auto taker = next->second.lock()) there.emplace_back(next->first, std::move(taker));
    }
    return there;
  }

 private:
  Mutex mutex_;
  std::uint64_t last_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::weak_ptr<Taker>> takers_ HOLDFAST_GUARDED_BY(mutex_){};
};

LocalAsks::LocalAsks() : shared_(std::make_unique<Shared>()) {}
LocalAsks::~LocalAsks() = default;

void LocalAsks::attach(std::weak_ptr<Taker> taker) { shared_->attach(std::move(taker)); }

std::uint64_t LocalAsks::offer(const Ask& ask, const Done& done, std::uint64_t after) {
  for (const auto& [number, taker] : shared_->takers(after)) {
    if (taker->take(ask, done)) return number;
  }
  return 0;
}

}  // namespace holdfast::store
