#include "runtime/session_desk.hpp"

#include "runtime/session_saving.hpp"

#include <algorithm>

namespace holdfast::runtime {

using store::SessionReason;

SessionDesk::SessionDesk(const Settings& settings, const Standing& standing, Waker& waker, Executor& executor)
    : settings_(settings),
      standing_(standing),
      waker_(waker),
      jobs_(executor),
      notices_(settings, jobs_),
      leavers_(settings, standing, wishes_),
      books_(settings, standing, leavers_,
             [this](const HeldPointer& held, auto saved) { return make_memory(held, std::move(saved)); }) {}

// Without the mutex: see the class.
void SessionDesk::carry_out(SessionOrders&& orders) {
  orders.let_go.clear();
  for (const SessionChange& change : orders.changes) say(settings_, change);
  if (!orders.changes.empty()) notices_.begin();
  for (const HeldPointer& held : orders.save) jobs_.run([this, held] { save(held); });
  if (orders.released) released_.notify_all();
  if (orders.keep) waker_.poke(Step::keep);
  if (orders.keep_by != BootTime::max()) waker_.keep_by(orders.keep_by);
}

// ---- coming -------------------------------------------------------------------------------------

void SessionDesk::granted(const store::SessionGrant& grant, BootTime asked) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  books_.take_up(grant, asked, afterwards.orders);
}

std::unique_ptr<SessionStay> SessionDesk::enter(const store::LockedActivity& locked, BootTime asked) {
  const store::SessionGrant& grant = *locked.session;
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  const HeldPointer held = books_.enter(locked, asked, afterwards.orders);
  if (!held) return nullptr;
  return std::make_unique<SessionStay>(
      ActivitySession{grant.hold.id, grant.hold.generation, *held->first == locked.id, grant.held_since},
      held->memory, [this, held](bool aborted) { end_stay(held, aborted); });
}

void SessionDesk::end_stay(const HeldPointer& held, bool aborted) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  books_.end_stay(held, aborted, afterwards.orders);
}

void SessionDesk::acquired(const store::Acquired& acquired, BootTime asked) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  books_.acquired(acquired, asked, afterwards.orders);
}

void SessionDesk::held_again(const store::SessionHold& before, const store::SessionView& view,
                             BootTime asked) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  books_.held_again(before, view, asked, afterwards.orders);
}

// ---- what verbs ask for -------------------------------------------------------------------------

void SessionDesk::wish(const std::string& id) {
  Afterwards afterwards(*this);
  MutexLock lock(mutex_);
  wishes_.insert(id);
  released_.wait(lock, [&]() HOLDFAST_REQUIRES(mutex_) {
    const HeldPointer held = books_.find(id);
    return !held || !held->leaving || !held->leaving->asked;
  });
  if (const HeldPointer held = books_.find(id)) leavers_.stop_leaving(*held, afterwards.orders);
}

void SessionDesk::end_wish(const std::string& id) {
  Afterwards afterwards(*this);
  const MutexLock lock(mutex_);
  wishes_.erase(wishes_.find(id));
  const HeldPointer held = books_.find(id);
  if (!held) return;
  leavers_.look_again(held);
  afterwards.orders.keep_by = standing_.accepts() ? held->leaves_at() : settings_.now();
}

void SessionDesk::renewed_by_request(const store::SessionHold& hold, BootTime asked) {
  const MutexLock lock(mutex_);
  books_.renewed(hold, asked);
  if (const HeldPointer held = books_.find(hold)) leavers_.rest_from_now(held);
}

bool SessionDesk::holds(std::string_view id) const {
  const MutexLock lock(mutex_);
  const HeldPointer held = books_.find(id);
  return held && !held->leaving && !held->takes_no_more() && books_.is_held(*held);
}

std::optional<store::SessionHold> SessionDesk::find(std::string_view id) const {
  const MutexLock lock(mutex_);
  const HeldPointer held = books_.find(id);
  return held ? std::optional(held->hold) : std::nullopt;
}

std::shared_ptr<const SessionMemory> SessionDesk::memory_of(const store::SessionHold& hold) const {
  const MutexLock lock(mutex_);
  const HeldPointer held = books_.find(hold);
  return held ? held->memory : nullptr;
}

// ---- keeping ------------------------------------------------------------------------------------

std::vector<store::SessionRenewal> SessionDesk::renewals() {
  const MutexLock lock(mutex_);
  return books_.renewals();
}

BootTime SessionDesk::renewal_due() {
  const MutexLock lock(mutex_);
  return books_.renewal_due();
}

void SessionDesk::renewed(const store::SessionHold& hold, BootTime asked) {
  const MutexLock lock(mutex_);
  books_.renewed(hold, asked);
}

void SessionDesk::not_renewed(const store::SessionHold& hold, BootTime retry_at) {
  const MutexLock lock(mutex_);
  books_.not_renewed(hold, retry_at);
}

void SessionDesk::lapsed(const store::SessionHold& hold) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  books_.lapsed(hold, afterwards.orders);
}

std::vector<store::SessionHold> SessionDesk::lapsed_ones(std::size_t max) {
  const MutexLock lock(mutex_);
  return books_.lapsed_ones(max);
}

