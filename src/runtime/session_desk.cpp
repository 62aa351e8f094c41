#include "runtime/session_desk.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace holdfast::runtime {

using store::SessionReason;

namespace {

using namespace std::chrono_literals;

// When the store would not let a session go, how long until it is asked again.
constexpr Duration kPause = 100ms;

Duration quiet_for(BootTime since, int activities, BootTime now) {
  return activities > 0 ? Duration::zero() : std::max(now - since, Duration::zero());
}

// One for each reason, of which there are few; never one for each session.
void count_as_left(Metrics& metrics, SessionReason reason) {
  metrics
      .counter("holdfast_sessions_left_total", "Sessions that have left a worker, by the reason.",
               {{"reason", std::string(to_string(reason))}})
      .add();
}

}  // namespace

// ---- coming -------------------------------------------------------------------------------------

void SessionDesk::granted(const store::SessionGrant& grant, BootTime asked) {
  const std::lock_guard lock(mutex_);
  take_up(grant, asked);
}

std::unique_ptr<SessionStay> SessionDesk::enter(const store::LockedActivity& locked, BootTime asked) {
  const store::SessionGrant& grant = *locked.session;
  const std::lock_guard lock(mutex_);
  const HeldPointer held = take_up(grant, asked);
  // The answer to its lock came late, or it waited for long: another worker may have the session by now.
  const bool is_held = held->hold == grant.hold && !held->lapsed && held->lease_until > worker_.now();
  if (!is_held) return nullptr;
  ++held->activities;
  stop_leaving(*held);
  held->refused = false;
  if (!held->first) held->first = locked.id;
  return std::make_unique<SessionStay>(
      ActivitySession{grant.hold.id, grant.hold.generation, *held->first == locked.id}, held->memory,
      [this, held](bool aborted) { end_stay(held, aborted); });
}

// With the mutex held. What is in the books under this id is the same hold, one before, or one after: an
// answer may come late.
SessionDesk::HeldPointer SessionDesk::take_up(const store::SessionGrant& grant, BootTime asked) {
  const auto found = books_.find(grant.hold.id);
  // Of a claim whose answer was lost only that there is work is known.
  const SessionReason reason = grant.claimed ? grant.reason : SessionReason::work;
  if (found == books_.end()) return add(grant, asked, reason);
  HeldPointer held = found->second;
  if (held->hold.generation < grant.hold.generation) {
    if (!grant.claimed || !grant.same_owner) {
      leave(held, SessionReason::owner_lost);
      return add(grant, asked, reason);
    }
    claim_again(held, grant, asked);
  } else if (held->hold == grant.hold) {
    held->lease_until = std::max(held->lease_until, after(asked, grant.lease));
  }
  return held;
}

// With the mutex held.
SessionDesk::HeldPointer SessionDesk::add(const store::SessionGrant& grant, BootTime asked,
                                          SessionReason reason) {
  const std::string& id = grant.hold.id;
  // Of a claim whose answer was lost nobody here knows what was saved.
  std::optional<std::optional<std::string>> saved;
  if (grant.claimed) saved = grant.saved;
  auto held = std::make_shared<Held>(Held{.hold = grant.hold,
                                          .number = ++last_number_,
                                          .lease = grant.lease,
                                          .asked = asked,
                                          .lease_until = after(asked, grant.lease),
                                          .idle_timeout = grant.idle_timeout,
                                          .fails = grant.when_lost == store::SessionPolicy::WhenLost::fail,
                                          .quiet_since = worker_.now()});
  held->memory = std::make_shared<SessionMemory>(
      id, std::move(saved), [this, id] { return read_saved(id); }, disposer());
  books_.insert_or_assign(id, held);
  held->place = by_rest_.insert(by_rest_.end(), held.get());
  show(*held);
  look_by(held, leaves_at(*held));
  note_lease(*held);
  worker_.counters.sessions_held.add(1);
  const bool moved = !grant.previous_owner.empty() && !grant.same_owner;
  (moved ? worker_.counters.sessions_moved : worker_.counters.sessions_claimed).add();
  log(*worker_.logger, LogLevel::info, moved ? "a session has come from another worker" : "session claimed",
      {{"session", id},
       {"generation", grant.hold.generation.value},
       {"from", grant.previous_owner},
       {"reason", to_string(reason)},
       {"saved_bytes", grant.saved ? grant.saved->size() : 0}});
  tell(worker_.registry.hooks().acquired, {id, grant.hold.generation, reason, grant.previous_owner});
  keep_in_time(*held);
  return held;
}

