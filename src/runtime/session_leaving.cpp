// How sessions leave: who is chosen and when, how they are saved, and what the store says to it.
#include "base/failure_text.hpp"
#include "runtime/session_desk.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace holdfast::runtime {

using store::SessionReason;

namespace {

using namespace std::chrono_literals;

// When the store would not let a session go, or did not say what it has of it, how long until it is asked
// again.
constexpr Duration kReleasePause = 100ms;
// When code of the user could not save a state, how long until it is called again.
constexpr Duration kSavePause = 1s;
// For so long one that leaves is waited for before another one is displaced: the room that it makes may be
// enough. What takes longer to save does not hold up others.
constexpr Duration kRoomSoon = 1s;

}  // namespace

void SessionDesk::want_back(std::span<const store::SessionHold> holds) {
  const MutexLock lock(mutex_);
  bool any = false;
  for (const store::SessionHold& hold : holds) {
    const HeldPointer held = find_current(hold);
    // One that nobody else may follow was asked for, and the store would not let it go: not every time.
    if (!held || (held->wanted_back && held->fails)) continue;
    if (!std::exchange(held->wanted_back, true)) {
      log(*settings_.logger, LogLevel::info,
          "an operator asked for a session; it is released when none of its activities runs",
          {{"session", hold.id}, {"generation", hold.generation.value}});
    }
    held->hand_over = any = true;
    if (held->activities == 0) look_by(held, leaves_at(*held));
  }
  if (any) waker_.poke(Step::keep);
}

void SessionDesk::want_hand_over(std::span<const store::SessionHold> holds) {
  if (holds.empty()) return;
  const MutexLock lock(mutex_);
  for (const store::SessionHold& hold : holds) {
    const HeldPointer held = find_current(hold);
    if (!held) continue;
    held->hand_over = true;
    if (held->activities == 0) look_by(held, leaves_at(*held));
  }
  waker_.poke(Step::keep);
}

void SessionDesk::want_hand_over(const store::SessionHold& unused) {
  const MutexLock lock(mutex_);
  const HeldPointer held = find_current(unused);
  if (!held || held->activities > 0) return;
  held->hand_over = true;
  look_by(held, leaves_at(*held));
  waker_.poke(Step::keep);
}

// ---- the agenda ---------------------------------------------------------------------------------

// When it may leave, if it stays at rest.
BootTime SessionDesk::leaves_at(const Held& held) const {
  return std::max(held.hand_over ? kLongAgo : after(held.quiet_since, held.idle_timeout), held.not_before);
}

void SessionDesk::look_by(const HeldPointer& held, BootTime time) {
  if (time >= held->look_at) return;
  take_off_agenda(*held);
  held->look_at = time;
  agenda_.emplace(std::pair(time, held->number), held);
}

void SessionDesk::take_off_agenda(Held& held) {
  if (held.look_at != BootTime::max()) agenda_.erase({held.look_at, held.number});
  held.look_at = BootTime::max();
}

void SessionDesk::rest_from_now(const HeldPointer& held) {
  held->quiet_since = settings_.now();
  by_rest_.splice(by_rest_.end(), by_rest_, held->place);
}

void SessionDesk::stop_leaving(Held& held) {
  if (!held.leaving) return;
  held.leaving.reset();
  leaving_.erase(held.number);
  show(held);
  released_.notify_all();
}

// It could not leave; it is tried again, not before that time.
void SessionDesk::come_back(const HeldPointer& held, BootTime not_before) {
  stop_leaving(*held);
  held->not_before = not_before;
  look_by(held, leaves_at(*held));
  waker_.keep_by(standing_.accepts() ? leaves_at(*held) : not_before);
}

// ---- who leaves ---------------------------------------------------------------------------------

void SessionDesk::want_room(BootTime asked) {
  const MutexLock lock(mutex_);
  room_wanted_at_ = asked;
  room_wanted_until_ = after(settings_.now(), kWish);
}

// One place made is enough until somebody has looked whether it is.
bool SessionDesk::is_room_wanted() const {
  return room_wanted_until_ > settings_.now() && room_wanted_at_ >= room_made_at_;
}

