// SimExecutor: runs the code of activities at moments of virtual time.
#pragma once

#include "runtime/executor.hpp"

#include <holdfast/clock.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace holdfast::simulator {

/// Keeps what was posted until its moment comes. One thread.
class SimExecutor final : public runtime::Executor {
 public:
  /// `when` says at which moment something that is posted now ends.
  SimExecutor(const Clock& clock, std::function<BootTime()> when) : clock_(clock), when_(std::move(when)) {}

  void post(runtime::Work work) override { work_.emplace(when_(), std::move(work)); }
  void post_at_once(runtime::Work work) override { work_.emplace(clock_.boot_now(), std::move(work)); }
  [[nodiscard]] bool may_wait() const noexcept override { return false; }

  [[nodiscard]] bool empty() const noexcept { return work_.empty(); }
  [[nodiscard]] BootTime next_due() const noexcept {
    return work_.empty() ? BootTime::max() : work_.begin()->first;
  }
  /// Runs what is due first. Precondition: !empty().
  void run_next() {
    auto next = work_.extract(work_.begin());
    next.mapped()();
  }
  /// Forgets what is due first, as if its process had died in the middle of it.
  void drop_next() { work_.erase(work_.begin()); }

 private:
  const Clock& clock_;
  std::function<BootTime()> when_;
  std::multimap<BootTime, runtime::Work> work_;
};

}  // namespace holdfast::simulator