// With the mutex held. Nobody else had it in between: what is in memory is still true.
void SessionDesk::claim_again(const HeldPointer& pointer, const store::SessionGrant& grant, BootTime asked) {
  Held& held = *pointer;
  held.hold = grant.hold;
  held.lease = grant.lease;
  held.asked = asked;
  held.lease_until = after(asked, grant.lease);
  held.idle_timeout = grant.idle_timeout;
  held.lapsed = held.said_overdue = false;
  show(held);
  look_by(pointer, leaves_at(held));
  note_lease(held);
  worker_.counters.sessions_reclaimed.add();
  log(*worker_.logger, LogLevel::info, "session re-claimed; what is in memory stays",
      {{"session", held.hold.id}, {"generation", held.hold.generation.value}});
  keep_in_time(held);
}

// With the mutex held. It has to be renewed; and it may be idle from the beginning.
void SessionDesk::keep_in_time(const Held& held) {
  worker_.keep_by(std::min(after(held.asked, held.lease / 3), after(held.quiet_since, held.idle_timeout)));
}

void SessionDesk::acquired(const store::Acquired& acquired, BootTime asked) {
  const store::SessionView& view = acquired.session;
  const store::SessionGrant grant{
      .hold = {view.id, view.generation},
      .claimed = acquired.kind != store::Acquired::Kind::reused,
      .same_owner = acquired.same_owner,
      .previous_owner = acquired.previous_owner,
      .lease = view.policy.lease.value_or(worker_.options.session_lease),
      .idle_timeout = view.policy.idle_timeout.value_or(worker_.options.session_idle_timeout),
      .when_lost = view.policy.when_lost,
      .saved = view.saved};
  const std::lock_guard lock(mutex_);
  const auto found = books_.find(view.id);
  if (found != books_.end() && found->second->hold == grant.hold) {
    found->second->lease_until = std::max(found->second->lease_until, after(asked, view.lease_left));
    rest_from_now(found->second);
    return;
  }
  if (found != books_.end()) {
    const HeldPointer before = found->second;
    if (grant.claimed && grant.same_owner) {
      rest_from_now(before);
      return claim_again(before, grant, asked);
    }
    // Another one had it in between, or that is not known: what is in memory may be old.
    leave(before, SessionReason::owner_lost);
  }
  add(grant, asked, SessionReason::acquired);
}

bool SessionDesk::holds(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = books_.find(id);
  if (found == books_.end()) return false;
  const Held& held = *found->second;
  return !held.lapsed && !held.leaving && held.lease_until > worker_.now();
}

std::optional<store::SessionHold> SessionDesk::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = books_.find(id);
  if (found == books_.end()) return std::nullopt;
  return found->second->hold;
}

// With the mutex held.
SessionDesk::HeldPointer SessionDesk::find_current(const store::SessionHold& hold) const {
  const auto found = books_.find(hold.id);
  return found != books_.end() && found->second->hold == hold ? found->second : nullptr;
}

// An activity of it is over.
void SessionDesk::end_stay(const HeldPointer& held, bool aborted) {
  const std::lock_guard lock(mutex_);
  --held->activities;
  const auto found = books_.find(held->hold.id);
  if (found == books_.end() || found->second != held) return;  // it has left before
  rest_from_now(held);
  if (aborted) return leave(held, SessionReason::aborted);
  if (held->activities > 0) return;
  if (held->look_at == BootTime::max() || held->hand_over) look_by(held, leaves_at(*held));
  if (!worker_.accepting || held->hand_over || is_room_wanted()) return worker_.poke(Step::keep);
  worker_.keep_by(after(held->quiet_since, held->idle_timeout));
}

// ---- keeping ------------------------------------------------------------------------------------

std::vector<store::SessionRenewal> SessionDesk::renewals() {
  const std::lock_guard lock(mutex_);
  const BootTime now = worker_.now();
  std::vector<store::SessionRenewal> list;
  for (const auto& [id, held] : books_) {
    if (held->lapsed) continue;
    list.push_back({held->hold, quiet_for(held->quiet_since, held->activities, now)});
  }
  std::ranges::sort(list, {},
                    [](const store::SessionRenewal& one) -> const std::string& { return one.hold.id; });
  renewal_due_.reset();
  return list;
}

