// Schedule: a handle for a schedule, from Client::create_schedule() or by its id from Client::schedule().
//
//   Schedule nightly = client.create_schedule(
//       "nightly", "bill", {.spec = {.cron = {"30 2 * * *"}, .time_zone = "Europe/Berlin"}}, tenant);
//   nightly.pause("the bank is closed");
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/run.hpp>
#include <holdfast/schedule_spec.hpp>
#include <holdfast/status.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// An instance that a schedule has started.
struct ScheduleRun {
  std::string id{};               ///< "nightly-2027-03-28T00:30:00Z": the schedule's id and the time in UTC
  CalendarTime time{};            ///< that it was started for
  bool existed = false;           ///< the id was there already: it counts as started, and is left alone.
                                  ///< Not known of runs beside others (Overlap::allow): see the worker's log
  std::optional<Status> ended{};  ///< how it ended; only of runs that the schedule waited for
};

struct ScheduleCounts {
  std::uint64_t started = 0;
  std::uint64_t skipped = 0;  ///< because the run before still went on
  std::uint64_t missed = 0;   ///< longer ago than ScheduleOptions::catch_up; at most 10,000 of one outage
  std::uint64_t failed = 0;   ///< could not be started; the log of the worker says why
};

/// A schedule as its last turn left it. Before its first turn nothing is known but its id and its status.
struct ScheduleInfo {
  std::string id{};
  Status status = Status::running;  ///< of the schedule: completed when no time is left
  std::string orchestration{};      ///< that it starts
  ScheduleOptions options{};
  std::vector<CalendarTime> next{};  ///< the next five times, none while it is paused; jitter comes on top
  std::optional<ScheduleRun> running{};  ///< whose end it waits for
  std::vector<CalendarTime> waiting{};   ///< times whose runs follow after that
  std::vector<ScheduleRun> recent{};     ///< the last ten, the newest first
  ScheduleCounts counts{};
};

/// How a schedule is triggered, and how times are made up for.
struct TriggerOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  Overlap overlap = Overlap::allow;
};
struct BackfillOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  Overlap overlap = Overlap::all_after;
};

/// A handle: copies refer to the same schedule. What is asked of a schedule is kept when the call returns,
/// and takes effect with its next turn, which needs a running worker. Throws ClientError as Run does,
/// conflict when the schedule has ended.
class Schedule {
 public:
  Schedule() = default;
  explicit Schedule(Run run) : run_(std::move(run)) {}

  [[nodiscard]] const std::string& id() const noexcept { return run_.id(); }
  /// The schedule as the instance that it is: history, cancel(), terminate().
  [[nodiscard]] const Run& run() const noexcept { return run_; }

  [[nodiscard]] ScheduleInfo describe() const;
  /// From now on its times start nothing, until resume(). What runs goes on, and what
  /// waits for its end still follows.
  void pause(std::string_view note) const;
  void resume(std::string_view note) const;
  /// Starts one run now, also while it is paused.
  void trigger() const { trigger({}); }
  void trigger(TriggerOptions options) const;
  /// Starts what its times between two moments would have started: at most 1,000. What was started for one of
  /// these times before is not started again, as long as it is kept.
  void backfill(CalendarTime from, CalendarTime until) const { backfill(from, until, {}); }
  void backfill(CalendarTime from, CalendarTime until, BackfillOptions options) const;
  /// Takes the place of its options: `describe().options` are those that it has.
  void update(const ScheduleOptions& options) const;

 private:
  Run run_;
};

}  // namespace holdfast
