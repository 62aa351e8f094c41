#include "runtime/session_leavers.hpp"

#include <iterator>

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

// ---- coming and going ---------------------------------------------------------------------------

void SessionLeavers::add(const HeldPointer& held) {
  held->in_rest = by_rest_.insert(by_rest_.end(), held);
  show(*held);
  look_again(held);
}

void SessionLeavers::remove(HeldSession& held, SessionOrders& orders) {
  take_off_agenda(held);
  stop_leaving(held, orders);
  show(held, nullptr);
  by_rest_.erase(held.in_rest);
  room_made_at_ = settings_.now();
}

// ---- the agenda ---------------------------------------------------------------------------------

void SessionLeavers::look_by(const HeldPointer& held, BootTime time) {
  if (time >= held->look_at) return;
  take_off_agenda(*held);
  held->look_at = time;
  agenda_.emplace(std::pair(time, held->number), held);
}

void SessionLeavers::take_off_agenda(HeldSession& held) {
  if (held.look_at != BootTime::max()) agenda_.erase({held.look_at, held.number});
  held.look_at = BootTime::max();
}

void SessionLeavers::rest_from_now(const HeldPointer& held) {
  held->quiet_since = settings_.now();
  by_rest_.splice(by_rest_.end(), by_rest_, held->in_rest);
}

void SessionLeavers::came_to_rest(const HeldPointer& held, SessionOrders& orders) {
  if (held->look_at == BootTime::max() || held->hand_over) look_again(held);
  if (!standing_.accepts() || held->hand_over || is_room_wanted()) {
    orders.keep = true;
  } else {
    orders.keep_by = std::min(orders.keep_by, after(held->quiet_since, held->idle_timeout));
  }
}

void SessionLeavers::want_hand_over(const HeldPointer& held) {
  held->hand_over = true;
  if (held->activities == 0) look_again(held);
}

void SessionLeavers::stop_leaving(HeldSession& held, SessionOrders& orders) {
  if (!held.leaving) return;
  held.leaving.reset();
  leaving_.erase(held.number);
  show(held);
  orders.released = true;
}

// It could not leave; it is tried again, not before that time.
void SessionLeavers::come_back(const HeldPointer& held, BootTime not_before, SessionOrders& orders) {
  stop_leaving(*held, orders);
  held->not_before = not_before;
  look_again(held);
  orders.keep_by = std::min(orders.keep_by, standing_.accepts() ? held->leaves_at() : not_before);
}

// ---- who leaves ---------------------------------------------------------------------------------

void SessionLeavers::want_room(BootTime asked) {
  room_wanted_at_ = asked;
  room_wanted_until_ = after(settings_.now(), kWish);
}

// Room for one is enough until somebody has looked whether it is.
bool SessionLeavers::is_room_wanted() const {
  return room_wanted_until_ > settings_.now() && room_wanted_at_ >= room_made_at_;
}

// It is at rest, and nobody is asking the store for it.
bool SessionLeavers::may_leave(const HeldSession& held) const {
  return held.activities == 0 && !held.leaving && !held.lapsed && !wishes_.contains(held.hold.id);
}

void SessionLeavers::choose_due(SessionOrders& orders) {
  const BootTime now = settings_.now();
  while (!agenda_.empty() && agenda_.begin()->first.first <= now) {
    const HeldPointer held = agenda_.begin()->second;
    take_off_agenda(*held);
    if (!may_leave(*held)) continue;  // it is put here again when it comes to rest
    if (const BootTime due = held->leaves_at(); due > now) {
      look_by(held, due);
    } else {
      begin_to_leave(held,
                     held->wanted_back ? SessionReason::operated
                     : held->hand_over ? SessionReason::handed_over
                                       : SessionReason::idle,
                     orders);
    }
  }
}

// One at a time: its room may be enough for what waits.
void SessionLeavers::choose_displaced(SessionOrders& orders) {
  if (!is_room_wanted()) return;
  const HeldPointer held = longest_quiet();
  if (!held) return;
  room_wanted_until_ = kLongAgo;
  begin_to_leave(held, SessionReason::displaced, orders);
}

// Null when one is about to leave already, or none can.
HeldPointer SessionLeavers::longest_quiet() const {
  const BootTime now = settings_.now();
  const auto makes_room_soon = [&](const auto& entry) {
    return after(entry.second->leaving->since, kRoomSoon) > now;
  };
  if (std::ranges::any_of(leaving_, makes_room_soon)) return nullptr;
  const auto longest = std::ranges::find_if(by_rest_, [&](const HeldPointer& held) {
    return may_leave(*held) && !held->fails && held->not_before <= now;
  });
  return longest == by_rest_.end() ? nullptr : *longest;
}

