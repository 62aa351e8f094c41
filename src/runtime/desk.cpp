#include "runtime/desk.hpp"

#include "base/failure_text.hpp"
#include "base/limit_failure.hpp"
#include "client/bodies.hpp"
#include "runtime/activity_line.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace holdfast::runtime {

namespace {

// What its session or the store keeps from running for a moment is tried again after this: not at once, or it
// would go round in circles while the moment lasts.
constexpr Duration kMoment = std::chrono::milliseconds(100);
// A coroutine that was told to end needs no more than a moment for it, unless it ignores that.
constexpr Duration kMomentToEnd = std::chrono::seconds(1);

// `late` is the time since the commit that took it away, where that is known.
void say_asked_to_stop(const Settings& settings, const detail::ActivityCall& call, CancelReason reason,
                       std::optional<Duration> late) {
  constexpr std::string_view kSaid = "activity is asked to stop";
  const LogField why{"reason", to_string(reason)};
  if (!late) return log_activity(*settings.logger, LogLevel::info, kSaid, call.locked(), {why});
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(*late).count();
  log_activity(*settings.logger, LogLevel::info, kSaid, call.locked(), {why, {"after_us", us}});
}

/// What becomes of what the code returned or threw.
enum class Fate : std::uint8_t { counts, dropped, failure_dropped };

void say_stopped(const Settings& settings, const detail::ActivityCall& call, CancelReason reason, Fate fate) {
  settings.counters.stopped.add();
  std::string_view said = "activity has ended within its grace";
  if (fate == Fate::failure_dropped)
    said = "activity failed while it was asked to stop; its failure is dropped";
  if (fate == Fate::dropped && reason == CancelReason::lease_lost)
    said = "activity has ended after another worker had taken it; its result is dropped";
  const bool warns =
      fate == Fate::failure_dropped || (fate == Fate::dropped && reason == CancelReason::lease_lost);
  log_activity(*settings.logger, warns ? LogLevel::warn : LogLevel::info, said, call.locked(),
               {{"reason", to_string(reason)}});
}

void say_failed(const Settings& settings, const store::LockedActivity& activity, const Failure& failure,
                std::optional<Duration> retry_in) {
  const LogField type{"type", failure.type};
  const LogField message{"failure", failure.message};
  if (!retry_in)
    return log_activity(*settings.logger, LogLevel::warn, "activity failed for good", activity,
                        {type, message});
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*retry_in).count();
  log_activity(*settings.logger, LogLevel::warn, "attempt failed; it is retried", activity,
               {{"retry_in_ms", ms}, type, message});
}

}  // namespace

// ---- slots --------------------------------------------------------------------------------------

bool ActivityDesk::reserve_for_hand_off() {
  const MutexLock lock(mutex_);
  if (!standing_.accepts() || abandoned_.too_many() || taken_ + for_fetch_ >= settings_.slots) return false;
  ++taken_;
  return true;
}

std::size_t ActivityDesk::reserve_for_fetch() {
  const MutexLock lock(mutex_);
  const std::size_t room = abandoned_.too_many() ? 0 : settings_.slots + ahead_.room(settings_.slots);
  const std::size_t free = room - std::min(taken_, room);
  if (free == 0) left_behind_ = true;  // nobody knows: the next slot that becomes free will tell
  taken_ += free;
  for_fetch_ = 0;
  return free;
}

void ActivityDesk::unreserve(std::size_t slots) {
  const MutexLock lock(mutex_);
  taken_ -= slots;
}

void ActivityDesk::set_left_behind(bool left_behind) {
  const MutexLock lock(mutex_);
  left_behind_ = left_behind;
  if (!left_behind) for_fetch_ = 0;
}

// What is returned gets the slot.
std::optional<AheadList::Item> ActivityDesk::free_slot() {
  --running_;
  --taken_;
  if (abandoned_.too_many()) return std::nullopt;
  if (auto next = ahead_.take()) {
    ++running_;
    return next;
  }
  if (left_behind_ && (next_for_fetch_ = !next_for_fetch_)) ++for_fetch_;
  return std::nullopt;
}