void SessionDesk::choose_leavers(bool draining) {
  const MutexLock lock(mutex_);
  const BootTime now = settings_.now();
  if (draining) {
    for (const auto& [id, held] : books_) {
      if (may_leave(*held) && held->not_before <= now) begin_to_leave(held, SessionReason::drained);
    }
  }
  while (!agenda_.empty() && agenda_.begin()->first.first <= now) {
    const HeldPointer held = agenda_.begin()->second;
    take_off_agenda(*held);
    if (!may_leave(*held)) continue;  // it is put here again when it comes to rest
    if (const BootTime due = leaves_at(*held); due > now) {
      look_by(held, due);
    } else {
      begin_to_leave(held, held->wanted_back ? SessionReason::operated
                           : held->hand_over ? SessionReason::handed_over
                                             : SessionReason::idle);
    }
  }
  if (!is_room_wanted()) return;
  // One at a time: what waits may fit into its place.
  const HeldPointer held = longest_quiet();
  if (!held) return;
  room_wanted_until_ = kLongAgo;
  begin_to_leave(held, SessionReason::displaced);
}

// It is at rest, and nobody is asking the store for it.
bool SessionDesk::may_leave(const Held& held) const {
  return held.activities == 0 && !held.leaving && !held.lapsed && !wishes_.contains(held.hold.id);
}

// Null when one is about to leave already, or none can.
SessionDesk::HeldPointer SessionDesk::longest_quiet() const {
  const BootTime now = settings_.now();
  const auto makes_room_soon = [&](const auto& entry) {
    return after(entry.second->leaving->since, kRoomSoon) > now;
  };
  if (std::ranges::any_of(leaving_, makes_room_soon)) return nullptr;
  const auto longest = std::ranges::find_if(by_rest_, [&](const Held* held) HOLDFAST_REQUIRES(mutex_) {
    return may_leave(*held) && !held->fails && held->not_before <= now;
  });
  return longest == by_rest_.end() ? nullptr : books_.find((*longest)->hold.id)->second;
}

void SessionDesk::begin_to_leave(const HeldPointer& held, SessionReason reason) {
  const bool nothing_to_save = held->memory->is_empty();
  held->leaving = Leaving{
      .reason = reason, .number = ++last_leaving_, .since = settings_.now(), .ready = nothing_to_save};
  leaving_.emplace(held->number, held);
  show(*held);
  if (!nothing_to_save && !std::exchange(held->saving, true)) run([this, held] { save(held); });
}

// In a thread of activities: to save may take long, and others wait for the keep step. Meanwhile it may have
// work again, and be on its way out once more: then what was saved is old, and it is saved anew.
void SessionDesk::save(const HeldPointer& held) {
  for (;;) {
    MutexLock lock(mutex_);
    if (!held->leaving) {  // it has work again, or has left
      held->saving = false;
      return;
    }
    const std::uint64_t number = held->leaving->number;
    const store::SessionHold hold = held->hold;
    const std::shared_ptr<SessionMemory> memory = held->memory;
    lock.unlock();
    Saved result = save(*memory, hold, held->fails);
    lock.lock();
    if (!held->leaving || held->leaving->number != number) continue;
    held->saving = false;
    return saved(held, std::move(result));
  }
}

SessionDesk::Saved SessionDesk::save(SessionMemory& memory, const store::SessionHold& hold,
                                     bool all_or_nothing) const {
  Saved result;
  try {
    result.bytes = memory.save_all(all_or_nothing);
  } catch (const NoAnswer& e) {
    result = {.problem = e.what(), .unanswered = true};
  } catch (const std::exception& e) {
    result.problem = detail::failure_text(e);
    if (result.problem.empty()) result.problem = "unknown";
  } catch (...) {
    result.problem = "unknown";
  }
  if (!result.problem.empty()) {
    if (!result.unanswered) settings_.counters.session_saves_failed.add();
    log(*settings_.logger, result.unanswered ? LogLevel::warn : LogLevel::error,
        "the state of a session could not be saved", {{"session", hold.id}, {"error", result.problem}});
  }
  return result;
}

// What can't be saved stays, with what it has in memory; unless this worker goes, and
// it is not for the store that it can't.
void SessionDesk::saved(const HeldPointer& held, Saved result) {
  if (result.unanswered) return come_back(held, after(settings_.now(), kReleasePause));
  if (!result.problem.empty() && standing_.accepts()) {
    held->unsaved = true;
    rest_from_now(held);
    return come_back(held, after(settings_.now(), kSavePause));
  }
  if (!result.problem.empty()) {
    lost_a_state_ = true;
    log(*settings_.logger, LogLevel::error,
        "a session is released without being saved: changes since its state was saved last are lost",
        {{"session", held->hold.id}, {"generation", held->hold.generation.value}, {"error", result.problem}});
  }
  held->leaving->ready = true;
  if (result.bytes) held->leaving->save = store::SessionSave{*std::move(result.bytes)};
  waker_.poke(Step::keep);
}

