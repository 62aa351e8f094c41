// Pace: how long a group of calls gathers before it is led.
#pragma once

#include <holdfast/options.hpp>

#include <chrono>

namespace holdfast::store {

/// Where a commit waits long for the disk, those who come a moment too late for it wait twice as long as need
/// be, and so does everybody who comes with them from then on: half of the callers take turns with the other
/// half. So a group waits for a part of that time for those who are expected. Where waiting turns out to be
/// in vain, it is tried ever more rarely.
///
/// Times go in, a time comes out: it knows no clock. Not thread-safe.
class Pace {
 public:
  /// Also where the disk has stood still for long: whoever comes next has waited for it already.
  static constexpr Duration kLongest = std::chrono::milliseconds(5);
  explicit Pace(Duration longest = kLongest) : longest_(longest) {}

  /// A group was led, and waited so long for what a larger one would have waited for no longer: the disk.
  void waited(Duration for_disk);
  /// How long the next group is to wait at most.
  Duration patience();
  /// It has waited, and others came meanwhile, or nobody did.
  void gathered(bool others_came);

 private:
  Duration longest_;
  Duration disk_{};  // the mean of the last few
  int in_vain_ = 0;  // in a row
  int pass_ = 0;     // groups that do not wait
};

}  // namespace holdfast::store