void ActivityDesk::leave_slot() {
  std::optional<AheadList::Item> next;
  {
    const MutexLock lock(mutex_);
    next = free_slot();
  }
  begin_next(std::move(next));
}

void ActivityDesk::begin_next(std::optional<AheadList::Item> next) {
  if (next) run(std::move(next->locked), next->token, next->asked);
}

void ActivityDesk::give_back(std::vector<AheadList::Item>&& ahead) {
  for (AheadList::Item& item : ahead) {
    if (item.locked.session && item.locked.session->claimed) {
      const MutexLock lock(mutex_);
      claimed_ahead_.insert_or_assign(Key{item.locked.id, item.token}, item.locked.session->hold);
    }
    queue({item.locked.id, item.token, store::PutBack{}});
  }
}

void ActivityDesk::give_back_ahead() {
  std::vector<AheadList::Item> all;
  {
    const MutexLock lock(mutex_);
    all = ahead_.take_all();
    taken_ -= all.size();
  }
  give_back(std::move(all));
}

// ---- the life of a call -------------------------------------------------------------------------

void ActivityDesk::expect(LockToken token) {
  const MutexLock lock(mutex_);
  expected_.insert(token);
}

// What was taken away, and never came here, runs nowhere.
void ActivityDesk::stop_expecting(LockToken token) {
  bool any = false;
  {
    const MutexLock lock(mutex_);
    expected_.erase(token);
    any = std::erase_if(cancelled_early_, [&](const Key& key) HOLDFAST_REQUIRES(mutex_) {
            if (key.second != token) return false;
            acknowledgements_.push_back({key.first, token, store::CancelRecord::State::acknowledged});
            return true;
          }) > 0;
  }
  if (any) waker_.poke(Step::keep);
}

bool ActivityDesk::was_cancelled_early(const Key& key) {
  if (cancelled_early_.erase(key) == 0) return false;
  acknowledgements_.push_back({key.first, key.second, store::CancelRecord::State::acknowledged});
  return true;
}

// The lease was over before its answer came to the store, or before its code came to its
// end; and nobody else had it in between, nor the session whose `memory` it uses.
bool ActivityDesk::take_again(const store::LockedActivity& locked, LockToken token, BootTime asked,
                              const SessionMemory* memory) {
  auto found = calls_.lower_bound({locked.id, {}});
  const auto is_it = [&] {
    const detail::ActivityCall& call = *found->second.call;
    return !found->second.gone && call.locked().attempt == locked.attempt &&
           call.locked().delivery + 1 == locked.delivery &&
           (call.stay() != nullptr ? call.stay()->memory() : nullptr) == memory;
  };
  while (found != calls_.end() && found->first.first == locked.id && !is_it()) ++found;
  if (found == calls_.end() || found->first.first != locked.id) return false;
  const LockToken before = found->first.second;
  auto node = calls_.extract(found);
  node.key().second = token;
  node.mapped().call->set_token(token);
  node.mapped().former.push_back(before);
  node.mapped().lease_until = after(asked, settings_.options.activity_lease);
  node.mapped().lapsed = false;
  node.mapped().overtaken_by.reset();
  calls_.insert(std::move(node));
  for (store::ActivityResult& answer : answers_) {
    if (answer.id == locked.id && answer.token == before) answer.token = token;
  }
  log_activity(*settings_.logger, LogLevel::info,
               "an activity whose lease was over is locked again; it goes on", locked);
  return true;
}

