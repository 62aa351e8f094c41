#include "runtime/session_desk.hpp"

#include "base/failure_text.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace holdfast::runtime {

using store::SessionReason;

// ---- coming -------------------------------------------------------------------------------------

void SessionDesk::granted(const store::SessionGrant& grant, BootTime asked) {
  const MutexLock lock(mutex_);
  take_up(grant, asked);
}

std::unique_ptr<SessionStay> SessionDesk::enter(const store::LockedActivity& locked, BootTime asked) {
  const store::SessionGrant& grant = *locked.session;
  const MutexLock lock(mutex_);
  const HeldPointer held = take_up(grant, asked);
  // The answer to its lock came late, or it waited for long: another worker may have the session by now.
  if (held->hold != grant.hold || !is_held(*held)) return nullptr;
  // What it would change is not in what goes to the next owner.
  if (held->leaving && held->leaving->asked) return nullptr;
  if (takes_no_more(*held)) return nullptr;
  ++held->activities;
  stop_leaving(*held);
  held->refused = false;
  if (!held->first) held->first = locked.id;
  return std::make_unique<SessionStay>(
      ActivitySession{grant.hold.id, grant.hold.generation, *held->first == locked.id, grant.held_since},
      held->memory, [this, held](bool aborted) { end_stay(held, aborted); });
}

// What is in the books under this id is the same hold, one before, or one after: an
// answer may come late.
SessionDesk::HeldPointer SessionDesk::take_up(const store::SessionGrant& grant, BootTime asked) {
  const auto found = books_.find(grant.hold.id);
  // Of a claim whose answer was lost only that there is work is known.
  const SessionReason reason = grant.claimed ? grant.reason : SessionReason::work;
  if (found == books_.end()) return add(grant, asked, reason);
  HeldPointer held = found->second;
  if (held->hold.generation < grant.hold.generation) {
    if (grant.held_since > held->hold.generation) {  // somebody else had it in between
      leave(held, SessionReason::lapsed);
      return add(grant, asked, reason);
    }
    claim_again(held, grant, asked);
  } else if (held->hold == grant.hold) {
    held->lease_until = std::max(held->lease_until, after(asked, grant.lease));
  }
  return held;
}

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
                                          .quiet_since = settings_.now()});
  held->memory = std::make_shared<SessionMemory>(
      id, std::move(saved), [this, of = std::weak_ptr<Held>(held)] { return read_saved(of); }, disposer());
  books_.insert_or_assign(id, held);
  held->place = by_rest_.insert(by_rest_.end(), held.get());
  show(*held);
  look_by(held, leaves_at(*held));
  note_lease(*held);
  settings_.counters.sessions_held.add(1);
  const bool moved = !grant.previous_owner.empty() && !grant.same_owner;
  (moved ? settings_.counters.sessions_moved : settings_.counters.sessions_claimed).add();
  log(*settings_.logger, LogLevel::info, moved ? "a session has come from another worker" : "session claimed",
      {{"session", id},
       {"generation", grant.hold.generation.value},
       {"from", grant.previous_owner},
       {"reason", to_string(reason)},
       {"saved_bytes", grant.saved ? grant.saved->size() : 0}});
  tell(settings_.registry.hooks().acquired, {id, grant.hold.generation, reason, grant.previous_owner});
  keep_in_time(*held);
  return held;
}

// Nobody else had it in between: what is in memory is still true. If it was about to
// leave, it did, before this.
void SessionDesk::claim_again(const HeldPointer& pointer, const store::SessionGrant& grant, BootTime asked) {
  Held& held = *pointer;
  stop_leaving(held);
  held.hold = grant.hold;
  held.lease = grant.lease;
  held.asked = asked;
  held.lease_until = after(asked, grant.lease);
  held.idle_timeout = grant.idle_timeout;
  held.lapsed = held.said_overdue = held.wanted_back = held.unsaved = false;
  show(held);
  look_by(pointer, leaves_at(held));
  note_lease(held);
  settings_.counters.sessions_reclaimed.add();
  log(*settings_.logger, LogLevel::info, "session re-claimed; what is in memory stays",
      {{"session", held.hold.id}, {"generation", held.hold.generation.value}});
  keep_in_time(held);
}

