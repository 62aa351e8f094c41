// ActivityDesk: the activities that this worker has in its hands, from the moment of their lock to that of
// their answer.
#pragma once

#include "base/mutex.hpp"
#include "runtime/abandoned.hpp"
#include "runtime/ahead.hpp"
#include "runtime/cache.hpp"
#include "runtime/calls.hpp"
#include "runtime/chance.hpp"
#include "runtime/executor.hpp"
#include "runtime/session_desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/waker.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store/activities.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace holdfast::runtime {

/// Thread-safe, and never asks the store. An activity runs in a slot; its lock is kept until the store knows
/// how it ended. Requests to stop are told by threads of the executor, one for each: whoever decides that
/// something has to stop does not wait for what the user's code makes of it.
///
/// When the lease of a lock is over, the code is asked to stop, but what it returns counts for as long as
/// nobody else has taken the activity. When it is this worker that takes it again, it is not run twice: what
/// is in hand goes on under the new lock.
class ActivityDesk final : private detail::ActivityHost {
 public:
  ActivityDesk(const Settings& settings, const Standing& standing, Waker& waker, Chance& chance,
               InstanceCache& cache, SessionDesk& sessions, Executor& executor)
      : settings_(settings),
        standing_(standing),
        waker_(waker),
        chance_(chance),
        cache_(cache),
        sessions_(sessions),
        executor_(executor) {}