void ActivityDesk::begin(store::LockedActivity&& locked, LockToken token, BootTime asked) {
  const std::shared_ptr<const SessionMemory> memory =
      locked.session ? sessions_.memory_of(locked.session->hold) : nullptr;
  bool ahead = false;
  {
    const MutexLock lock(mutex_);
    const bool cancelled = was_cancelled_early({locked.id, token});
    if (cancelled || take_again(locked, token, asked, memory.get())) {
      --taken_;
      return waker_.poke(cancelled ? Step::keep : Step::answers);
    }
    ahead = running_ >= settings_.slots && !settings_.is_suspect(locked.delivery);
    if (ahead) {
      ahead_.add({std::move(locked), token, asked, settings_.now()});
    } else {
      ++running_;
    }
  }
  if (!ahead) return run(std::move(locked), token, asked);
  waker_.limit_by(after(settings_.now(), AheadList::kPatience));
}

// In a slot that is its own.
void ActivityDesk::run(store::LockedActivity&& locked, LockToken token, BootTime asked) {
  std::optional<bodies::Activity> body = bodies::read<bodies::Activity>(locked.body);
  if (!body) {
    log_activity(*settings_.logger, LogLevel::error, "the body of an activity can't be read; it is set aside",
                 locked);
    leave_slot();
    return queue({locked.id, token, store::SetAside{"the body can't be decoded"}});
  }
  if (locked.delivery > settings_.options.poison_after) {
    settings_.counters.poisoned.add();
    const std::string deliveries = std::to_string(locked.delivery - 1);
    return fail_at_once(
        std::move(locked), token,
        Failure{.category = Category::poison,
                .type = "poison",
                .message = "handed out " + deliveries + " times, and each worker was lost before it answered",
                .retryable = false});
  }
  const BootTime lease_until = after(asked, settings_.options.activity_lease);
  if (lease_until <= settings_.now()) {
    log_activity(*settings_.logger, LogLevel::warn,
                 "activity is not begun: its lease was over before it could be", locked);
    leave_slot();
    return queue({locked.id, token, store::PutBack{}});
  }
  if (locked.delivery > 1) {
    log_activity(*settings_.logger, LogLevel::warn,
                 "activity taken over: the worker that had it gave no answer before its lease was over",
                 locked, {{"delivery", locked.delivery}});
  }
  auto code = settings_.registry.activity(locked.name);
  std::unique_ptr<SessionStay> stay = locked.session ? sessions_.enter(locked, asked) : nullptr;
  if (locked.session && !stay) {
    log_activity(
        *settings_.logger, LogLevel::warn,
        "activity is not begun: the lease of its session was over before it could be, or it is leaving",
        locked);
    leave_slot();
    return queue({locked.id, token, store::PutBack{kMoment}});
  }
  auto call = std::make_shared<detail::ActivityCall>(
      std::move(locked), token, *std::move(body), std::move(code), std::move(stay), settings_.registry,
      settings_.store->clock(), settings_.now(), settings_.options.limits.payload_bytes);
  settings_.counters.activities_started.add();
  cache_.activity_started(call->id().instance);
  {
    const MutexLock lock(mutex_);
    calls_.insert_or_assign(Key{call->id(), token}, Entry{call, lease_until});
  }
  waker_.keep_by(after(asked, settings_.options.activity_lease / 3));
  waker_.limit_by(std::min(call->deadline(), lease_until));
  call->invoke(executor_, detail::Completion(*this, call, owner_.lock()));
}

