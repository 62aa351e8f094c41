#include "runtime/other_builds.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;

// Whoever fetches an instance next may be of the build that it fits.
constexpr Duration kFirstPause = 1s;
constexpr Duration kLongestPause = 30s;
// One that has not come back for so long is with others.
constexpr Duration kGoneToOthers = 2min;

std::optional<std::uint64_t> number_of(std::string_view build) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(build.data(), build.data() + build.size(), number);
  if (error != std::errc{} || end != build.data() + build.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Duration> OtherBuilds::leave_for(const CachedInstance& instance, std::string_view build) {
  if (!may_go_on(instance, build)) return std::nullopt;
  const BootTime now = settings_.now();
  const MutexLock lock(mutex_);
  if (now >= forget_at_) {
    std::erase_if(left_, [&](const auto& item) { return now - item.second.at > kGoneToOthers; });
    forget_at_ = after(now, kGoneToOthers);
  }
  Left& left = left_[instance.key];
  left = {.pause = std::clamp(left.pause * 2, kFirstPause, kLongestPause), .at = now};
  return left.pause;
}

// True when the store does not answer: the instance is tried again.
bool OtherBuilds::may_go_on(const CachedInstance& instance, std::string_view build) const {
  const std::optional<std::uint64_t> recorded_by = number_of(build);
  if (!recorded_by || *recorded_by == settings_.options.build) return false;
  const auto workers = settings_.store->workers();
  if (!workers) return may_pass(workers.error());
  return std::ranges::any_of(*workers, [&](const store::WorkerView& worker) {
    const store::Code& code = worker.info.code;
    const bool takes_it =
        code.orchestrations.contains(instance.code) &&
        (instance.build == 0 || (code.oldest_build <= instance.build && instance.build <= code.newest_build));
    return worker.is_alive() && !worker.draining && worker.info.build != settings_.options.build &&
           worker.info.build >= *recorded_by && takes_it;
  });
}

void OtherBuilds::warn_about_patches() {
  if (warned_ || !patched_.exchange(false)) return;
  const auto workers = settings_.store->workers();
  if (!workers) {
    patched_ = true;  // it is asked again
    return;
  }
  const bool alone = std::ranges::none_of(*workers, [&](const store::WorkerView& worker) {
    return worker.is_alive() && worker.key != standing_.key();
  });
  if (alone) return;
  warned_ = true;
  log(*settings_.logger, LogLevel::warn,
      "orchestrations take patches, and build is 0: a worker with older code parks the instances that took "
      "one; set RuntimeOptions::build to a number that grows with each deployment");
}

}  // namespace holdfast::runtime
