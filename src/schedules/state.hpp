// A schedule as its instance keeps it, and what its clients ask of it: the payloads of `holdfast.schedule`.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/schedule_spec.hpp>
#include <holdfast/status.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::schedules {

/// The orchestration that every worker has, and its mailbox for commands.
inline constexpr std::string_view kOrchestration = "holdfast.schedule";
inline constexpr std::string_view kCommands = "holdfast.schedule";

inline constexpr std::size_t kMaxWaiting = 100;
inline constexpr std::size_t kMaxBackfill = 1'000;
inline constexpr std::size_t kRecent = 10;
inline constexpr std::uint64_t kMostMissed = 10'000;

/// An encoded input: the payload of what is started.
struct Input {
  std::string encoding{};
  std::string bytes{};
};

/// A run that was started, see ScheduleRun.
struct Started {
  std::string id{};
  CalendarTime time{};
  bool existed = false;
  std::optional<Status> ended{};
  bool begun = false;               ///< it is known to be this schedule's
  std::optional<Overlap> end_by{};  ///< as soon as it has begun
};

/// A run that is to be started when the one before has ended.
struct Waiting {
  CalendarTime time{};
  bool trigger = false;   ///< somebody asked for it at its time
  bool backfill = false;  ///< does not count towards kMaxWaiting
};

struct Counts {
  std::uint64_t started = 0;
  std::uint64_t skipped = 0;
  std::uint64_t missed = 0;
  std::uint64_t failed = 0;
};

/// What clients see, as its custom status.
struct Progress {
  ScheduleOptions options{};
  std::optional<CalendarTime> handled_until{};  ///< times up to here are done with; set by the first turn
  std::optional<Started> running{};
  std::vector<Waiting> waiting{};
  std::vector<Started> recent{};
  CalendarTime last_trigger{};
  Counts counts{};
};

/// The input of each of its executions.
struct State {
  std::string orchestration{};
  Input input{};
  Progress progress{};
};

/// What a client asks of a schedule.
struct Command {
  enum class Kind : std::uint8_t { pause, resume, trigger, backfill, update };
  Kind kind = Kind::pause;
  std::string note{};
  Overlap overlap = Overlap::allow;
  CalendarTime from{};  ///< of a backfill
  CalendarTime until{};
  std::optional<ScheduleOptions> options{};  ///< of an update
};

/// What a schedule may take, so that its next execution, which gets all of it, is not too large.
inline constexpr std::size_t kMaxInputBytes = 1024UL * 1024;
inline constexpr std::size_t kMaxOptionsBytes = 64UL * 1024;
inline constexpr std::size_t kMaxNoteBytes = 4UL * 1024;

/// So that the ids of runs, which begin with it, are names: "-trigger-9999-12-31T23:59:59.999999Z".
inline constexpr std::size_t kMaxIdBytes = 255 - 37;

// All throw Error: invalid_name for an id that is no name, invalid_version, invalid_schedule for the rest.
std::string checked_id(std::string_view id);
Overlap checked_overlap(Overlap overlap);
std::string checked_note(std::string_view note);
void check_options(const ScheduleOptions& options);
void check_input(const Payload& input);

/// Which times have come, and when the next one does.
struct Due {
  std::vector<CalendarTime> times{};
  CalendarTime until{};  ///< all up to here are in `times`, or missed
  std::uint64_t missed = 0;
  std::optional<CalendarTime>
      next{};         ///< when the next one begins; none: this was the last, or there is more
  bool more = false;  ///< `times` is full: ask again
};
Due due_times(const std::string& schedule, const ScheduleOptions& options, CalendarTime after,
              CalendarTime now);

/// The times from `from` on and before `until`: the first kMaxBackfill, and whether there are more.
struct Past {
  std::vector<CalendarTime> times{};
  bool more = false;
};
Past times_between(const ScheduleSpec& spec, CalendarTime from, CalendarTime until);

/// "nightly-2027-03-28T00:30:00Z", or "nightly-trigger-2027-03-28T09:14:03.123456Z"
std::string run_id(const std::string& schedule, const Waiting& run);

}  // namespace holdfast::schedules
