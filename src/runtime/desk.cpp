#include "runtime/desk.hpp"

#include "client/bodies.hpp"
#include "runtime/activity_lines.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::runtime {

ActivityDesk::ActivityDesk(const Settings& settings, const Standing& standing, Waker& waker, Chance& chance,
                           InstanceCache& cache, SessionDesk& sessions, Outbox& outbox, Executor& executor)
    : settings_(settings),
      standing_(standing),
      waker_(waker),
      cache_(cache),
      sessions_(sessions),
      outbox_(outbox),
      executor_(executor),
      ends_(settings, waker, chance, cache, outbox),
      slots_(settings.slots),
      calls_(settings),
      abandoned_(settings.options.max_abandoned) {}

// ---- slots --------------------------------------------------------------------------------------

std::size_t ActivityDesk::reserve_for_hand_off(std::size_t wanted) {
  const MutexLock lock(mutex_);
  if (!standing_.accepts() || abandoned_.too_many()) return 0;
  return slots_.reserve_for_hand_off(wanted);
}

std::size_t ActivityDesk::reserve_for_fetch() {
  const MutexLock lock(mutex_);
  return slots_.reserve_for_fetch(!abandoned_.too_many());
}

void ActivityDesk::unreserve(std::size_t slots) {
  const MutexLock lock(mutex_);
  slots_.unreserve(slots);
}

void ActivityDesk::set_left_behind(bool left_behind) {
  const MutexLock lock(mutex_);
  slots_.set_left_behind(left_behind);
}

void ActivityDesk::leave_slot() {
  std::optional<AheadList::Item> next;
  {
    const MutexLock lock(mutex_);
    next = slots_.free(!abandoned_.too_many());
  }
  begin_next(std::move(next));
}

void ActivityDesk::begin_next(std::optional<AheadList::Item> next) {
  if (next) run(*std::move(next));
}

void ActivityDesk::give_back(std::vector<AheadList::Item>&& ahead) {
  for (AheadList::Item& item : ahead) {
    if (item.locked.session && item.locked.session->claimed) {
      const MutexLock lock(mutex_);
      claimed_ahead_.insert_or_assign(Key{item.locked.id, item.token}, item.locked.session->hold);
    }
    put_back(item.locked, item.token, Duration::zero());
  }
}

void ActivityDesk::give_back_ahead() {
  std::vector<AheadList::Item> all;
  {
    const MutexLock lock(mutex_);
    all = slots_.take_all_waiting();
  }
  give_back(std::move(all));
}

// ---- beginning ----------------------------------------------------------------------------------

void ActivityDesk::expect(LockToken token) {
  const MutexLock lock(mutex_);
  calls_.expect(token);
}

void ActivityDesk::stop_expecting(LockToken token) {
  CallOrders orders;
  {
    const MutexLock lock(mutex_);
    calls_.stop_expecting(token, orders);
  }
  carry_out(std::move(orders));
}

void ActivityDesk::begin(store::LockedActivity&& locked, LockToken token, BootTime asked,
                         std::optional<bodies::Activity> body) {
  const std::shared_ptr<const SessionMemory> memory =
      locked.session ? sessions_.memory_of(locked.session->hold) : nullptr;
  CallOrders orders;
  enum class What : std::uint8_t { is_run, waits, was_taken_away, goes_on } what{};
  {
    const MutexLock lock(mutex_);
    if (calls_.was_cancelled_early({locked.id, token}, orders)) {
      what = What::was_taken_away;
    } else if (const auto before = calls_.take_again(locked, token, asked, memory.get())) {
      outbox_.lock_again(locked.id, *before, token);
      what = What::goes_on;
    } else {
      what = slots_.are_full() && !settings_.is_suspect(locked.delivery) ? What::waits : What::is_run;
    }
    if (what == What::was_taken_away || what == What::goes_on) slots_.unreserve(1);
    if (what == What::is_run) slots_.occupy();
    if (what == What::waits) slots_.wait({std::move(locked), token, asked, settings_.now(), std::move(body)});
  }
  carry_out(std::move(orders));
  // NOLINTNEXTLINE(bugprone-use-after-move): only one that waits has been moved
  if (what == What::is_run) return run({std::move(locked), token, asked, {}, std::move(body)});
  if (what == What::waits) return waker_.limit_by(after(settings_.now(), AheadList::kPatience));
  if (what == What::was_taken_away) return;
  log_activity(*settings_.logger, LogLevel::info,
               "an activity whose lease was over is locked again; it goes on", locked);
  waker_.poke(Step::answers);
}