// The code has returned: its slot is free, and if nobody answered before, this is the answer.
void ActivityDesk::ended(const CallPointer& call, Result<Payload> result) {
  const bool counts = call->answer();
  std::optional<store::SessionSave> save;
  if (SessionStay* const stay = call->stay()) {
    try {
      save = stay->end_of_code(counts && result && !call->too_large(*result));
    } catch (const NoAnswer& e) {
      result = Unexpected(e.failure());
    } catch (...) {
      result = Unexpected(detail::failure_of(std::current_exception()));
      settings_.counters.session_saves_failed.add();
    }
  }
  bool fetch = false;
  bool gone = false;
  std::optional<CancelReason> stopped;
  std::optional<AheadList::Item> next;
  {
    const MutexLock lock(mutex_);
    ahead_.note(settings_.now() - call->started());
    if (abandoned_.remove(*call)) {
      fetch = !abandoned_.too_many();
      // Until now it counted as one that runs in its session.
      gone = call->stay() != nullptr;
      if (gone)
        acknowledgements_.push_back({call->id(), call->token(), store::CancelRecord::State::acknowledged});
    }
    const auto found = calls_.find({call->id(), call->token()});
    if (found != calls_.end()) {
      if (std::exchange(found->second.code_runs, false)) {
        stopped = found->second.asked;
        next = free_slot();
      }
      fetch = fetch || left_behind_;
      if (found->second.gone) {
        gone = true;
        acknowledge(found->first, found->second, store::CancelRecord::State::acknowledged);
        calls_.erase(found);
      }
    }
  }
  if (stopped) {
    const bool failed = !result && result.error().type != detail::kStoppedType;
    const Fate fate = counts ? Fate::counts : failed ? Fate::failure_dropped : Fate::dropped;
    say_stopped(settings_, *call, *stopped, fate);
  }
  if (gone) waker_.poke(Step::keep);
  begin_next(std::move(next));
  if (counts) conclude(*call, std::move(result), std::move(save));
  if (fetch) waker_.poke(Step::activities);  // last: this thread may fetch itself
}

// Only what the store took away is on record there; of a lost lease it knows nothing.
void ActivityDesk::acknowledge(const Key& key, const Entry& entry, store::CancelRecord::State state) {
  if (entry.on_record) acknowledgements_.push_back({key.first, key.second, state});
}

// Decides what the end of an attempt means: a retry, or an outcome, which goes straight into the next turn
// where possible.
void ActivityDesk::conclude(const detail::ActivityCall& call, Result<Payload> result,
                            std::optional<store::SessionSave> save, bool still_runs) {
  const std::optional<std::string> abort =
      call.stay() != nullptr ? call.stay()->abort_reason() : std::nullopt;
  if (!result && !abort) {
    // Code that still runs may still ask for the state of its session.
    const bool unanswered = !still_runs && call.stay() != nullptr && call.stay()->unanswered();
    const bool cut_short =
        call.reason() == CancelReason::worker_stopping || call.reason() == CancelReason::lease_lost;
    // The attempt was not given its time, or not what it needs.
    if (unanswered || cut_short) {
      const store::PutBack put_back{unanswered ? kMoment : Duration::zero()};
      return queue({call.id(), call.token(), put_back, call.own_progress()});
    }
  }
  if (result && call.too_large(*result)) {
    result = Unexpected(detail::payload_too_large("the result", result->bytes.size(), call.payload_limit()));
  }
  if (!result) {
    Failure& failure = result.error();
    detail::limit_details(failure, call.payload_limit());
    failure.source = "activity " + call.locked().name;
    failure.event = call.id().event;
    failure.attempt = static_cast<int>(call.locked().attempt);
    const std::optional<Duration> delay =
        chance_.retry_delay(call.scheduled().settings->retry, settings_.options.retry, failure,
                            call.locked().attempt, call.locked().total_left);
    if (delay && !abort) {
      settings_.counters.activities_retried.add();
      say_failed(settings_, call.locked(), failure, delay);
      return queue({.id = call.id(),
                    .token = call.token(),
                    .result = store::Retry{*delay, bodies::to_bytes(failure)},
                    .progress = call.own_progress(),
                    .still_runs = still_runs});
    }
    settings_.counters.activities_failed.add();
    say_failed(settings_, call.locked(), failure, std::nullopt);
  } else {
    settings_.counters.activities_completed.add();
  }
  if (still_runs) {
    return queue({.id = call.id(),
                  .token = call.token(),
                  .result = store::Finished{bodies::to_bytes(bodies::outcome_of(std::move(result)))},
                  .abort_session = abort,
                  .still_runs = true});
  }
  LocalDone done{call.id(),       call.token(),    bodies::outcome_of(std::move(result)),
                 settings_.now(), std::move(save), abort};
  if (cache_.add_done(std::move(done))) return waker_.poke(Step::turns);
  std::vector<LocalDone> list;
  list.push_back(std::move(done));
  tell_store(std::move(list));
}

