// Steps: what a worker does, piece by piece. A step does what there is to do and returns; it never sleeps.
// Threads drive them in production, the simulator does in tests.
#pragma once

#include "base/moments.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace holdfast::runtime {

enum class Step : std::uint8_t {
  turns,       ///< runs instances
  activities,  ///< fetches activities
  answers,     ///< tells the store how activities ended
  keep,        ///< renews, releases, sweeps, times out
};
inline constexpr int kSteps = 4;

/// What a step has to say to its driver.
struct Progress {
  bool progressed = false;              ///< there may be more to do at once
  BootTime next_due = BootTime::max();  ///< when it wants to be called even if nobody wakes it
  /// Threads whose turns were given up in this step, and may never come back.
  std::vector<std::thread::id> stuck{};
  bool came_back = false;  ///< the calling thread was one of them
};

/// Says that a step has something to do. Any thread; cheap; never blocks.
using Poke = std::function<void(Step)>;

}  // namespace holdfast::runtime
