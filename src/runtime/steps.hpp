// Steps: what a worker does, piece by piece. A step does what there is to do and returns; it never sleeps.
// Threads drive them in production, the simulator does in tests.
#pragma once

#include "base/moments.hpp"

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

namespace holdfast::runtime {

enum class Step : std::uint8_t {
  turns,       ///< runs instances
  activities,  ///< fetches activities
  answers,     ///< tells the store how activities ended
  keep,        ///< renews, releases, sweeps
  limits,      ///< ends what has taken too long; never asks the store
  questions,   ///< answers queries
};
inline constexpr int kSteps = 6;

/// One run of a step; whoever drives a worker numbers them.
struct RunId {
  std::uint64_t value = 0;
  friend auto operator<=>(RunId, RunId) = default;
};

/// What a step has to say to its driver.
struct Progress {
  bool progressed = false;              ///< there may be more to do at once
  BootTime next_due = BootTime::max();  ///< when it wants to be called even if nobody wakes it
  /// Runs of turns that were given up in this step, and may never come back; and runs of questions.
  std::vector<RunId> stuck{};
  std::vector<RunId> stuck_questions{};
  bool came_back = false;  ///< this run was one of them
};

/// Says that a step has something to do. Any thread that holds no mutex: most return at once, but a thread of
/// activities may run the step itself, calls to the store included, and returns when that is done. See
/// help_with().
using Poke = std::function<void(Step)>;

/// When a step that goes by the clock runs next. Any thread.
class DueTime {
 public:
  /// It must run by then. True when it would not have: then it has to be poked.
  bool bring_forward(BootTime time) {
    BootTime due = due_.load();
    while (time < due) {
      if (due_.compare_exchange_weak(due, time)) return true;
    }
    return false;
  }
  /// It begins: whoever needs it earlier than it will say says so from here on.
  void begin() { due_ = BootTime::max(); }
  /// It ends, and has nothing to do before `time`. Returns when it runs next: others may have asked for less.
  BootTime end(BootTime time) {
    bring_forward(time);
    return due_;
  }

 private:
  std::atomic<BootTime> due_{kLongAgo};
};

}  // namespace holdfast::runtime
