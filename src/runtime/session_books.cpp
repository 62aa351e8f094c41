#include "runtime/session_books.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::runtime {

using store::SessionReason;

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

// ---- coming -------------------------------------------------------------------------------------

HeldPointer SessionBooks::take_up(const store::SessionGrant& grant, BootTime asked, SessionOrders& orders) {
  HeldPointer held = find(grant.hold.id);
  // Of a claim whose answer was lost only that there is work is known.
  const SessionReason reason = grant.claimed ? grant.reason : SessionReason::work;
  if (!held) return add(grant, asked, reason, orders);
  if (held->hold.generation < grant.hold.generation) {
    if (grant.held_since > held->hold.generation) {  // somebody else had it in between
      leave(held, SessionReason::lapsed, orders);
      return add(grant, asked, reason, orders);
    }
    claim_again(held, grant, asked, orders);
  } else if (held->hold == grant.hold) {
    held->lease_until = std::max(held->lease_until, after(asked, grant.lease));
  }
  return held;
}

HeldPointer SessionBooks::enter(const store::LockedActivity& locked, BootTime asked, SessionOrders& orders) {
  const store::SessionGrant& grant = *locked.session;
  HeldPointer held = take_up(grant, asked, orders);
  // The answer to its lock came late, or it waited for long: another worker may have the session by now.
  if (held->hold != grant.hold || !is_held(*held)) return nullptr;
  // What it would change is not in what goes to the next owner.
  if (held->leaving && held->leaving->asked) return nullptr;
  if (held->takes_no_more()) return nullptr;
  ++held->activities;
  leavers_.stop_leaving(*held, orders);
  held->refused = false;
  if (!held->first) held->first = locked.id;
  return held;
}

void SessionBooks::end_stay(const HeldPointer& held, bool aborted, SessionOrders& orders) {
  --held->activities;
  if (find(held->hold.id) != held) return;  // it has left before
  leavers_.rest_from_now(held);
  if (aborted) return leave(held, SessionReason::aborted, orders);
  if (held->activities == 0) leavers_.came_to_rest(held, orders);
}

HeldPointer SessionBooks::add(const store::SessionGrant& grant, BootTime asked, SessionReason reason,
                              SessionOrders& orders) {
  auto held = std::make_shared<HeldSession>(
      HeldSession{.hold = grant.hold,
                  .number = ++last_number_,
                  .lease = grant.lease,
                  .asked = asked,
                  .lease_until = after(asked, grant.lease),
                  .idle_timeout = grant.idle_timeout,
                  .fails = grant.when_lost == store::SessionPolicy::WhenLost::fail,
                  .quiet_since = settings_.now()});
  std::optional<std::optional<std::string>> saved;
  if (grant.claimed) saved = grant.saved;
  held->memory = make_memory_(held, std::move(saved));
  books_.insert_or_assign(grant.hold.id, held);
  leavers_.add(held);
  note_lease(*held);
  settings_.counters.sessions_held.add(1);
  const bool moved = !grant.previous_owner.empty() && !grant.same_owner;
  (moved ? settings_.counters.sessions_moved : settings_.counters.sessions_claimed).add();
  orders.changes.push_back({.kind = moved ? SessionChange::Kind::came : SessionChange::Kind::claimed,
                            .hold = grant.hold,
                            .reason = reason,
                            .from = grant.previous_owner,
                            .saved_bytes = grant.saved ? grant.saved->size() : 0});
  keep_in_time(*held, orders);
  return held;
}

// Nobody else had it in between: what is in memory is still true. If it was about to leave, it did, before
// this.
void SessionBooks::claim_again(const HeldPointer& held, const store::SessionGrant& grant, BootTime asked,
                               SessionOrders& orders) {
  leavers_.stop_leaving(*held, orders);
  held->hold = grant.hold;
  held->lease = grant.lease;
  held->asked = asked;
  held->lease_until = after(asked, grant.lease);
  held->idle_timeout = grant.idle_timeout;
  held->lapsed = held->said_overdue = held->wanted_back = held->unsaved = false;
  leavers_.show(*held);
  leavers_.look_again(held);
  note_lease(*held);
  settings_.counters.sessions_reclaimed.add();
  orders.changes.push_back({.kind = SessionChange::Kind::reclaimed, .hold = held->hold});
  keep_in_time(*held, orders);
}

// It has to be renewed; and it may be idle from the beginning.
void SessionBooks::keep_in_time(const HeldSession& held, SessionOrders& orders) {
  orders.keep_by = std::min(
      {orders.keep_by, after(held.asked, held.lease / 3), after(held.quiet_since, held.idle_timeout)});
}

void SessionBooks::acquired(const store::Acquired& acquired, BootTime asked, SessionOrders& orders) {
  const store::SessionView& view = acquired.session;
  store::SessionGrant grant = grant_of(view, settings_.options);
  grant.claimed = acquired.kind != store::Acquired::Kind::reused;
  grant.same_owner = acquired.same_owner;
  grant.previous_owner = acquired.previous_owner;
  const HeldPointer held = find(view.id);
  if (!held) {
    add(grant, asked, SessionReason::acquired, orders);
  } else if (held->hold == grant.hold) {
    held->lease_until = std::max(held->lease_until, after(asked, view.lease_left));
    held->lapsed = false;  // the store says that it is this worker's
    leavers_.show(*held);
    leavers_.rest_from_now(held);
  } else if (grant.held_since <= held->hold.generation) {
    leavers_.rest_from_now(held);
    claim_again(held, grant, asked, orders);
  } else {  // somebody else had it in between
    leave(held, SessionReason::lapsed, orders);
    add(grant, asked, SessionReason::acquired, orders);
  }
}