void SessionDesk::note_overdue() {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  books_.note_overdue(afterwards.orders);
}

// ---- leaving ------------------------------------------------------------------------------------

void SessionDesk::want_room(BootTime asked) {
  const MutexLock lock(mutex_);
  leavers_.want_room(asked);
}

void SessionDesk::want_back(std::span<const store::SessionHold> holds) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  for (const store::SessionHold& hold : holds) {
    const HeldPointer held = books_.find(hold);
    // One that nobody else may follow was asked for, and the store would not let it go: not every time.
    if (!held || (held->wanted_back && held->fails)) continue;
    if (!std::exchange(held->wanted_back, true))
      afterwards.orders.changes.push_back({.kind = SessionChange::Kind::asked_for, .hold = hold});
    leavers_.want_hand_over(held);
    afterwards.orders.keep = true;
  }
}

void SessionDesk::want_hand_over(std::span<const store::SessionHold> holds) {
  if (holds.empty()) return;
  Afterwards afterwards(*this);
  const MutexLock lock(mutex_);
  for (const store::SessionHold& hold : holds) {
    if (const HeldPointer held = books_.find(hold)) leavers_.want_hand_over(held);
  }
  afterwards.orders.keep = true;
}

void SessionDesk::want_hand_over(const store::SessionHold& unused) {
  Afterwards afterwards(*this);
  const MutexLock lock(mutex_);
  const HeldPointer held = books_.find(unused);
  if (!held || held->activities > 0) return;
  leavers_.want_hand_over(held);
  afterwards.orders.keep = true;
}

void SessionDesk::choose_leavers(bool draining) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  leavers_.choose(books_.all(), draining, afterwards.orders);
}

// In a thread of activities: to save may take long, and others wait for the keep step. Meanwhile it may have
// work again, and be on its way out once more: then what was saved is old, and it is saved anew.
void SessionDesk::save(const HeldPointer& held) {
  for (;;) {
    std::uint64_t number = 0;
    store::SessionHold hold;
    std::shared_ptr<SessionMemory> memory;
    {
      const MutexLock lock(mutex_);
      if (!held->leaving) {  // it has work again, or has left
        held->saving = false;
        return;
      }
      number = held->leaving->number;
      hold = held->hold;
      memory = held->memory;
    }
    SavedSession result = save_states(settings_, *memory, hold, held->fails);
    Afterwards afterwards(*this);
    const BooksLock lock(mutex_, notices_, afterwards);
    if (!held->leaving || held->leaving->number != number) continue;
    held->saving = false;
    return leavers_.saved(held, std::move(result), afterwards.orders);
  }
}

std::vector<store::SessionRelease> SessionDesk::releases() {
  const MutexLock lock(mutex_);
  return leavers_.releases();
}

void SessionDesk::not_released(const store::SessionHold& hold, BootTime retry_at) {
  Afterwards afterwards(*this);
  const MutexLock lock(mutex_);
  if (const HeldPointer held = books_.find(hold)) leavers_.not_released(*held, retry_at, afterwards.orders);
}

void SessionDesk::stays(const store::SessionHold& hold, const std::string& why) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  if (const HeldPointer held = books_.find(hold)) leavers_.stays(held, why, afterwards.orders);
}

void SessionDesk::left(const store::SessionHold& hold, SessionReason reason) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  if (const HeldPointer held = books_.find(hold)) books_.leave(held, reason, afterwards.orders);
}

void SessionDesk::all_left(SessionReason reason) {
  Afterwards afterwards(*this);
  const BooksLock lock(mutex_, notices_, afterwards);
  books_.all_left(reason, afterwards.orders);
}

void SessionDesk::tell_superseded() {
  notices_.note_superseded();
  notices_.begin();
}

std::vector<store::SessionHold> SessionDesk::unmovable(Which which) const {
  const MutexLock lock(mutex_);
  std::vector<store::SessionHold> list;
  for (const auto& [id, held] : books_.all()) {
    if (held->fails && (which == Which::all || held->refused)) list.push_back(held->hold);
  }
  return list;
}

BootTime SessionDesk::next_due() const {
  const MutexLock lock(mutex_);
  return leavers_.next_due(books_.all());
}

std::size_t SessionDesk::size() const {
  const MutexLock lock(mutex_);
  return books_.all().size();
}

bool SessionDesk::lost_a_state() const {
  const MutexLock lock(mutex_);
  return leavers_.lost_a_state();
}

// ---- memory -------------------------------------------------------------------------------------

// States are destroyed where code of the user runs.
std::shared_ptr<SessionMemory> SessionDesk::make_memory(const HeldPointer& held,
                                                        std::optional<std::optional<std::string>> saved) {
  return std::make_shared<SessionMemory>(
      held->hold.id, std::move(saved),
      [this, of = std::weak_ptr<HeldSession>(held)] { return read_saved(of); }, jobs_.disposer());
}

// What a later owner has saved is not what this one's states are made from.
StoreResult<std::optional<std::string>> SessionDesk::read_saved(const std::weak_ptr<HeldSession>& of) const {
  std::optional<store::SessionHold> hold;
  if (const HeldPointer held = of.lock()) {
    const MutexLock lock(mutex_);
    hold = held->hold;
  }
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
