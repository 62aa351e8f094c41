// ActivityDesk: runs activities that are locked for this worker, from the lock to the answer.
#pragma once

#include "base/mutex.hpp"
#include "runtime/abandoned.hpp"
#include "runtime/attempt_ends.hpp"
#include "runtime/cache.hpp"
#include "runtime/calls.hpp"
#include "runtime/calls_in_hand.hpp"
#include "runtime/chance.hpp"
#include "runtime/executor.hpp"
#include "runtime/outbox.hpp"
#include "runtime/session_desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/slots.hpp"
#include "runtime/standing.hpp"
#include "runtime/waker.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store/activities.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::runtime {

/// Thread-safe. It asks the store nothing itself: what the store has to hear goes to the outbox. In the
/// thread of an activity two things may wait for the store: the state of a session may have to be read there,
/// see SessionDesk; and when the activity has ended, that thread may fetch the next one, see Poke. The mutex
/// is for the books (slots, calls in hand, abandoned ones); what follows from them is done without it, since
/// it calls code of the user: stop tokens, coroutines, loggers, and states of sessions, which the last call
/// in a session destroys.
///
/// Requests to stop are told by threads of the executor, one for each: whoever decides that something has to
/// stop does not wait for what the user's code makes of it.
class ActivityDesk final : private detail::ActivityHost {
 public:
  ActivityDesk(const Settings& settings, const Standing& standing, Waker& waker, Chance& chance,
               InstanceCache& cache, SessionDesk& sessions, Outbox& outbox, Executor& executor);

  /// What must live as long as code of activities runs, also after this worker has stopped waiting for it.
  void keep_alive(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  // ---- slots ------------------------------------------------------------------------------------

  /// Slots for activities that a turn would like to run here, at most so many. See Slots.
  std::size_t reserve_for_hand_off(std::size_t wanted);
  /// All slots that are free, for a fetch, and what may be locked ahead.
  std::size_t reserve_for_fetch();
  void unreserve(std::size_t slots);
  /// Whether the last fetch left work behind that this worker could take.
  void set_left_behind(bool left_behind);

  // ---- the life of a call -----------------------------------------------------------------------

  /// See CallsInHand.
  void expect(LockToken token);
  void stop_expecting(LockToken token);
  /// Runs a locked activity, now or as soon as a slot is free; room for it was reserved. `asked` is the time
  /// before the lock was asked for; `body` is what stands in its row, if somebody knows it.
  void begin(store::LockedActivity&& locked, LockToken token, BootTime asked,
             std::optional<bodies::Activity> body = std::nullopt);
  /// Gives back what was locked ahead.
  void give_back_ahead();
  /// These may have been locked by a commit that nobody knows the outcome of: if so, they are given back.
  void give_back_doubtful(const store::TurnCommit& commit);
  /// These ended, and a commit has recorded it.
  void recorded(std::span<const LocalDone> done);
  /// These ended after their instance had dropped them: the store knows them no more.
  void drop(std::span<const LocalDone> done);
  /// The store has this answer, or doesn't want it.
  void answered(const store::ActivityResult& answer, bool wanted);
  /// The attempt that this answers; null when it was answered without being run.
  [[nodiscard]] std::shared_ptr<const detail::ActivityCall> call_of(
      const store::ActivityResult& answer) const;
  /// See CallsInHand.
  [[nodiscard]] std::optional<LockToken> newer_lock(const store::ActivityResult& answer) const;
  [[nodiscard]] bool may_be_locked_again(const store::ActivityId& id, LockToken token);

  // ---- keeping ----------------------------------------------------------------------------------

  /// Locks to renew, with what heartbeats said.
  std::vector<store::ActivityRenewal> renewals();
  void renewed(std::span<const store::ActivityRenewal> renewals, BootTime asked);
  /// What a heartbeat said, and could not be sent.
  void give_back_progress(const store::ActivityRenewal& renewal);
  /// The lock is gone for this reason, since `taken_at` if that is known: its code is asked to stop, and
  /// nothing is answered.
  void cancel(const store::ActivityId& id, LockToken token, CancelReason reason,
              std::optional<BootTime> taken_at);
  /// Ends attempts that took too long, locks that could not be kept, and slots of those that don't stop.
  void enforce_limits();
  [[nodiscard]] BootTime next_limit() const;
  /// Asks everything to stop, because this worker goes; what runs in a session that nobody else may claim for
  /// a reason of its own.
  void stop_all(CancelReason reason, CancelReason in_fail_session);
  void stop_all(CancelReason reason) { stop_all(reason, reason); }
  /// The session of a call that is here, if it has one.
  [[nodiscard]] std::optional<store::SessionGrant> session_of(const store::ActivityId& id,
                                                              LockToken token) const;

  /// Activities whose code runs, or whose answer is not with the store.
  [[nodiscard]] std::size_t in_hand() const;
  /// Slots in which code runs, or that are reserved.
  [[nodiscard]] std::size_t slots_in_use() const;
  /// Activities whose code runs, given up or not: "render of video-7".
  [[nodiscard]] std::vector<std::string> running() const;
  /// See CallsInHand.
  [[nodiscard]] bool ends_soon(bool store_answers) const;
  [[nodiscard]] std::optional<BootTime> suspect_since() const;

 private:
  using Key = CallsInHand::Key;

  void ended(const CallPointer& call, Result<Payload> result) override;
  std::optional<store::SessionSave> end_in_session(detail::ActivityCall& call, Result<Payload>& result,
                                                   bool counts);
  void run(AheadList::Item&& item);
  std::optional<bodies::Activity> readable(const store::LockedActivity& locked, LockToken token);
  bool may_run(const store::LockedActivity& locked, LockToken token, BootTime asked);
  void put_back(const store::LockedActivity& locked, LockToken token, Duration pause);
  void leave_slot();
  void begin_next(std::optional<AheadList::Item> next);
  void give_back(std::vector<AheadList::Item>&& ahead);
  void carry_out(CallOrders&& orders);
  void stop(CallOrders::Stop stop);

  const Settings& settings_;
  const Standing& standing_;
  Waker& waker_;
  InstanceCache& cache_;
  SessionDesk& sessions_;
  Outbox& outbox_;
  Executor& executor_;
  AttemptEnds ends_;
  std::weak_ptr<const void> owner_;
  mutable Mutex mutex_;
  Slots slots_ HOLDFAST_GUARDED_BY(mutex_);
  CallsInHand calls_ HOLDFAST_GUARDED_BY(mutex_);
  AbandonedCalls abandoned_ HOLDFAST_GUARDED_BY(mutex_);
  /// Sessions that were claimed with activities which are on their way back.
  std::map<Key, store::SessionHold> claimed_ahead_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
