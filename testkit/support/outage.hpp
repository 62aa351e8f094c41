// A store that is away for a while, for tests of those who use it.
#pragma once

#include <holdfast/fault.hpp>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

namespace holdfast::support {

/// While it lasts, everything fails: every second time without having happened, else with its answer lost.
class Outage final : public FaultPlan {
 public:
  Fault at(std::string_view) override {
    if (!down_) return Fault::none;
    return ++met_ % 2 == 0 ? Fault::fail_before : Fault::lose_answer;
  }
  void begin() { down_ = true; }
  void end() { down_ = false; }
  /// Until so many operations failed.
  void wait_for(int failures) const {
    while (met_ < failures) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::atomic<bool> down_{false};
  std::atomic<int> met_{0};
};

}  // namespace holdfast::support