void ActivityDesk::fail_at_once(store::LockedActivity&& locked, LockToken token, Failure failure) {
  failure.source = "activity " + locked.name;
  failure.event = locked.id.event;
  failure.attempt = static_cast<int>(locked.attempt);
  log_activity(*settings_.logger, LogLevel::error, "activity failed without being run", locked,
               {{"type", failure.type}, {"failure", failure.message}});
  leave_slot();
  queue({locked.id, token, store::Finished{bodies::to_bytes(bodies::Outcome{std::move(failure), {}})}});
}

// The store refuses what is not locked by this token: then there was no commit, or it was queued.
void ActivityDesk::give_back_doubtful(const store::TurnCommit& commit) {
  for (const store::NewActivity& activity : commit.activities) {
    if (!activity.hand_off) continue;
    queue({{commit.key, commit.execution, activity.event}, commit.activity_token, store::PutBack{}});
  }
}

void ActivityDesk::settle(std::span<const LocalDone> done) {
  for (const LocalDone& one : done) cache_.activity_settled(one.id.instance);
  std::vector<CallPointer> over;  // let go without the mutex: they may be the last in their session
  over.reserve(done.size());
  const MutexLock lock(mutex_);
  for (const LocalDone& one : done) {
    over.push_back(close({one.id, one.token}));
    if (over.back() && over.back()->stay() != nullptr) over.back()->stay()->recorded();
  }
}

// The request to stop them may still be on its way. It is answered here, since it will find nobody.
void ActivityDesk::drop(std::span<const LocalDone> done) {
  settings_.counters.answers_refused.add(done.size());
  std::vector<CallPointer> over;  // let go without the mutex: they may be the last in their session
  over.reserve(done.size());
  const MutexLock lock(mutex_);
  for (const LocalDone& one : done) {
    cache_.activity_settled(one.id.instance);
    const auto found = calls_.find({one.id, one.token});
    if (found == calls_.end()) continue;
    found->second.on_record = true;
    log_activity(*settings_.logger, LogLevel::info,
                 "the result of an activity is refused: its instance no longer wants it",
                 found->second.call->locked());
    over.push_back(close(found->first));
  }
}

// The store knows how it ended. Where that was a timeout, its code may go on, and its
// slot is not free yet.
ActivityDesk::CallPointer ActivityDesk::close(const Key& key) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) return nullptr;
  if (found->second.code_runs) {
    found->second.gone = true;
    return nullptr;
  }
  if (found->second.on_record) {
    using State = store::CancelRecord::State;
    const bool runs = abandoned_.contains(*found->second.call);
    acknowledge(found->first, found->second, runs ? State::abandoned : State::acknowledged);
    waker_.keep_by(settings_.now());
  }
  CallPointer call = std::move(found->second.call);
  calls_.erase(found);
  return call;
}

void ActivityDesk::tell_store(std::vector<LocalDone>&& done) {
  if (done.empty()) return;
  {
    const MutexLock lock(mutex_);
    for (LocalDone& one : done) {
      answers_.push_back({.id = one.id,
                          .token = one.token,
                          .result = store::Finished{bodies::to_bytes(one.outcome)},
                          .save = std::move(one.save),
                          .abort_session = std::move(one.abort_session)});
    }
  }
  waker_.poke(Step::answers);
}