void SessionBooks::held_again(const store::SessionHold& before, const store::SessionView& view,
                              BootTime asked, SessionOrders& orders) {
  const store::SessionGrant grant = grant_of(view, settings_.options);
  const HeldPointer held = find(before);
  if (!held || grant.held_since > before.generation) return;
  // As if it had been asked for when the lease began that the store tells of.
  claim_again(held, grant, after(asked, view.lease_left) - grant.lease, orders);
}

// ---- keeping ------------------------------------------------------------------------------------

std::vector<store::SessionRenewal> SessionBooks::renewals() {
  const BootTime now = settings_.now();
  std::vector<store::SessionRenewal> list;
  for (const auto& [id, held] : books_) {
    if (held->lapsed || held->renew_not_before > now) continue;
    list.push_back({held->hold, held->quiet_for(now)});
  }
  std::ranges::sort(list, {},
                    [](const store::SessionRenewal& one) -> const std::string& { return one.hold.id; });
  renewal_due_.reset();
  return list;
}

BootTime SessionBooks::renewal_due() {
  if (renewal_due_) return *renewal_due_;
  BootTime due = BootTime::max();
  for (const auto& [id, held] : books_) {
    if (!held->lapsed) due = std::min(due, held->renewal_due());
  }
  renewal_due_ = due;
  return due;
}

// It has a new lease.
void SessionBooks::note_lease(const HeldSession& held) {
  if (renewal_due_) renewal_due_ = std::min(*renewal_due_, held.renewal_due());
  overdue_from_ = std::min(overdue_from_, held.lease_until);
}

void SessionBooks::renewed(const store::SessionHold& hold, BootTime asked) {
  const HeldPointer held = find(hold);
  if (!held) return;
  held->asked = asked;
  held->renew_not_before = kLongAgo;
  held->lease_until = std::max(held->lease_until, after(asked, held->lease));
  held->said_overdue = false;
  overdue_from_ = std::min(overdue_from_, held->lease_until);
  renewal_due_.reset();
}

void SessionBooks::not_renewed(const store::SessionHold& hold, BootTime retry_at) {
  if (const HeldPointer held = find(hold)) held->renew_not_before = retry_at;
  renewal_due_.reset();
}

void SessionBooks::lapsed(const store::SessionHold& hold, SessionOrders& orders) {
  const HeldPointer held = find(hold);
  if (!held || std::exchange(held->lapsed, true)) return;
  leavers_.stop_leaving(*held, orders);
  leavers_.show(*held);
  settings_.counters.sessions_lapsed.add();
  orders.changes.push_back({.kind = SessionChange::Kind::lapsed, .hold = hold});
}

std::vector<store::SessionHold> SessionBooks::lapsed_ones(std::size_t max) {
  std::vector<HeldSession*> lapsed;
  for (const auto& [id, held] : books_) {
    if (held->lapsed) lapsed.push_back(held.get());
  }
  std::ranges::sort(lapsed, {},
                    [](const HeldSession* held) { return std::pair(held->looked_at, held->hold.id); });
  lapsed.resize(std::min(lapsed.size(), max));
  std::vector<store::SessionHold> list;
  for (HeldSession* const held : lapsed) {
    held->looked_at = settings_.now();
    list.push_back(held->hold);
  }
  return list;
}

void SessionBooks::note_overdue(SessionOrders& orders) {
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
    orders.changes.push_back({.kind = SessionChange::Kind::overdue, .hold = held->hold});
  }
}

// ---- leaving ------------------------------------------------------------------------------------

// Its memory lives on for as long as activities are in it.
void SessionBooks::leave(const HeldPointer& held, SessionReason reason, SessionOrders& orders) {
  if (find(held->hold.id) != held) return;
  leavers_.remove(*held, orders);
  orders.let_go.push_back(std::move(held->memory));
  settings_.counters.sessions_held.add(-1);
  sessions_left(*settings_.metrics, reason).add();
  orders.changes.push_back({.kind = SessionChange::Kind::left,
                            .hold = held->hold,
                            .reason = reason,
                            .quiet = held->quiet_for(settings_.now())});
  books_.erase(books_.find(held->hold.id));
}

void SessionBooks::all_left(SessionReason reason, SessionOrders& orders) {
  while (!books_.empty()) {
    const HeldPointer held = books_.begin()->second;
    leave(held, reason, orders);
  }
}

// ---- questions ----------------------------------------------------------------------------------

bool SessionBooks::is_held(const HeldSession& held) const {
  return !held.lapsed && std::min(held.lease_until, standing_.known_until()) > settings_.now();
}

HeldPointer SessionBooks::find(std::string_view id) const {
  const auto found = books_.find(id);
  return found == books_.end() ? nullptr : found->second;
}

HeldPointer SessionBooks::find(const store::SessionHold& hold) const {
  HeldPointer held = find(hold.id);
  return held && held->hold == hold ? held : nullptr;
}

}  // namespace holdfast::runtime