BootTime SessionDesk::renewal_due() {
  const std::lock_guard lock(mutex_);
  if (renewal_due_) return *renewal_due_;
  BootTime due = BootTime::max();
  for (const auto& [id, held] : books_) {
    if (!held->lapsed) due = std::min(due, after(held->asked, held->lease / 3));
  }
  renewal_due_ = due;
  return due;
}

// With the mutex held. It has a new lease.
void SessionDesk::note_lease(const Held& held) {
  if (renewal_due_) renewal_due_ = std::min(*renewal_due_, after(held.asked, held.lease / 3));
  overdue_from_ = std::min(overdue_from_, held.lease_until);
}

void SessionDesk::renewed(const store::SessionHold& hold, BootTime asked) {
  const std::lock_guard lock(mutex_);
  const HeldPointer held = find_current(hold);
  if (!held) return;
  held->asked = asked;
  held->lease_until = std::max(held->lease_until, after(asked, held->lease));
  held->said_overdue = false;
  overdue_from_ = std::min(overdue_from_, held->lease_until);
  renewal_due_.reset();
}

void SessionDesk::lapsed(const store::SessionHold& hold) {
  const std::lock_guard lock(mutex_);
  const HeldPointer held = find_current(hold);
  if (!held || std::exchange(held->lapsed, true)) return;
  stop_leaving(*held);
  show(*held);
  worker_.counters.sessions_lapsed.add();
  log(*worker_.logger, LogLevel::warn, "the lease of a session is over; another worker may claim it",
      {{"session", hold.id}, {"generation", hold.generation.value}});
}

std::vector<store::SessionHold> SessionDesk::lapsed_ones() const {
  const std::lock_guard lock(mutex_);
  std::vector<store::SessionHold> list;
  for (const auto& [id, held] : books_) {
    if (held->lapsed) list.push_back(held->hold);
  }
  return list;
}

void SessionDesk::note_overdue() {
  const std::lock_guard lock(mutex_);
  const BootTime now = worker_.now();
  if (now < overdue_from_) return;
  overdue_from_ = BootTime::max();
  for (const auto& [id, held] : books_) {
    if (held->lapsed || held->said_overdue) continue;
    if (held->lease_until > now) {
      overdue_from_ = std::min(overdue_from_, held->lease_until);
      continue;
    }
    held->said_overdue = true;
    log(*worker_.logger, LogLevel::warn,
        "the lease of a session could not be kept; nothing of it is begun until it is",
        {{"session", id}, {"generation", held->hold.generation.value}});
  }
}

// ---- leaving ------------------------------------------------------------------------------------

void SessionDesk::want_hand_over(std::span<const store::SessionHold> holds) {
  if (holds.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const store::SessionHold& hold : holds) {
    const HeldPointer held = find_current(hold);
    if (!held) continue;
    held->hand_over = true;
    if (held->activities == 0) look_by(held, leaves_at(*held));
  }
  worker_.poke(Step::keep);
}

void SessionDesk::want_hand_over(const store::SessionHold& unused) {
  const std::lock_guard lock(mutex_);
  const HeldPointer held = find_current(unused);
  if (!held || held->activities > 0) return;
  held->hand_over = true;
  look_by(held, leaves_at(*held));
  worker_.poke(Step::keep);
}

// ---- the agenda, with the mutex held ------------------------------------------------------------

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
  held->quiet_since = worker_.now();
  by_rest_.splice(by_rest_.end(), by_rest_, held->place);
}

void SessionDesk::stop_leaving(Held& held) {
  if (!held.leaving) return;
  held.leaving.reset();
  leaving_.erase(held.number);
  show(held);
}

// ---- figures, with the mutex held ---------------------------------------------------------------

void SessionDesk::show(Held& held) const {
  Counters& counters = worker_.counters;
  show(held, held.lapsed    ? &counters.sessions_lapsed_now
             : held.leaving ? &counters.sessions_leaving
                            : &counters.sessions_active);
}

void SessionDesk::show(Held& held, Gauge* state) const {
  if (state == held.shown_in) return;
  if (held.shown_in != nullptr) held.shown_in->add(-1);
  if (state != nullptr) state->add(1);
  held.shown_in = state;
}

// ---- who leaves ---------------------------------------------------------------------------------

void SessionDesk::want_room(BootTime asked) {
  const std::lock_guard lock(mutex_);
  room_wanted_at_ = asked;
  room_wanted_until_ = after(worker_.now(), kWish);
}

