// OtherBuilds: which other deployments of the code are at work beside this one.
#pragma once

#include "base/moments.hpp"
#include "base/mutex.hpp"
#include "runtime/cache.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>

#include <atomic>
#include <map>
#include <optional>
#include <string_view>

namespace holdfast::runtime {

/// Asks the store, which is rarely necessary: when code does not fit a history, and when it uses patches
/// without a number of its build. Any thread, except where it says otherwise.
class OtherBuilds {
 public:
  OtherBuilds(const Settings& settings, const Standing& standing)
      : settings_(settings), standing_(standing) {}

  /// For how long to leave an instance to others, whose history differs from the code of this build in a turn
  /// that `build` ran: longer each time, so that one which fits nobody costs little. Nothing when no live
  /// worker of that build, or of a newer one, could go on with it.
  [[nodiscard]] std::optional<Duration> leave_for(const CachedInstance& instance, std::string_view build);

  /// Code has taken a patch.
  void note_patch() noexcept {
    if (settings_.options.build == 0) patched_ = true;
  }
  /// Says once that code without a number takes patches beside other workers. For the keep step alone.
  void warn_about_patches();

 private:
  [[nodiscard]] bool may_go_on(const CachedInstance& instance, std::string_view build) const;

  const Settings& settings_;
  const Standing& standing_;
  struct Left {
    Duration pause{};
    BootTime at{};
  };
  Mutex mutex_;
  std::map<InstanceKey, Left> left_ HOLDFAST_GUARDED_BY(mutex_);
  BootTime forget_at_ HOLDFAST_GUARDED_BY(mutex_) = kLongAgo;
  std::atomic<bool> patched_{false};  // since it was looked at last
  bool warned_ = false;
};

}  // namespace holdfast::runtime
