#include "contract/pace.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::store {
namespace {

using namespace std::chrono_literals;

// Each new time counts for so much of the mean.
constexpr int kWeight = 8;
// Waiting is not exact to the microsecond, and costs switches of threads.
constexpr Duration kSlowDisk = 500us;
constexpr int kPartOfDisk = 4;
constexpr int kMostInVain = 6;  // of which each doubles how many pass

}  // namespace

void Pace::waited(Duration for_disk) { disk_ += (for_disk - disk_) / kWeight; }

Duration Pace::patience() {
  if (disk_ < kSlowDisk) return Duration::zero();
  if (pass_ > 0) {
    --pass_;
    return Duration::zero();
  }
  return std::min(disk_ / kPartOfDisk, longest_);
}

void Pace::gathered(bool others_came) {
  in_vain_ = others_came ? 0 : std::min(in_vain_ + 1, kMostInVain);
  pass_ = (1 << in_vain_) - 1;
}

}  // namespace holdfast::store