  /// What must live as long as code of activities runs, also after this worker has stopped waiting for it.
  void keep_alive(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  // ---- slots ----------------------------------------------------------------------------------

  /// A slot for an activity that a turn would like to run here. False when none is free, or when it is
  /// fetch's turn: while ready work was left behind, every second slot that becomes free is for what waits in
  /// the store.
  bool reserve_for_hand_off();
  /// All slots that are free, for a fetch, and what may be locked ahead.
  std::size_t reserve_for_fetch();
  void unreserve(std::size_t slots);
  /// Whether the last fetch left work behind that this worker could take.
  void set_left_behind(bool left_behind);

  // ---- the life of a call -----------------------------------------------------------------------

  /// The store is about to be asked to lock activities by this token. What it says about them before they
  /// begin here counts.
  void expect(LockToken token);
  /// Runs a locked activity, now or as soon as a slot is free; room for it was reserved. `asked` is the time
  /// before the lock was asked for.
  void begin(store::LockedActivity&& locked, LockToken token, BootTime asked);
  /// All that was locked by this token has begun.
  void stop_expecting(LockToken token);
  /// Gives back what was locked ahead.
  void give_back_ahead();
  /// These may have been locked by a commit that nobody knows the outcome of: if so, they are given back.
  void give_back_doubtful(const store::TurnCommit& commit);
  /// These ended, and a commit has recorded it.
  void settle(std::span<const LocalDone> done);
  /// These ended after their instance had dropped them: the store knows them no more.
  void drop(std::span<const LocalDone> done);
  /// These ended, and the store has to be told, since no turn of this process can.
  void tell_store(std::vector<LocalDone>&& done);

  /// Answers for the store. What could not be delivered is given back.
  std::vector<store::ActivityResult> take_answers();
  void give_back(std::vector<store::ActivityResult>&& answers);
  /// What heartbeats said, and could not be sent.
  void give_back_progress(std::span<const store::ActivityRenewal> progress);
  /// The store has this answer, or doesn't want it.
  void answered(const store::ActivityResult& answer, bool wanted);
  /// The attempt that this answers; null when it was answered without being run.
  [[nodiscard]] std::shared_ptr<const detail::ActivityCall> call_of(
      const store::ActivityResult& answer) const;
  /// What the activity of an answer that was refused is locked by now, if this worker has taken it again.
  [[nodiscard]] std::optional<LockToken> newer_lock(const store::ActivityResult& answer) const;
  /// The store says that this lock is another's. True while that may be a fetch of this worker which is under
  /// way: the code and its result are of use then, see begin().
  [[nodiscard]] bool may_be_locked_again(const store::ActivityId& id, LockToken token);

  // ---- keeping ----------------------------------------------------------------------------------

  /// Locks to renew, with what heartbeats said.
  std::vector<store::ActivityRenewal> renewals();
  void renewed(std::span<const store::ActivityRenewal> renewals, BootTime asked);
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
  std::vector<store::CancelAcknowledgement> take_acknowledgements();

  /// Activities whose code runs, or whose answer is not with the store.
  [[nodiscard]] std::size_t in_hand() const;
  /// Slots in which code runs, or that are reserved.
  [[nodiscard]] std::size_t slots_in_use() const;
  /// Activities whose code runs, given up or not: "render of video-7".
  [[nodiscard]] std::vector<std::string> running() const;
  /// Whether something here comes to its end soon: code that can be ended, or, if the store takes it, an
  /// answer that is on its way.
  [[nodiscard]] bool settling(bool store_answers) const;
  [[nodiscard]] bool any_locks() const { return in_hand() > 0; }

  /// When the last activity began that may be what kills its workers, if one is here.
  [[nodiscard]] std::optional<BootTime> suspect_since() const;

 private:
  using CallPointer = std::shared_ptr<detail::ActivityCall>;
  struct Entry {
    CallPointer call{};
    BootTime lease_until{};
    BootTime grace_until = BootTime::max();  ///< after a request to stop
    std::optional<CancelReason> asked{};     ///< to stop, and why
    bool code_runs = true;                   ///< occupies a slot
    bool told_to_end = false;                ///< grace_until is when it is given up
    bool lapsed = false;                     ///< its lease is over, as far as this process knows
    bool gone = false;                       ///< nothing to answer
    bool on_record = false;           ///< taken away or timed out: the store wants to know how its code ends
    std::vector<LockToken> former{};  ///< locks that were over, before this worker took it again
    /// The fetches that were under way when the store said that it is another's.
    std::optional<std::set<LockToken>> overtaken_by{};
  };
  using Key = std::pair<store::ActivityId, LockToken>;
  using Calls = std::map<Key, Entry>;
  struct Stop {
    CallPointer call{};
    CancelReason reason{};
    std::optional<BootTime> taken_at{};
  };
  using Stops = std::vector<Stop>;
  /// What is to be done, without the mutex, about limits that were passed.
  struct Overdue {
    std::vector<CallPointer> timed_out{};
    std::vector<CallPointer> to_end{};
    std::vector<AheadList::Item> late{};
    std::vector<std::optional<AheadList::Item>> next{};
    Stops stops{};
    bool slots_free = false;
  };

  void run(store::LockedActivity&& locked, LockToken token, BootTime asked);
  void ended(const CallPointer& call, Result<Payload> result) override;
  void leave_slot();
  void begin_next(std::optional<AheadList::Item> next);
  void give_back(std::vector<AheadList::Item>&& ahead);
  void conclude(const detail::ActivityCall& call, Result<Payload> result,
                std::optional<store::SessionSave> save = std::nullopt, bool still_runs = false);
  void fail_at_once(store::LockedActivity&& locked, LockToken token, Failure failure);
  void queue(store::ActivityResult answer);
  [[nodiscard]] CallPointer close(const Key& key) HOLDFAST_REQUIRES(mutex_);
  std::optional<AheadList::Item> free_slot() HOLDFAST_REQUIRES(mutex_);
  bool was_cancelled_early(const Key& key) HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] bool may_be_locked_again(Entry& entry) const HOLDFAST_REQUIRES(mutex_);
  bool take_again(const store::LockedActivity& locked, LockToken token, BootTime asked,
                  const SessionMemory* memory) HOLDFAST_REQUIRES(mutex_);
  void check_attempt(Entry& entry, BootTime now, Overdue& overdue) HOLDFAST_REQUIRES(mutex_);
  Calls::iterator check_grace(Calls::iterator it, BootTime now, Overdue& overdue) HOLDFAST_REQUIRES(mutex_);
  Calls::iterator abandon(Calls::iterator it, Overdue& overdue) HOLDFAST_REQUIRES(mutex_);
  void note_stop(Entry& entry, CancelReason reason, Stops& stops,
                 std::optional<BootTime> taken_at = std::nullopt) HOLDFAST_REQUIRES(mutex_);
  void stop(Stops&& stops);
  void tell(const Stop& stop);
  void acknowledge(const Key& key, const Entry& entry, store::CancelRecord::State state)
      HOLDFAST_REQUIRES(mutex_);
  bool tell_to_end(Entry& entry) HOLDFAST_REQUIRES(mutex_);

  const Settings& settings_;
  const Standing& standing_;
  Waker& waker_;
  Chance& chance_;
  InstanceCache& cache_;
  SessionDesk& sessions_;
  Executor& executor_;
  std::weak_ptr<const void> owner_;
  mutable Mutex mutex_;
  Calls calls_ HOLDFAST_GUARDED_BY(mutex_);
  std::set<LockToken> expected_ HOLDFAST_GUARDED_BY(mutex_);
  std::set<Key> cancelled_early_ HOLDFAST_GUARDED_BY(mutex_);  // of those that are expected
  std::vector<store::ActivityResult> answers_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<store::CancelAcknowledgement> acknowledgements_ HOLDFAST_GUARDED_BY(mutex_);
  AbandonedCalls abandoned_ HOLDFAST_GUARDED_BY(mutex_){settings_};
  AheadList ahead_ HOLDFAST_GUARDED_BY(mutex_);
  std::map<Key, store::SessionHold> claimed_ahead_
      HOLDFAST_GUARDED_BY(mutex_);                       // with items that are on their way back
  std::size_t taken_ HOLDFAST_GUARDED_BY(mutex_) = 0;    // slots in use or reserved, and what is locked ahead
  std::size_t running_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // slots in use
  std::size_t for_fetch_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // free slots that hand-off must leave
  bool left_behind_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool next_for_fetch_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::runtime