// It has to be renewed; and it may be idle from the beginning.
void SessionDesk::keep_in_time(const Held& held) {
  waker_.keep_by(std::min(after(held.asked, held.lease / 3), after(held.quiet_since, held.idle_timeout)));
}

namespace {

/// What the answer to acquire_session, or a look at the record, says of a session that is this worker's.
store::SessionGrant grant_of(const store::SessionView& view, const RuntimeOptions& options) {
  return {.hold = {view.id, view.generation},
          .held_since = view.held_since,
          .lease = view.policy.lease.value_or(options.session_lease),
          .idle_timeout = view.policy.idle_timeout.value_or(options.session_idle_timeout),
          .when_lost = view.policy.when_lost,
          .saved = view.saved};
}

}  // namespace

void SessionDesk::acquired(const store::Acquired& acquired, BootTime asked) {
  const store::SessionView& view = acquired.session;
  store::SessionGrant grant = grant_of(view, settings_.options);
  grant.claimed = acquired.kind != store::Acquired::Kind::reused;
  grant.same_owner = acquired.same_owner;
  grant.previous_owner = acquired.previous_owner;
  const MutexLock lock(mutex_);
  const auto found = books_.find(view.id);
  if (found == books_.end()) {
    add(grant, asked, SessionReason::acquired);
    return;
  }
  const HeldPointer held = found->second;
  if (held->hold == grant.hold) {
    held->lease_until = std::max(held->lease_until, after(asked, view.lease_left));
    held->lapsed = false;  // the store says that it is this worker's
    show(*held);
    rest_from_now(held);
  } else if (grant.held_since <= held->hold.generation) {
    rest_from_now(held);
    claim_again(held, grant, asked);
  } else {  // somebody else had it in between
    leave(held, SessionReason::lapsed);
    add(grant, asked, SessionReason::acquired);
  }
}

void SessionDesk::held_again(const store::SessionHold& before, const store::SessionView& view,
                             BootTime asked) {
  const store::SessionGrant grant = grant_of(view, settings_.options);
  const MutexLock lock(mutex_);
  const HeldPointer held = find_current(before);
  if (!held || grant.held_since > before.generation) return;
  // As if it had been asked for when the lease began that the store tells of.
  claim_again(held, grant, after(asked, view.lease_left) - grant.lease);
}

// ---- what verbs ask for -------------------------------------------------------------------------

void SessionDesk::wish(const std::string& id) {
  MutexLock lock(mutex_);
  wishes_.insert(id);
  const auto is_released = [&]() HOLDFAST_REQUIRES(mutex_) {
    const auto found = books_.find(id);
    return found == books_.end() || !found->second->leaving || !found->second->leaving->asked;
  };
  released_.wait(lock, is_released);
  if (const auto found = books_.find(id); found != books_.end()) stop_leaving(*found->second);
}

void SessionDesk::end_wish(const std::string& id) {
  const MutexLock lock(mutex_);
  wishes_.erase(wishes_.find(id));
  const auto found = books_.find(id);
  if (found == books_.end()) return;
  look_by(found->second, leaves_at(*found->second));
  waker_.keep_by(standing_.accepts() ? leaves_at(*found->second) : settings_.now());
}

void SessionDesk::renewed_by_request(const store::SessionHold& hold, BootTime asked) {
  renewed(hold, asked);
  const MutexLock lock(mutex_);
  if (const HeldPointer held = find_current(hold)) rest_from_now(held);
}

// Past its lease somebody else may have it; and when the store has not heard of this
// worker for long, others may take it for gone, and with it all that it holds.
bool SessionDesk::is_held(const Held& held) const {
  return !held.lapsed && std::min(held.lease_until, standing_.known_until()) > settings_.now();
}

bool SessionDesk::holds(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto found = books_.find(id);
  if (found == books_.end()) return false;
  const Held& held = *found->second;
  return !held.leaving && !takes_no_more(held) && is_held(held);
}