// With the mutex held. One place made is enough until somebody has looked whether it is.
bool SessionDesk::is_room_wanted() const {
  return room_wanted_until_ > worker_.now() && room_wanted_at_ >= room_made_at_;
}

void SessionDesk::choose_leavers(bool draining) {
  const std::lock_guard lock(mutex_);
  const BootTime now = worker_.now();
  if (draining) {
    for (const auto& [id, held] : books_) {
      if (is_at_rest(*held) && held->not_before <= now) begin_to_leave(held, SessionReason::drained);
    }
  }
  while (!agenda_.empty() && agenda_.begin()->first.first <= now) {
    const HeldPointer held = agenda_.begin()->second;
    take_off_agenda(*held);
    if (!is_at_rest(*held)) continue;  // it is put here again when it comes to rest
    if (const BootTime due = leaves_at(*held); due > now) {
      look_by(held, due);
    } else {
      begin_to_leave(held, held->hand_over ? SessionReason::handed_over : SessionReason::idle);
    }
  }
  if (!is_room_wanted()) return;
  // One at a time: what waits may fit into its place.
  const HeldPointer held = longest_quiet();
  if (!held) return;
  room_wanted_until_ = kLongAgo;
  begin_to_leave(held, SessionReason::displaced);
}

bool SessionDesk::is_at_rest(const Held& held) {
  return held.activities == 0 && !held.leaving && !held.lapsed;
}

// With the mutex held. Null when one leaves already, or none can.
SessionDesk::HeldPointer SessionDesk::longest_quiet() const {
  if (!leaving_.empty()) return nullptr;
  const BootTime now = worker_.now();
  const auto longest = std::ranges::find_if(by_rest_, [&](const Held* held) {
    return is_at_rest(*held) && !held->fails && held->not_before <= now;
  });
  return longest == by_rest_.end() ? nullptr : books_.find((*longest)->hold.id)->second;
}

// With the mutex held.
void SessionDesk::begin_to_leave(const HeldPointer& held, SessionReason reason) {
  const bool nothing_to_save = held->memory->is_empty();
  held->leaving = Leaving{.reason = reason, .ready = nothing_to_save};
  leaving_.emplace(held->number, held);
  show(*held);
  if (!nothing_to_save) run([this, held] { save(held); });
}

// In a thread of activities: to save may take long, and others wait for the keep step.
void SessionDesk::save(const HeldPointer& held) {
  std::shared_ptr<SessionMemory> memory;
  {
    const std::lock_guard lock(mutex_);
    if (!held->leaving) return;  // it has work again, or has left
    memory = held->memory;
  }
  std::optional<std::string> bytes;
  std::string problem;
  try {
    bytes = memory->save_all(held->fails);
  } catch (const std::exception& e) {
    problem = e.what();
  } catch (...) {
    problem = "unknown";
  }
  if (!problem.empty()) {
    log(*worker_.logger, LogLevel::error, "the state of a session could not be saved",
        {{"session", held->hold.id}, {"error", problem}});
  }
  const std::lock_guard lock(mutex_);
  if (!held->leaving) return;
  if (!problem.empty() && worker_.accepting) {
    stop_leaving(*held);  // it stays, with what it has in memory
    rest_from_now(held);
    return look_by(held, leaves_at(*held));
  }
  held->leaving->ready = true;
  if (bytes) held->leaving->save = store::SessionSave{*std::move(bytes)};
  worker_.poke(Step::keep);
}

std::vector<store::SessionRelease> SessionDesk::releases() const {
  const std::lock_guard lock(mutex_);
  std::vector<store::SessionRelease> list;
  for (const auto& [number, held] : leaving_) {
    if (held->leaving->ready) list.push_back({held->hold, held->leaving->reason, held->leaving->save});
  }
  std::ranges::sort(list, {},
                    [](const store::SessionRelease& one) -> const std::string& { return one.hold.id; });
  return list;
}

void SessionDesk::stays(const store::SessionHold& hold) {
  const std::lock_guard lock(mutex_);
  const HeldPointer held = find_current(hold);
  if (!held) return;
  const bool displaced = held->leaving && held->leaving->reason == SessionReason::displaced;
  stop_leaving(*held);
  held->hand_over = false;
  held->refused = true;
  rest_from_now(held);  // what is queued or backs off is activity
  held->not_before = after(worker_.now(), kPause);
  look_by(held, leaves_at(*held));
  if (displaced) room_wanted_until_ = after(worker_.now(), kWish);  // of another one
}