void ActivityDesk::queue(store::ActivityResult answer) {
  {
    const MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  waker_.poke(Step::answers);
}

std::vector<store::ActivityResult> ActivityDesk::take_answers() {
  const MutexLock lock(mutex_);
  return std::exchange(answers_, {});
}

void ActivityDesk::give_back(std::vector<store::ActivityResult>&& answers) {
  const MutexLock lock(mutex_);
  answers_.insert(answers_.begin(), std::make_move_iterator(answers.begin()),
                  std::make_move_iterator(answers.end()));
}

void ActivityDesk::give_back_progress(std::span<const store::ActivityRenewal> progress) {
  const MutexLock lock(mutex_);
  for (const store::ActivityRenewal& one : progress) {
    const auto found = calls_.find({one.id, one.token});
    if (one.progress && found != calls_.end()) found->second.call->give_back_progress(*one.progress);
  }
}

void ActivityDesk::answered(const store::ActivityResult& answer, bool wanted) {
  CallPointer call;  // let go without the mutex: it may be the last in its session
  const MutexLock lock(mutex_);
  if (const auto ahead = claimed_ahead_.extract(Key{answer.id, answer.token}))
    sessions_.want_hand_over(ahead.mapped());  // others may have a slot for it
  const auto found = calls_.find({answer.id, answer.token});
  if (found == calls_.end()) return;
  cache_.activity_settled(answer.id.instance);
  call = close(found->first);
  const bool recorded = wanted && std::holds_alternative<store::Finished>(answer.result);
  if (recorded && call && call->stay() != nullptr) call->stay()->recorded();
}

std::shared_ptr<const detail::ActivityCall> ActivityDesk::call_of(const store::ActivityResult& answer) const {
  const MutexLock lock(mutex_);
  const auto found = calls_.find({answer.id, answer.token});
  return found == calls_.end() ? nullptr : found->second.call;
}

std::optional<LockToken> ActivityDesk::newer_lock(const store::ActivityResult& answer) const {
  const MutexLock lock(mutex_);
  for (auto it = calls_.lower_bound({answer.id, {}}); it != calls_.end() && it->first.first == answer.id;
       ++it) {
    const Entry& entry = it->second;
    // Another attempt of the same activity may be in hand, too.
    if (!entry.gone && std::ranges::find(entry.former, answer.token) != entry.former.end())
      return it->first.second;
  }
  return std::nullopt;
}

bool ActivityDesk::may_be_locked_again(const store::ActivityId& id, LockToken token) {
  const MutexLock lock(mutex_);
  const auto found = calls_.find({id, token});
  return found != calls_.end() && !found->second.gone && may_be_locked_again(found->second);
}

bool ActivityDesk::may_be_locked_again(Entry& entry) const {
  if (!entry.overtaken_by) entry.overtaken_by = expected_;
  const auto is_under_way = [&](LockToken fetch)
                                HOLDFAST_REQUIRES(mutex_) { return expected_.contains(fetch); };
  return std::ranges::any_of(*entry.overtaken_by, is_under_way);
}

// ---- keeping ------------------------------------------------------------------------------------

std::vector<store::ActivityRenewal> ActivityDesk::renewals() {
  const MutexLock lock(mutex_);
  std::vector<store::ActivityRenewal> list;
  for (auto& [key, entry] : calls_) {
    if (entry.gone) continue;
    list.push_back({key.first, key.second, entry.call->take_unsent_progress()});
  }
  return list;
}

void ActivityDesk::renewed(std::span<const store::ActivityRenewal> renewals, BootTime asked) {
  const MutexLock lock(mutex_);
  for (const store::ActivityRenewal& renewal : renewals) {
    const auto found = calls_.find({renewal.id, renewal.token});
    if (found == calls_.end()) continue;
    found->second.lease_until = after(asked, settings_.options.activity_lease);
    found->second.lapsed = false;
    waker_.limit_by(found->second.lease_until);
  }
}

void ActivityDesk::cancel(const store::ActivityId& id, LockToken token, CancelReason reason,
                          std::optional<BootTime> taken_at) {
  Stops stops;
  CallPointer call;  // let go without the mutex: it may be the last in its session
  {
    const MutexLock lock(mutex_);
    if (ahead_.remove(id, token)) {
      --taken_;
      acknowledgements_.push_back({id, token, store::CancelRecord::State::acknowledged});
      waker_.poke(Step::keep);
      return;
    }
    const auto found = calls_.find({id, token});
    if (found == calls_.end() && expected_.contains(token)) cancelled_early_.insert({id, token});
    if (found == calls_.end() || found->second.gone) return;
    // The next renewal will know.
    if (reason == CancelReason::lease_lost && may_be_locked_again(found->second)) return;
    call = found->second.call;
    found->second.gone = true;
    found->second.on_record = reason != CancelReason::lease_lost;
    static_cast<void>(found->second.call->answer());
    if (found->second.code_runs) {
      note_stop(found->second, reason, stops, taken_at);
    } else {
      acknowledge(found->first, found->second, store::CancelRecord::State::acknowledged);
      calls_.erase(found);
    }
  }
  stop(std::move(stops));
  waker_.poke(Step::keep);
}

void ActivityDesk::note_stop(Entry& entry, CancelReason reason, Stops& stops,
                             std::optional<BootTime> taken_at) {
  entry.grace_until = std::min(entry.grace_until, after(settings_.now(), settings_.options.cancel_grace));
  waker_.limit_by(entry.grace_until);
  if (entry.asked) return;  // and was told
  entry.asked = reason;
  entry.call->give_reason(reason);
  stops.push_back({entry.call, reason, taken_at});
}

// Each by itself: callbacks of the stop token are code of the user, and may take long.
void ActivityDesk::stop(Stops&& stops) {
  for (Stop& stop : stops) {
    executor_.post_at_once([this, stop = std::move(stop), owner = owner_.lock()] { tell(stop); });
  }
}

void ActivityDesk::tell(const Stop& stop) {
  const std::optional<Duration> late =
      stop.taken_at ? std::optional(settings_.now() - *stop.taken_at) : std::nullopt;
  settings_.counters.asked_to_stop.add();
  if (late) settings_.counters.cancel_seconds.observe(std::chrono::duration<double>(*late).count());
  say_asked_to_stop(settings_, *stop.call, stop.reason, late);
  stop.call->stop();
}

void ActivityDesk::enforce_limits() {
  Overdue overdue;
  bool to_acknowledge = false;
  {
    const MutexLock lock(mutex_);
    const BootTime now = settings_.now();
    for (auto it = calls_.begin(); it != calls_.end();) {
      check_attempt(it->second, now, overdue);
      it = check_grace(it, now, overdue);
    }
    overdue.late = ahead_.take_late(now);
    taken_ -= overdue.late.size();
    to_acknowledge = !acknowledgements_.empty();
  }
  give_back(std::move(overdue.late));
  for (auto& item : overdue.next) begin_next(std::move(item));
  stop(std::move(overdue.stops));
  for (const CallPointer& call : overdue.to_end) call->end();
  if (to_acknowledge) waker_.poke(Step::keep);
  if (overdue.slots_free) waker_.poke(Step::activities);
  for (const CallPointer& call : overdue.timed_out) {
    // In a session that has a limit it counts for as long as its code runs.
    conclude(*call,
             Unexpected(Failure{.category = Category::timeout,
                                .type = "attempt_timeout",
                                .message = "the attempt took longer than its timeout"}),
             std::nullopt, call->stay() != nullptr);
  }
}

// Has it taken too long, or is its lease over?
void ActivityDesk::check_attempt(Entry& entry, BootTime now, Overdue& overdue) {
  if (!entry.code_runs || entry.gone) return;
  if (entry.call->deadline() <= now && entry.call->answer()) {
    overdue.timed_out.push_back(entry.call);
    entry.on_record = entry.call->stay() != nullptr;
    note_stop(entry, CancelReason::attempt_timeout, overdue.stops);
  } else if (entry.lease_until <= now && !entry.call->answered() && !std::exchange(entry.lapsed, true)) {
    log_activity(*settings_.logger, LogLevel::warn, "the lock of an activity could not be kept",
                 entry.call->locked());
    note_stop(entry, CancelReason::lease_lost, overdue.stops);
  }
}

// Was it asked to stop, and goes on for longer than it may? Returns the next one.
ActivityDesk::Calls::iterator ActivityDesk::check_grace(Calls::iterator it, BootTime now, Overdue& overdue) {
  Entry& entry = it->second;
  if (!entry.code_runs || entry.grace_until > now) return std::next(it);
  if (tell_to_end(entry)) {
    overdue.to_end.push_back(entry.call);
    return std::next(it);
  }
  overdue.slots_free = true;
  return abandon(it, overdue);
}

// False when it can't be ended, or was told before. The caller ends it, without the
// mutex.
bool ActivityDesk::tell_to_end(Entry& entry) {
  if (!entry.call->can_be_ended() || std::exchange(entry.told_to_end, true)) return false;
  log_activity(*settings_.logger, LogLevel::warn, "activity goes on after its grace; its coroutine is ended",
               entry.call->locked());
  entry.grace_until = after(settings_.now(), kMomentToEnd);
  return true;
}

// Its code goes on, but no longer counts.
ActivityDesk::Calls::iterator ActivityDesk::abandon(Calls::iterator it, Overdue& overdue) {
  Entry& entry = it->second;
  abandoned_.add(*entry.call);
  entry.code_runs = false;
  overdue.next.push_back(free_slot());
  if (!entry.gone) return std::next(it);
  acknowledge(it->first, entry, store::CancelRecord::State::abandoned);
  return calls_.erase(it);
}

BootTime ActivityDesk::next_limit() const {
  const MutexLock lock(mutex_);
  BootTime due = ahead_.next_due();
  for (const auto& [key, entry] : calls_) {
    if (!entry.code_runs) continue;
    if (!entry.gone && !entry.call->answered()) {
      due = std::min({due, entry.call->deadline(), entry.lapsed ? BootTime::max() : entry.lease_until});
    }
    due = std::min(due, entry.grace_until);
  }
  return due;
}

void ActivityDesk::stop_all(CancelReason reason, CancelReason in_fail_session) {
  Stops stops;
  {
    const MutexLock lock(mutex_);
    for (auto& [key, entry] : calls_) {
      if (!entry.code_runs || entry.call->answered()) continue;
      const auto& session = entry.call->locked().session;
      const bool fails = session && session->when_lost == store::SessionPolicy::WhenLost::fail;
      note_stop(entry, fails ? in_fail_session : reason, stops);
    }
  }
  stop(std::move(stops));
  waker_.poke(Step::keep);
}

std::optional<store::SessionGrant> ActivityDesk::session_of(const store::ActivityId& id,
                                                            LockToken token) const {
  const MutexLock lock(mutex_);
  const auto found = calls_.find({id, token});
  return found == calls_.end() ? std::nullopt : found->second.call->locked().session;
}

std::vector<store::CancelAcknowledgement> ActivityDesk::take_acknowledgements() {
  const MutexLock lock(mutex_);
  return std::exchange(acknowledgements_, {});
}

std::size_t ActivityDesk::slots_in_use() const {
  const MutexLock lock(mutex_);
  return taken_ - ahead_.size();
}

std::optional<BootTime> ActivityDesk::suspect_since() const {
  const MutexLock lock(mutex_);
  std::optional<BootTime> since;
  for (const auto& [key, entry] : calls_) {
    if (!entry.gone && settings_.is_suspect(entry.call->locked().delivery))
      since = std::max(since.value_or(kLongAgo), entry.call->started());
  }
  return since;
}

std::vector<std::string> ActivityDesk::running() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  const auto add = [&](const detail::ActivityCall& call) {
    names.push_back(call.locked().name + " of " + call.locked().instance);
  };
  for (const auto& [key, entry] : calls_) {
    if (entry.code_runs) add(*entry.call);
  }
  for (const detail::ActivityCall* call : abandoned_.calls()) add(*call);
  return names;
}

bool ActivityDesk::settling(bool store_answers) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(calls_, [&](const auto& item) {
    const auto& [key, entry] = item;
    return entry.code_runs ? entry.call->can_be_ended() : store_answers && entry.call->answered();
  });
}

std::size_t ActivityDesk::in_hand() const {
  const MutexLock lock(mutex_);
  return calls_.size() + ahead_.size();
}

}  // namespace holdfast::runtime