std::optional<store::SessionHold> SessionDesk::find(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto found = books_.find(id);
  if (found == books_.end()) return std::nullopt;
  return found->second->hold;
}

std::shared_ptr<const SessionMemory> SessionDesk::memory_of(const store::SessionHold& hold) const {
  const MutexLock lock(mutex_);
  const HeldPointer held = find_current(hold);
  return held ? held->memory : nullptr;
}

SessionDesk::HeldPointer SessionDesk::find_current(const store::SessionHold& hold) const {
  const auto found = books_.find(hold.id);
  return found != books_.end() && found->second->hold == hold ? found->second : nullptr;
}

// An activity of it is over.
void SessionDesk::end_stay(const HeldPointer& held, bool aborted) {
  const MutexLock lock(mutex_);
  --held->activities;
  const auto found = books_.find(held->hold.id);
  if (found == books_.end() || found->second != held) return;  // it has left before
  rest_from_now(held);
  if (aborted) return leave(held, SessionReason::aborted);
  if (held->activities > 0) return;
  if (held->look_at == BootTime::max() || held->hand_over) look_by(held, leaves_at(*held));
  if (!standing_.accepts() || held->hand_over || is_room_wanted()) return waker_.poke(Step::keep);
  waker_.keep_by(after(held->quiet_since, held->idle_timeout));
}

// ---- keeping ------------------------------------------------------------------------------------

std::vector<store::SessionRenewal> SessionDesk::renewals() {
  const MutexLock lock(mutex_);
  const BootTime now = settings_.now();
  std::vector<store::SessionRenewal> list;
  for (const auto& [id, held] : books_) {
    if (held->lapsed || held->renew_not_before > now) continue;
    list.push_back({held->hold, quiet_for(*held, now)});
  }
  std::ranges::sort(list, {},
                    [](const store::SessionRenewal& one) -> const std::string& { return one.hold.id; });
  renewal_due_.reset();
  return list;
}

BootTime SessionDesk::renewal_due() {
  const MutexLock lock(mutex_);
  if (renewal_due_) return *renewal_due_;
  BootTime due = BootTime::max();
  for (const auto& [id, held] : books_) {
    if (!held->lapsed) due = std::min(due, renewal_due_of(*held));
  }
  renewal_due_ = due;
  return due;
}

BootTime SessionDesk::renewal_due_of(const Held& held) {
  return std::max(after(held.asked, held.lease / 3), held.renew_not_before);
}

// It has a new lease.
void SessionDesk::note_lease(const Held& held) {
  if (renewal_due_) renewal_due_ = std::min(*renewal_due_, renewal_due_of(held));
  overdue_from_ = std::min(overdue_from_, held.lease_until);
}

void SessionDesk::renewed(const store::SessionHold& hold, BootTime asked) {
  const MutexLock lock(mutex_);
  const HeldPointer held = find_current(hold);
  if (!held) return;
  held->asked = asked;
  held->renew_not_before = kLongAgo;
  held->lease_until = std::max(held->lease_until, after(asked, held->lease));
  held->said_overdue = false;
  overdue_from_ = std::min(overdue_from_, held->lease_until);
  renewal_due_.reset();
}

void SessionDesk::not_renewed(const store::SessionHold& hold, BootTime retry_at) {
  const MutexLock lock(mutex_);
  if (const HeldPointer held = find_current(hold)) held->renew_not_before = retry_at;
  renewal_due_.reset();
}

void SessionDesk::lapsed(const store::SessionHold& hold) {
  const MutexLock lock(mutex_);
  const HeldPointer held = find_current(hold);
  if (!held || std::exchange(held->lapsed, true)) return;
  stop_leaving(*held);
  show(*held);
  settings_.counters.sessions_lapsed.add();
  log(*settings_.logger, LogLevel::warn, "the lease of a session is over; another worker may claim it",
      {{"session", hold.id}, {"generation", hold.generation.value}});
}