// In a slot that is its own.
void ActivityDesk::run(AheadList::Item&& item) {
  auto& [locked, token, asked, since, body] = item;
  if (!body) body = readable(locked, token);
  if (!body || !may_run(locked, token, asked)) return leave_slot();
  std::unique_ptr<SessionStay> stay = locked.session ? sessions_.enter(locked, asked) : nullptr;
  if (locked.session && !stay) {
    log_activity(
        *settings_.logger, LogLevel::warn,
        "activity is not begun: the lease of its session was over before it could be, or it is leaving",
        locked);
    leave_slot();
    return put_back(locked, token, AttemptEnds::kMoment);
  }
  auto code = settings_.registry.activity(locked.name);
  const BootTime lease_until = after(asked, settings_.options.activity_lease);
  auto call = std::allocate_shared<detail::ActivityCall>(
      detail::BlockAllocator<detail::ActivityCall>(), std::move(locked), token, *std::move(body),
      std::move(code), std::move(stay), settings_.registry, settings_.store->clock(), settings_.now(),
      settings_.options.limits.payload_bytes);
  settings_.counters.activities_started.add();
  cache_.activity_started(call->id().instance);
  {
    const MutexLock lock(mutex_);
    calls_.add(call, lease_until);
  }
  waker_.keep_by(after(asked, settings_.options.activity_lease / 3));
  waker_.limit_by(std::min(call->deadline(), lease_until));
  call->invoke(executor_, detail::Completion(*this, call, owner_.lock()));
}

std::optional<bodies::Activity> ActivityDesk::readable(const store::LockedActivity& locked, LockToken token) {
  std::optional<bodies::Activity> body = bodies::read<bodies::Activity>(locked.body);
  if (body) return body;
  log_activity(*settings_.logger, LogLevel::error, "the body of an activity can't be read; it is set aside",
               locked);
  outbox_.answer({locked.id, token, store::SetAside{"the body can't be decoded"}});
  return std::nullopt;
}

// False when it must not be, and was answered.
bool ActivityDesk::may_run(const store::LockedActivity& locked, LockToken token, BootTime asked) {
  if (locked.delivery > settings_.options.poison_after) {
    settings_.counters.poisoned.add();
    ends_.failed_unrun(locked, token,
                       Failure{.category = Category::poison,
                               .type = "poison",
                               .message = "handed out " + std::to_string(locked.delivery - 1) +
                                          " times, and each worker was lost before it answered",
                               .retryable = false});
    return false;
  }
  if (after(asked, settings_.options.activity_lease) <= settings_.now()) {
    log_activity(*settings_.logger, LogLevel::warn,
                 "activity is not begun: its lease was over before it could be", locked);
    put_back(locked, token, Duration::zero());
    return false;
  }
  if (locked.delivery > 1) {
    log_activity(*settings_.logger, LogLevel::warn,
                 "activity taken over: the worker that had it gave no answer before its lease was over",
                 locked, {{"delivery", locked.delivery}});
  }
  return true;
}

void ActivityDesk::put_back(const store::LockedActivity& locked, LockToken token, Duration pause) {
  outbox_.answer({locked.id, token, store::PutBack{pause}});
}

// ---- ending -------------------------------------------------------------------------------------

// The code has returned: its slot is free, and if nobody answered before, this is the answer.
void ActivityDesk::ended(const CallPointer& call, Result<Payload> result) {
  const bool counts = call->answer();
  std::optional<store::SessionSave> save = end_in_session(*call, result, counts);
  CallOrders orders;
  CallsInHand::CodeEnd end;
  std::optional<AbandonedCalls::Change> came_back;
  std::optional<AheadList::Item> next;
  bool fetch = false;
  {
    const MutexLock lock(mutex_);
    slots_.note(settings_.now() - call->started());
    came_back = abandoned_.remove(*call);
    end = calls_.code_ended(*call, orders);
    if (end.frees_slot) next = slots_.free(!abandoned_.too_many());
    fetch = (came_back && !abandoned_.too_many()) || (end.known && slots_.left_behind());
  }
  // Until now it counted as one that runs in its session.
  if (came_back && call->stay() != nullptr)
    orders.acknowledge.push_back({call->id(), call->token(), store::CancelRecord::State::acknowledged});
  if (came_back) say_came_back(settings_, *call, *came_back);
  if (end.stopped) {
    const bool failed = !result && result.error().type != detail::kStoppedType;
    const Fate fate = counts ? Fate::counts : failed ? Fate::failure_dropped : Fate::dropped;
    say_stopped(settings_, *call, *end.stopped, fate);
  }
  carry_out(std::move(orders));
  begin_next(std::move(next));
  if (counts) ends_.ended(*call, std::move(result), std::move(save));
  if (fetch) waker_.poke(Step::activities);  // last: this thread may fetch itself
}