void SessionLeavers::begin_to_leave(const HeldPointer& held, SessionReason reason, SessionOrders& orders) {
  const bool nothing_to_save = held->memory->is_empty();
  held->leaving = LeavingSession{
      .reason = reason, .number = ++last_leaving_, .since = settings_.now(), .ready = nothing_to_save};
  leaving_.emplace(held->number, held);
  show(*held);
  if (!nothing_to_save && !std::exchange(held->saving, true)) orders.save.push_back(held);
}

// ---- what comes of it ---------------------------------------------------------------------------

// What can't be saved stays, with what it has in memory; unless this worker goes, and it is not for the store
// that it can't.
void SessionLeavers::saved(const HeldPointer& held, SavedSession&& result, SessionOrders& orders) {
  if (result.unanswered) return come_back(held, after(settings_.now(), kReleasePause), orders);
  if (!result.problem.empty() && standing_.accepts()) {
    held->unsaved = true;
    rest_from_now(held);
    return come_back(held, after(settings_.now(), kSavePause), orders);
  }
  if (!result.problem.empty()) {
    lost_a_state_ = true;
    orders.changes.push_back({.kind = SessionChange::Kind::released_unsaved,
                              .hold = held->hold,
                              .error = std::move(result.problem)});
  }
  held->leaving->ready = true;
  if (result.bytes) held->leaving->save = store::SessionSave{*std::move(result.bytes)};
  orders.keep = true;
}

std::vector<store::SessionRelease> SessionLeavers::releases() {
  const BootTime now = settings_.now();
  std::vector<store::SessionRelease> list;
  for (const auto& [number, held] : leaving_) {
    LeavingSession& leaving = *held->leaving;
    if (!leaving.ready || leaving.retry_at > now || wishes_.contains(held->hold.id)) continue;
    leaving.asked = true;
    list.push_back({held->hold, leaving.reason, leaving.save});
  }
  std::ranges::sort(list, {},
                    [](const store::SessionRelease& one) -> const std::string& { return one.hold.id; });
  return list;
}

void SessionLeavers::not_released(HeldSession& held, BootTime retry_at, SessionOrders& orders) {
  if (!held.leaving) return;
  held.leaving->asked = false;
  held.leaving->retry_at = retry_at;
  orders.released = true;
}

void SessionLeavers::stays(const HeldPointer& held, const std::string& why, SessionOrders& orders) {
  using Kind = SessionChange::Kind;
  const SessionReason leaves_for = held->leaving ? held->leaving->reason : SessionReason::none;
  if (held->fails && leaves_for == SessionReason::operated) {
    orders.changes.push_back({.kind = Kind::not_releasable, .hold = held->hold, .error = why});
  } else if (held->fails && leaves_for == SessionReason::handed_over &&
             !std::exchange(held->said_stranded, true)) {
    orders.changes.push_back({.kind = Kind::stranded, .hold = held->hold, .error = why});
  }
  held->hand_over = held->wanted_back && !held->fails;
  held->refused = true;
  // What is queued or backs off is activity. One that was to be displaced may stay because nobody needs its
  // room any more: whether somebody does is for the next fetch to say.
  if (leaves_for != SessionReason::displaced) rest_from_now(held);
  come_back(held, after(settings_.now(), kReleasePause), orders);
}

BootTime SessionLeavers::next_due() const {
  BootTime due = agenda_.empty() ? BootTime::max() : agenda_.begin()->first.first;
  for (const auto& [number, held] : leaving_) {
    if (held->leaving->ready) due = std::min(due, held->leaving->retry_at);
  }
  return due;
}

// ---- figures ------------------------------------------------------------------------------------

void SessionLeavers::show(HeldSession& held) const {
  const Counters& counters = settings_.counters;
  show(held, held.lapsed    ? &counters.sessions_lapsed_now
             : held.leaving ? &counters.sessions_leaving
                            : &counters.sessions_active);
}

void SessionLeavers::show(HeldSession& held, Gauge* state) {
  if (state == held.shown_in) return;
  if (held.shown_in != nullptr) held.shown_in->add(-1);
  if (state != nullptr) state->add(1);
  held.shown_in = state;
}

}  // namespace holdfast::runtime
