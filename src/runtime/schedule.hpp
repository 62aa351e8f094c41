// Who runs the steps of a worker, and when. Threads carry it out in production, the simulator does in tests.
#pragma once

#include "base/moments.hpp"
#include "runtime/steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// Decides for one step: whether there is something to do, who may begin, and what follows when a run of it
/// ends or is given up. Events go in, answers come out: it knows neither threads nor a clock. Not
/// thread-safe.
class StepSchedule {
 public:
  /// It runs in one place at a time.
  StepSchedule() = default;
  /// It runs in as many places at once as are `allowed`. Runs that are stuck don't count, up to `max_stuck`
  /// of them.
  StepSchedule(std::size_t allowed, std::size_t max_stuck) : allowed_(allowed), max_stuck_(max_stuck) {}

  /// Who runs it: a thread that does nothing else, or one that has just done something else.
  enum class Runner : std::uint8_t { own, helper };

  /// It has something to do. True: somebody who waits to begin has to be woken. Otherwise whoever ends first
  /// looks again.
  bool poke() {
    poked_ = true;
    return !is_full();
  }
  /// Somebody would begin. Nothing when it runs in as many places as it may, or is closed.
  std::optional<RunId> begin(Runner runner, BootTime now) {
    if (closed_ || is_full()) return std::nullopt;
    poked_ = false;
    if (due_ <= now) due_ = BootTime::max();
    runs_.push_back({.id = {++last_run_}, .runner = runner});
    return runs_.back().id;
  }
  /// A run has ended. True: all who wait for it have to look again. A due time that is no longer one costs a
  /// look; one that is lost would cost a timer.
  bool end(RunId id, const Progress& progress) {
    const auto found = find(id);
    if (progress.came_back && !found->stuck) came_back_.push_back(*found);
    runs_.erase(found);
    poked_ = poked_ || progress.progressed;
    const bool earlier = progress.next_due < due_;
    if (earlier) due_ = progress.next_due;
    return earlier || closed_;
  }
  /// The code of this run does not come back. It may just have, in the thread that runs it: either may be the
  /// first to say so, and the run ends when its code does. True: somebody has to run the step in its place.
  bool give_up(RunId id) {
    const auto is_it = [id](const Run& run) { return run.id == id; };
    if (const auto found = find(id); found != runs_.end()) {
      found->stuck = true;
      return found->runner == Runner::own;
    }
    const auto before = std::ranges::find_if(came_back_, is_it);
    if (before == came_back_.end()) return false;
    const bool own = before->runner == Runner::own;
    came_back_.erase(before);
    return own;
  }
  /// Nobody begins any more.
  void close() { closed_ = true; }

  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  /// Whether there is something to do.
  [[nodiscard]] bool is_wanted(BootTime now) const { return poked_ || due_ <= now; }
  /// Whether there is, and somebody may begin.
  [[nodiscard]] bool may_begin(BootTime now) const { return !closed_ && is_wanted(now) && !is_full(); }
  /// Nobody needs to look before that, unless it is poked.
  [[nodiscard]] BootTime due() const noexcept { return due_; }
  /// Whether nobody runs it but those that are stuck.
  [[nodiscard]] bool is_at_rest() const { return runs_.size() == stuck(); }
  [[nodiscard]] bool is_stuck(RunId id) const {
    return std::ranges::any_of(runs_, [id](const Run& run) { return run.id == id && run.stuck; });
  }
  [[nodiscard]] std::size_t stuck() const {
    return static_cast<std::size_t>(std::ranges::count_if(runs_, [](const Run& run) { return run.stuck; }));
  }

 private:
  struct Run {
    RunId id{};
    Runner runner{};
    bool stuck = false;
  };

  [[nodiscard]] std::vector<Run>::iterator find(RunId id) {
    return std::ranges::find_if(runs_, [id](const Run& run) { return run.id == id; });
  }
  [[nodiscard]] bool is_full() const { return runs_.size() - std::min(stuck(), max_stuck_) >= allowed_; }

  std::size_t allowed_ = 1;
  std::size_t max_stuck_ = 0;
  bool poked_ = false;       // and nobody has begun since
  BootTime due_ = kLongAgo;  // nobody needs to begin before, unless poked
  bool closed_ = false;
  std::uint64_t last_run_ = 0;
  std::vector<Run> runs_;
  std::vector<Run> came_back_;  // from code that somebody is just giving up
};

/// What a thread does that has something for a step to do.
enum class Help : std::uint8_t {
  poke,  ///< leaves it to others
  rest,  ///< runs it itself once it has nothing else to do
  run,   ///< runs it itself, at once
};

/// Waking a thread costs more than a short turn or activity does. So a thread of activities whose activity
/// has ended fetches the next one for its slot, unless there is one already, and runs the turn that the end
/// makes possible.
[[nodiscard]] constexpr Help help_with(Step step, bool is_thread_of_activities,
                                       bool activities_wait) noexcept {
  if (!is_thread_of_activities) return Help::poke;
  if (step == Step::turns) return Help::rest;
  return step == Step::activities && !activities_wait ? Help::run : Help::poke;
}

}  // namespace holdfast::runtime