std::optional<store::SessionSave> ActivityDesk::end_in_session(detail::ActivityCall& call,
                                                               Result<Payload>& result, bool counts) {
  SessionStay* const stay = call.stay();
  if (stay == nullptr) return std::nullopt;
  try {
    return stay->end_of_code(counts && result && !call.too_large(*result));
  } catch (const NoAnswer& e) {
    result = Unexpected(e.failure());
  } catch (...) {
    result = Unexpected(detail::failure_of(std::current_exception()));
    settings_.counters.session_saves_failed.add();
  }
  return std::nullopt;
}

// The store refuses what is not locked by this token: then there was no commit, or it was queued.
void ActivityDesk::give_back_doubtful(const store::TurnCommit& commit) {
  for (const store::NewActivity& activity : commit.activities) {
    if (!activity.hand_off) continue;
    outbox_.answer({{commit.key, commit.execution, activity.event}, commit.activity_token, store::PutBack{}});
  }
}

void ActivityDesk::recorded(std::span<const LocalDone> done) {
  for (const LocalDone& one : done) cache_.activity_over(one.id.instance);
  CallOrders orders;
  orders.over.reserve(done.size());
  std::vector<CallPointer> in_sessions;
  {
    const MutexLock lock(mutex_);
    for (const LocalDone& one : done) {
      const CallPointer call = calls_.close({one.id, one.token}, orders);
      if (call && call->stay() != nullptr) in_sessions.push_back(call);
    }
  }
  for (const CallPointer& call : in_sessions) call->stay()->recorded();
  carry_out(std::move(orders));
}

void ActivityDesk::drop(std::span<const LocalDone> done) {
  settings_.counters.answers_refused.add(done.size());
  for (const LocalDone& one : done) cache_.activity_over(one.id.instance);
  CallOrders orders;
  std::vector<CallPointer> dropped;
  {
    const MutexLock lock(mutex_);
    for (const LocalDone& one : done) dropped.push_back(calls_.drop({one.id, one.token}, orders));
  }
  for (const CallPointer& call : dropped) {
    if (!call) continue;
    log_activity(*settings_.logger, LogLevel::info,
                 "the result of an activity is refused: its instance no longer wants it", call->locked());
  }
  carry_out(std::move(orders));
}

void ActivityDesk::answered(const store::ActivityResult& answer, bool wanted) {
  CallOrders orders;
  bool known = false;
  CallPointer call;
  std::optional<store::SessionHold> unused;
  {
    const MutexLock lock(mutex_);
    const Key key{answer.id, answer.token};
    if (const auto ahead = claimed_ahead_.extract(key)) unused = ahead.mapped();
    known = calls_.find(key) != nullptr;
    call = calls_.close(key, orders);
  }
  if (unused) sessions_.want_hand_over(*unused);  // others may have a slot for it
  if (known) cache_.activity_over(answer.id.instance);
  const bool recorded = wanted && std::holds_alternative<store::Finished>(answer.result);
  if (recorded && call && call->stay() != nullptr) call->stay()->recorded();
  carry_out(std::move(orders));
}

std::shared_ptr<const detail::ActivityCall> ActivityDesk::call_of(const store::ActivityResult& answer) const {
  const MutexLock lock(mutex_);
  return calls_.find({answer.id, answer.token});
}

std::optional<LockToken> ActivityDesk::newer_lock(const store::ActivityResult& answer) const {
  const MutexLock lock(mutex_);
  return calls_.newer_lock({answer.id, answer.token});
}

bool ActivityDesk::may_be_locked_again(const store::ActivityId& id, LockToken token) {
  const MutexLock lock(mutex_);
  return calls_.may_be_locked_again({id, token});
}

// ---- keeping ------------------------------------------------------------------------------------

std::vector<store::ActivityRenewal> ActivityDesk::renewals() {
  const MutexLock lock(mutex_);
  return calls_.renewals();
}

void ActivityDesk::renewed(std::span<const store::ActivityRenewal> renewals, BootTime asked) {
  CallOrders orders;
  {
    const MutexLock lock(mutex_);
    calls_.renewed(renewals, asked, orders);
  }
  carry_out(std::move(orders));
}

void ActivityDesk::give_back_progress(const store::ActivityRenewal& renewal) {
  if (!renewal.progress) return;
  CallPointer call;
  {
    const MutexLock lock(mutex_);
    call = calls_.find({renewal.id, renewal.token});
  }
  if (call) call->give_back_progress(*renewal.progress);
}