std::vector<store::SessionHold> SessionDesk::lapsed_ones(std::size_t max) {
  const MutexLock lock(mutex_);
  std::vector<Held*> lapsed;
  for (const auto& [id, held] : books_) {
    if (held->lapsed) lapsed.push_back(held.get());
  }
  std::ranges::sort(lapsed, {}, [](const Held* held) { return std::pair(held->looked_at, held->hold.id); });
  lapsed.resize(std::min(lapsed.size(), max));
  std::vector<store::SessionHold> list;
  for (Held* const held : lapsed) {
    held->looked_at = settings_.now();
    list.push_back(held->hold);
  }
  return list;
}

void SessionDesk::note_overdue() {
  const MutexLock lock(mutex_);
  const BootTime now = settings_.now();
  if (now < overdue_from_) return;
  overdue_from_ = BootTime::max();
  for (const auto& [id, held] : books_) {
    if (held->lapsed || held->said_overdue) continue;
    if (held->lease_until > now) {
      overdue_from_ = std::min(overdue_from_, held->lease_until);
      continue;
    }
    held->said_overdue = true;
    log(*settings_.logger, LogLevel::warn,
        "the lease of a session could not be kept; nothing of it is begun until it is",
        {{"session", id}, {"generation", held->hold.generation.value}});
  }
}

std::size_t SessionDesk::size() const {
  const MutexLock lock(mutex_);
  return books_.size();
}

// ---- figures ------------------------------------------------------------------------------------

void SessionDesk::show(Held& held) const {
  const Counters& counters = settings_.counters;
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

// ---- code of the user ---------------------------------------------------------------------------

// Hooks are told one after the other, in the order of what happened.
void SessionDesk::tell(const SessionHook& hook, SessionNotice notice) {
  if (!hook) return;
  notices_.emplace_back([&hook, notice = std::move(notice)] { hook(notice); });
  if (!std::exchange(telling_, true)) run([this] { tell_next(); });
}

void SessionDesk::tell_superseded() {
  const MutexLock lock(mutex_);
  const auto& hook = settings_.registry.hooks().superseded;
  if (!hook) return;
  notices_.emplace_back(hook);
  if (!std::exchange(telling_, true)) run([this] { tell_next(); });
}

void SessionDesk::tell_next() {
  for (;;) {
    std::function<void()> notice;
    {
      const MutexLock lock(mutex_);
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
      log(*settings_.logger, LogLevel::error, "a hook has thrown", {{"error", detail::failure_text(e)}});
    } catch (...) {
      log(*settings_.logger, LogLevel::error, "a hook has thrown");
    }
  }
}

void SessionDesk::run(std::function<void()> job) {
  ++*jobs_;
  executor_.post_apart([job = std::move(job), jobs = jobs_, owner = owner_.lock()] {
    job();
    --*jobs;
  });
}

// States are destroyed where code of the user runs.
SessionMemory::Dispose SessionDesk::disposer() {
  return [&executor = executor_, jobs = jobs_](std::shared_ptr<void> states) {
    ++*jobs;
    executor.post_apart([states = std::move(states), jobs]() mutable {
      states.reset();
      --*jobs;
    });
  };
}

// What a later owner has saved is not what this one's states are made from.
StoreResult<std::optional<std::string>> SessionDesk::read_saved(const std::weak_ptr<Held>& of) const {
  const auto hold = [&]() -> std::optional<store::SessionHold> {
    const MutexLock lock(mutex_);
    const HeldPointer held = of.lock();
    return held ? std::optional(held->hold) : std::nullopt;
  }();
  const StoreError gone{.kind = StoreError::Kind::unavailable,
                        .message = "another worker holds the session by now"};
  if (!hold) return Unexpected(gone);
  auto view = settings_.store->session(hold->id, store::Saved::bytes);
  if (view && view->generation != hold->generation) return Unexpected(gone);
  if (view) return std::move(view->saved);
  if (view.error().kind == StoreError::Kind::not_found) return std::nullopt;
  return Unexpected(std::move(view).error());
}

}  // namespace holdfast::runtime