void SessionDesk::left(const store::SessionHold& hold, SessionReason reason) {
  const std::lock_guard lock(mutex_);
  if (const HeldPointer held = find_current(hold)) leave(held, reason);
}

void SessionDesk::all_left(SessionReason reason) {
  const std::lock_guard lock(mutex_);
  while (!books_.empty()) {
    const HeldPointer held = books_.begin()->second;
    leave(held, reason);
  }
}

// With the mutex held. Its memory lives on for as long as activities are in it.
void SessionDesk::leave(const HeldPointer& held, SessionReason reason) {
  const auto found = books_.find(held->hold.id);
  if (found == books_.end() || found->second != held) return;
  take_off_agenda(*held);
  by_rest_.erase(held->place);
  stop_leaving(*held);
  show(*held, nullptr);
  books_.erase(found);
  room_made_at_ = worker_.now();
  held->memory.reset();
  worker_.counters.sessions_held.add(-1);
  count_as_left(*worker_.metrics, reason);
  const Duration quiet = quiet_for(held->quiet_since, held->activities, worker_.now());
  log(*worker_.logger, LogLevel::info, "a session has left this worker",
      {{"session", held->hold.id},
       {"generation", held->hold.generation.value},
       {"reason", to_string(reason)},
       {"quiet_ms", std::chrono::duration_cast<std::chrono::milliseconds>(quiet).count()}});
  tell(worker_.registry.hooks().released, {held->hold.id, held->hold.generation, reason, {}});
}

std::vector<store::SessionHold> SessionDesk::unmovable(Which which) const {
  const std::lock_guard lock(mutex_);
  std::vector<store::SessionHold> list;
  for (const auto& [id, held] : books_) {
    if (held->fails && (which == Which::all || held->refused)) list.push_back(held->hold);
  }
  return list;
}

BootTime SessionDesk::next_due() const {
  const std::lock_guard lock(mutex_);
  BootTime due = agenda_.empty() ? BootTime::max() : agenda_.begin()->first.first;
  if (worker_.accepting) return due;
  for (const auto& [id, held] : books_) {
    if (is_at_rest(*held)) due = std::min(due, held->not_before);
  }
  return due;
}

std::size_t SessionDesk::size() const {
  const std::lock_guard lock(mutex_);
  return books_.size();
}

// ---- code of the user ---------------------------------------------------------------------------

// With the mutex held. Hooks are told one after the other, in the order of what happened.
void SessionDesk::tell(const SessionHook& hook, SessionNotice notice) {
  if (!hook) return;
  notices_.emplace_back([&hook, notice = std::move(notice)] { hook(notice); });
  if (!std::exchange(telling_, true)) run([this] { tell_next(); });
}

void SessionDesk::tell_next() {
  for (;;) {
    std::function<void()> notice;
    {
      const std::lock_guard lock(mutex_);
      if (notices_.empty()) {
        telling_ = false;
        return;
      }
      notice = std::move(notices_.front());
      notices_.pop_front();
    }
    try {
      notice();
    } catch (const std::exception& e) {
      log(*worker_.logger, LogLevel::error, "a hook for sessions has thrown", {{"error", e.what()}});
    } catch (...) {
      log(*worker_.logger, LogLevel::error, "a hook for sessions has thrown");
    }
  }
}

void SessionDesk::run(std::function<void()> job) {
  ++*jobs_;
  executor_.post([job = std::move(job), jobs = jobs_, owner = owner_.lock()] {
    job();
    --*jobs;
  });
}

// States are destroyed where code of the user runs.
SessionMemory::Dispose SessionDesk::disposer() {
  return [&executor = executor_, jobs = jobs_](std::shared_ptr<void> states) {
    ++*jobs;
    executor.post([states = std::move(states), jobs]() mutable {
      states.reset();
      --*jobs;
    });
  };
}

std::optional<std::string> SessionDesk::read_saved(const std::string& id) const {
  auto view = worker_.store->session(id);
  if (view) return std::move(view->saved);
  if (view.error().kind == StoreError::Kind::not_found) return std::nullopt;
  throw Error(Failure{
      .category = Category::store,
      .type = "store_unavailable",
      .message = "the saved state of session '" + id + "' could not be read: " + view.error().message});
}

}  // namespace holdfast::runtime
