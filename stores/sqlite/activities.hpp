// Activities: their rows, and the calls about them, inside a transaction.
#pragma once

#include "messages.hpp"
#include "transaction.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/store/activities.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sqlite_store {

enum class ActivityTable : std::uint8_t { running, packs, queued };

/// A row of `running` or of `queued`, or an item of a pack.
struct Activity {
  store::ActivityId id{};
  std::int64_t kind = 0;
  WorkerKey worker{};   ///< 0 when it has no lock
  LockToken token{};    ///< empty when it has no lock
  LeaseTime until = 0;  ///< of the lock
  std::string body{};
  int priority = 0;
  std::uint32_t attempt = 1;
  std::uint32_t delivery = 0;
  std::int64_t session = 0;  ///< its number; 0 = none
  Generation generation{};   ///< of the session, at its last lock
  Duration start_within = never;
  LeaseTime total_until = kNoTime;
  /// Its session has ended while it ran: this attempt may finish, and no other begins.
  std::optional<CancelReason> session_over{};
  bool adopts = false;  ///< it waits for a session, whose queue it takes
  std::string last_failure{};
  std::string progress{};
  std::int64_t lane = 0;  ///< of a queued one
  LeaseTime at = 0;       ///< of a queued one
  ActivityTable table = ActivityTable::running;

  [[nodiscard]] bool is_queued() const noexcept { return table == ActivityTable::queued; }

  /// When somebody must have taken it. Of no meaning while its lock is live.
  [[nodiscard]] LeaseTime deadline() const noexcept {
    return session_over ? at : std::min(later(at, start_within), total_until);
  }
};

/// What most activities are: without deadlines and priority, in their first attempt and delivery.
bool is_plain(const Activity& activity) noexcept;
/// Reads a row of one of the queries that give whole rows.
Activity read_activity(const Cursor& row, ActivityTable table);
/// Of this namespace, in any table.
std::optional<Activity> find_activity(Transaction& tx, const store::ActivityId& id);
void insert_running(Transaction& tx, const Activity& activity);
/// In its lane, ready at `at`.
void insert_queued(Transaction& tx, const Activity& activity);
/// All that the instance has in `running` and in its pack, by event.
std::vector<RunningActivity> read_running(Transaction& tx, const Instance& instance);
/// A row of `running` goes without erase_activity().
void note_not_running(Transaction& tx, const store::ActivityId& id);
/// From whichever table it is in.
void erase_activity(Transaction& tx, const Activity& activity);

/// Where it waits once it is queued.
std::int64_t lane_of(Transaction& tx, const Activity& activity);

/// The row of what a turn has scheduled, in no table yet. Nothing when its session has ended: its
/// instance was told.
std::optional<Activity> new_activity(Transaction& tx, const Instance& instance,
                                     const store::NewActivity& wanted);
/// Locks it, with one more delivery: it leaves the queue, if it was there. Its session, if it has one, is the
/// worker's.
store::LockedActivity lock_activity(Transaction& tx, Activity activity, WorkerKey worker, LockToken token,
                                    Duration lease, std::string instance);
/// It is handed out in the current generation of its session.
void enter_session(Transaction& tx, Activity& activity);
/// What its worker is told about an activity that is locked.
store::LockedActivity tell_locked(Transaction& tx, Activity activity, std::string instance);

/// It is about to be answered, but its code goes on.
void note_still_running(Transaction& tx, const Activity& activity);
/// Takes a row away that its own turn or the deletion of its instance has no more use for. One that has an
/// owner leaves a cancel record, and its worker is woken.
void cancel_activity(Transaction& tx, const Activity& activity, CancelReason reason);
/// All of an instance.
void cancel_all_activities(Transaction& tx, InstanceKey key, CancelReason reason);
/// Takes a row away for another reason: its instance is told. `session`: the one that is to blame, if any.
void take_away(Transaction& tx, const Activity& activity, CancelReason reason, std::string_view session);
/// It is to be tried again; or not, if its session has ended in the meantime.
void queue_again(Transaction& tx, Activity activity, Duration delay);

/// What the answer of an activity does to its session, while the generation that it ran in is the current
/// one. To be made of the row before it changes, and applied afterwards.
struct SessionResults {
  std::int64_t session = 0;
  WorkerKey worker{};
  Generation generation{};
  bool session_over = false;
  const std::optional<store::SessionSave>* save = nullptr;
  const std::optional<std::string>* abort = nullptr;
  /// Whether the answer counts: not without a save that it requires, unless its session has ended under it.
  [[nodiscard]] bool counts(Transaction& tx) const;
  void apply(Transaction& tx) const;
};

/// Locked rows whose leases are over go to the queue. How long until the next lock may end.
Duration let_activities_lapse(Transaction& tx);

/// Whether a worker with those abilities has handler and queue for it.
bool serves(const store::Abilities& abilities, const Kind& kind);
/// Whether a new activity that is not queued yet may be locked in the commit that schedules it.
bool may_hand_off(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                  const Activity& activity);

StoreResult<store::FetchedActivities> fetch_activities(Transaction& tx,
                                                       const store::ActivityRequest& request);
StoreResult<void> finish_activity(Transaction& tx, const store::ActivityResult& result);
StoreResult<void> renew_activity(Transaction& tx, WorkerKey worker, Duration lease,
                                 const store::ActivityRenewal& renewal);

/// From seven columns: id, token, name, reason, state.
store::CancelRecord read_cancel(Transaction& tx, const Cursor& row);

/// Why there is no such lock: `gone` or `lost`.
StoreError why_not_locked(Transaction& tx, const store::ActivityId& id, LockToken token, bool row_is_there);

}  // namespace holdfast::sqlite_store