void ActivityDesk::cancel(const store::ActivityId& id, LockToken token, CancelReason reason,
                          std::optional<BootTime> taken_at) {
  CallOrders orders;
  {
    const MutexLock lock(mutex_);
    if (slots_.remove(id, token)) {
      orders.acknowledge.push_back({id, token, store::CancelRecord::State::acknowledged});
    } else {
      calls_.cancel({id, token}, reason, taken_at, orders);
    }
  }
  carry_out(std::move(orders));
}

void ActivityDesk::enforce_limits() {
  CallOrders orders;
  std::vector<AbandonedCalls::Change> changes;
  std::vector<std::optional<AheadList::Item>> next;
  std::vector<AheadList::Item> late;
  {
    const MutexLock lock(mutex_);
    calls_.check(orders);
    for (const CallPointer& call : orders.abandoned) {
      changes.push_back(abandoned_.add(*call));
      next.push_back(slots_.free(!abandoned_.too_many()));
    }
    late = slots_.take_late(settings_.now());
  }
  for (std::size_t i = 0; i < changes.size(); ++i) say_abandoned(settings_, *orders.abandoned[i], changes[i]);
  const bool slots_free = !orders.abandoned.empty();
  give_back(std::move(late));
  for (auto& item : next) begin_next(std::move(item));
  carry_out(std::move(orders));
  if (slots_free) waker_.poke(Step::activities);
}

// Without the mutex: see the class.
void ActivityDesk::carry_out(CallOrders&& orders) {
  for (const CallPointer& call : orders.lapsed) {
    log_activity(*settings_.logger, LogLevel::warn, "the lock of an activity could not be kept",
                 call->locked());
  }
  for (CallOrders::Stop& one : orders.stop) stop(std::move(one));
  for (const CallPointer& call : orders.end) {
    log_activity(*settings_.logger, LogLevel::warn,
                 "activity goes on after its grace; its coroutine is ended", call->locked());
    call->end();
  }
  outbox_.acknowledge(std::move(orders.acknowledge));
  if (orders.limit_by != BootTime::max()) waker_.limit_by(orders.limit_by);
  for (const CallPointer& call : orders.timed_out) ends_.timed_out(*call);
  orders.over.clear();
}

// Each by itself: callbacks of the stop token are code of the user, and may take long.
void ActivityDesk::stop(CallOrders::Stop stop) {
  executor_.post_at_once([this, stop = std::move(stop), owner = owner_.lock()] {
    std::optional<Duration> late;
    if (stop.taken_at) late = settings_.now() - *stop.taken_at;
    say_asked_to_stop(settings_, *stop.call, stop.reason, late);
    stop.call->stop();
  });
}

BootTime ActivityDesk::next_limit() const {
  const MutexLock lock(mutex_);
  return std::min(slots_.next_due(), calls_.next_limit());
}

void ActivityDesk::stop_all(CancelReason reason, CancelReason in_fail_session) {
  CallOrders orders;
  {
    const MutexLock lock(mutex_);
    calls_.stop_all(reason, in_fail_session, orders);
  }
  carry_out(std::move(orders));
  waker_.poke(Step::keep);
}

// ---- questions ----------------------------------------------------------------------------------

std::optional<store::SessionGrant> ActivityDesk::session_of(const store::ActivityId& id,
                                                            LockToken token) const {
  const MutexLock lock(mutex_);
  const CallPointer call = calls_.find({id, token});
  return call ? call->locked().session : std::nullopt;
}

std::size_t ActivityDesk::slots_in_use() const {
  const MutexLock lock(mutex_);
  return slots_.in_use();
}

std::optional<BootTime> ActivityDesk::suspect_since() const {
  const MutexLock lock(mutex_);
  return calls_.suspect_since();
}

std::vector<std::string> ActivityDesk::running() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  const auto add = [&](const detail::ActivityCall& call) {
    names.push_back(call.locked().name + " of " + call.locked().instance);
  };
  for (const CallPointer& call : calls_.running()) add(*call);
  for (const detail::ActivityCall* call : abandoned_.calls()) add(*call);
  return names;
}

bool ActivityDesk::ends_soon(bool store_answers) const {
  const MutexLock lock(mutex_);
  return calls_.ends_soon(store_answers);
}

std::size_t ActivityDesk::in_hand() const {
  const MutexLock lock(mutex_);
  return calls_.size() + slots_.waiting();
}

}  // namespace holdfast::runtime
