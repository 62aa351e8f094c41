// What those who run the steps of a worker do with its schedules: told once, for the threads of a runtime and
// for the simulator.
#pragma once

#include "runtime/schedule.hpp"
#include "runtime/steps.hpp"

#include <holdfast/clock.hpp>

#include <concepts>
#include <optional>
#include <vector>

namespace holdfast::runtime {

/// Who runs the steps. Any thread calls it, without a mutex.
template <class T>
concept Crew = requires(T& crew, Step step, RunId run, const Progress& progress) {
  { crew.now() } -> std::same_as<BootTime>;
  /// Calls a function with the schedule of a step, which nobody else sees meanwhile, and returns its answer.
  {
    crew.with(step, [](StepSchedule&) { return true; })
  } -> std::same_as<bool>;
  /// One call of the step, in this thread.
  { crew.run(step, run) } -> std::same_as<Progress>;
  /// The schedule of the step has changed: `all` who wait for it look again, or one of them.
  crew.call(step, true);
  /// One thread more that runs this step and nothing else.
  crew.add_thread(step);
  /// Whether the calling thread is one of those that run activities; then, whether one waits for it, and
  /// what has turns run there once it has nothing else to do.
  { crew.is_thread_of_activities() } -> std::same_as<bool>;
  { crew.activity_waits() } -> std::same_as<bool>;
  crew.ask_for_rest();
};

/// The step has something to do: somebody who waits to begin is woken.
template <Crew T>
void wake(T& crew, Step step) {
  if (crew.with(step, [](StepSchedule& schedule) { return schedule.poke(); })) crew.call(step, false);
}

template <Crew T>
void end_run(T& crew, Step step, RunId run, const Progress& progress) {
  const auto end = [&](StepSchedule& schedule) { return schedule.end(run, progress); };
  if (crew.with(step, end)) crew.call(step, true);
}

/// Runs the step in a thread that has just done something else, unless it runs in as many as it may. True
/// when there is more to do, and nobody but the caller knows it.
template <Crew T>
bool help(T& crew, Step step) {
  const auto run = crew.with(step, [now = crew.now()](StepSchedule& schedule) {
    schedule.poke();
    return schedule.begin(StepSchedule::Runner::helper, now);
  });
  if (!run) return false;
  end_run(crew, step, *run, crew.run(step, *run));
  return crew.with(step, [now = crew.now()](StepSchedule& schedule) { return schedule.may_begin(now); });
}

/// Runs of a step that don't come back: others take their place.
template <Crew T>
void give_up(T& crew, Step step, const std::vector<RunId>& runs) {
  for (const RunId stuck : runs) {
    if (crew.with(step, [stuck](StepSchedule& schedule) { return schedule.give_up(stuck); }))
      crew.add_thread(step);
  }
  if (!runs.empty()) crew.call(step, true);
}

/// A run that a thread of the step's own has begun. True when another thread has taken its place meanwhile:
/// it ends.
template <Crew T>
bool run_own(T& crew, Step step, RunId run) {
  const Progress progress = crew.run(step, run);
  give_up(crew, Step::turns, progress.stuck);
  give_up(crew, Step::questions, progress.stuck_questions);
  end_run(crew, step, run, progress);
  return progress.came_back;
}

/// The step has something to do: the calling thread does it itself, now or later, or leaves it to others.
template <Crew T>
void poke(T& crew, Step step) {
  const bool here = crew.is_thread_of_activities();
  switch (help_with(step, here, here && crew.activity_waits())) {
    case Help::poke:
      return wake(crew, step);
    case Help::rest:
      return crew.ask_for_rest();
    case Help::run:
      if (help(crew, step)) wake(crew, step);
  }
}

}  // namespace holdfast::runtime
