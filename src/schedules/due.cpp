// When a schedule has to do something, and for which times.
#include "base/moments.hpp"
#include "base/siphash.hpp"
#include "base/utf8.hpp"
#include "base/versions.hpp"
#include "schedules/invalid.hpp"
#include "schedules/state.hpp"
#include "schedules/times.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/detail/names.hpp>

#include <algorithm>

namespace holdfast::schedules {

namespace {

constexpr std::size_t kTimesAtOnce = 100;

// A worker that is at work takes a time this late at most, or it would be too busy for much else.
constexpr Duration kLeastCatchUp = std::chrono::seconds(10);

// Another part of the jitter for each time and each schedule, and the same one each time.
Duration delay_of(const std::string& schedule, Duration jitter, CalendarTime time) {
  if (jitter <= Duration(0)) return {};
  const std::string text = schedule + "@" + std::to_string(time.time_since_epoch().count());
  const std::uint64_t draw = detail::sip_hash(0, 0, text).low >> 1U;
  return Duration(static_cast<Duration::rep>(draw % static_cast<std::uint64_t>(jitter.count())));
}

void check_size(std::string_view what, std::size_t size, std::size_t limit) {
  if (size <= limit) return;
  refuse(std::string(what) + " of a schedule may have " + std::to_string(limit) + " bytes; this would be " +
         std::to_string(size));
}

}  // namespace

std::string checked_id(std::string_view id) {
  std::string checked = detail::checked_name("a schedule", id);
  if (checked.size() > kMaxIdBytes)
    refuse("the id of a schedule has at most " + std::to_string(kMaxIdBytes) +
           " bytes, since the ids of its runs begin with it; this one has " + std::to_string(checked.size()));
  return checked;
}

Overlap checked_overlap(Overlap overlap) {
  if (to_string(overlap).empty()) refuse("`overlap` is none of the values of Overlap");
  return overlap;
}

std::string checked_note(std::string_view note) {
  check_size("the note", note.size(), kMaxNoteBytes);
  if (!detail::is_utf8(note)) refuse("the note of a schedule is not valid UTF-8");
  return std::string(note);
}

void check_options(const ScheduleOptions& options) {
  static_cast<void>(Times(options.spec));
  static_cast<void>(checked_overlap(options.overlap));
  static_cast<void>(checked_note(options.note));
  static_cast<void>(detail::wanted_version(options.version));
  static_cast<void>(AttributeList(options.attributes).checked("the runs of a schedule"));
  check_size("the options", encode(options).bytes.size(), kMaxOptionsBytes);
  if (options.catch_up < Duration(0)) refuse("`catch_up` of a schedule is below zero");
  if (options.jitter < Duration(0) || options.jitter > std::chrono::days(1))
    refuse("`jitter` of a schedule is below zero or above a day");
}

void check_input(const Payload& input) { check_size("the inputs", input.bytes.size(), kMaxInputBytes); }

Due due_times(const std::string& schedule, const ScheduleOptions& options, CalendarTime after,
              CalendarTime now) {
  const Times times(options.spec);
  const CalendarTime oldest = holdfast::after(now, -std::max(options.catch_up, kLeastCatchUp));
  Due due{.until = after};
  while (due.times.size() < kTimesAtOnce) {
    const std::optional<CalendarTime> time = times.next(due.until);
    if (!time) return due;
    const CalendarTime begins = *time + delay_of(schedule, options.jitter, *time);
    if (begins > now) {
      due.next = begins;
      return due;
    }
    due.until = *time;
    if (*time >= oldest) {
      due.times.push_back(*time);
    } else if (++due.missed == kMostMissed) {
      due.until = oldest - Duration(1);
    }
  }
  due.more = true;
  return due;
}

Past times_between(const ScheduleSpec& spec, CalendarTime from, CalendarTime until) {
  const Times times(spec);
  Past past;
  for (auto time = times.next(holdfast::after(from, -Duration(1))); time && *time < until;
       time = times.next(*time)) {
    past.more = past.times.size() == kMaxBackfill;
    if (past.more) break;
    past.times.push_back(*time);
  }
  return past;
}

std::string run_id(const std::string& schedule, const Waiting& run) {
  // As JSON has it, without the quotes.
  const std::string time = encode(run.time).bytes;
  return schedule + (run.trigger ? "-trigger-" : "-") + time.substr(1, time.size() - 2);
}

}  // namespace holdfast::schedules