std::vector<store::SessionRelease> SessionDesk::releases() {
  const MutexLock lock(mutex_);
  const BootTime now = settings_.now();
  std::vector<store::SessionRelease> list;
  for (const auto& [number, held] : leaving_) {
    Leaving& leaving = *held->leaving;
    if (!leaving.ready || leaving.retry_at > now || wishes_.contains(held->hold.id)) continue;
    leaving.asked = true;
    list.push_back({held->hold, leaving.reason, leaving.save});
  }
  std::ranges::sort(list, {},
                    [](const store::SessionRelease& one) -> const std::string& { return one.hold.id; });
  return list;
}

void SessionDesk::not_released(const store::SessionHold& hold, BootTime retry_at) {
  const MutexLock lock(mutex_);
  const HeldPointer held = find_current(hold);
  if (!held || !held->leaving) return;
  held->leaving->asked = false;
  held->leaving->retry_at = retry_at;
  released_.notify_all();
}

void SessionDesk::stays(const store::SessionHold& hold, const std::string& why) {
  const MutexLock lock(mutex_);
  const HeldPointer held = find_current(hold);
  if (!held) return;
  const SessionReason leaves_for = held->leaving ? held->leaving->reason : SessionReason::none;
  const bool stranded = held->fails && leaves_for == SessionReason::handed_over;
  if (held->fails && leaves_for == SessionReason::operated) {
    log(*settings_.logger, LogLevel::warn,
        "a session that an operator asked for can't be released; close it to end it",
        {{"session", hold.id}, {"generation", hold.generation.value}, {"error", why}});
  } else if (stranded && !std::exchange(held->said_stranded, true)) {
    log(*settings_.logger, LogLevel::warn,
        "a session has work that this worker has no code for, and can't go to a worker that has; close it to "
        "end that work",
        {{"session", hold.id}, {"generation", hold.generation.value}, {"error", why}});
  }
  held->hand_over = held->wanted_back && !held->fails;
  held->refused = true;
  // What is queued or backs off is activity. One that was to be displaced may stay because nobody needs its
  // place any more: whether somebody does is for the next fetch to say.
  if (leaves_for != SessionReason::displaced) rest_from_now(held);
  come_back(held, after(settings_.now(), kReleasePause));
}

void SessionDesk::left(const store::SessionHold& hold, SessionReason reason) {
  const MutexLock lock(mutex_);
  if (const HeldPointer held = find_current(hold)) leave(held, reason);
}

void SessionDesk::all_left(SessionReason reason) {
  const MutexLock lock(mutex_);
  while (!books_.empty()) {
    const HeldPointer held = books_.begin()->second;
    leave(held, reason);
  }
}

// Its memory lives on for as long as activities are in it.
void SessionDesk::leave(const HeldPointer& held, SessionReason reason) {
  const auto found = books_.find(held->hold.id);
  if (found == books_.end() || found->second != held) return;
  take_off_agenda(*held);
  by_rest_.erase(held->place);
  stop_leaving(*held);
  show(*held, nullptr);
  books_.erase(found);
  room_made_at_ = settings_.now();
  held->memory.reset();
  settings_.counters.sessions_held.add(-1);
  sessions_left(*settings_.metrics, reason).add();
  const Duration quiet = quiet_for(*held, settings_.now());
  log(*settings_.logger, LogLevel::info, "a session has left this worker",
      {{"session", held->hold.id},
       {"generation", held->hold.generation.value},
       {"reason", to_string(reason)},
       {"quiet_ms", std::chrono::duration_cast<std::chrono::milliseconds>(quiet).count()}});
  tell(settings_.registry.hooks().released, {held->hold.id, held->hold.generation, reason, {}});
}

std::vector<store::SessionHold> SessionDesk::unmovable(Which which) const {
  const MutexLock lock(mutex_);
  std::vector<store::SessionHold> list;
  for (const auto& [id, held] : books_) {
    if (held->fails && (which == Which::all || held->refused)) list.push_back(held->hold);
  }
  return list;
}

BootTime SessionDesk::next_due() const {
  const MutexLock lock(mutex_);
  BootTime due = agenda_.empty() ? BootTime::max() : agenda_.begin()->first.first;
  for (const auto& [number, held] : leaving_) {
    if (held->leaving->ready) due = std::min(due, held->leaving->retry_at);
  }
  if (standing_.accepts()) return due;
  for (const auto& [id, held] : books_) {
    if (may_leave(*held)) due = std::min(due, held->not_before);
  }
  return due;
}

}  // namespace holdfast::runtime
