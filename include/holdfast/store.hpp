// Store: keeps instances, messages, activities, sessions and their locks. This is the contract of all stores;
// docs/writing-a-store.md introduces it, and the conformance suite of the test kit checks it.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/asks.hpp>
#include <holdfast/store/error.hpp>
#include <holdfast/store/instances.hpp>
#include <holdfast/store/messages.hpp>
#include <holdfast/store/sessions.hpp>
#include <holdfast/store/state.hpp>
#include <holdfast/store/turns.hpp>
#include <holdfast/store/waiting.hpp>
#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// A store keeps rows, locks and time, and knows nothing of orchestrations. Ids, tokens, stamps, event
/// numbers and routing fields are passed in; bodies are bytes that it never looks into. An *item* is one
/// element of a batch.
///
/// *Threads.* Any thread may call at any time. A call may block for a commit; none waits for work. Concurrent
/// calls share transactions. Nothing is answered before it is durable.
///
/// *Batches.* Each item of a span succeeds or fails alone; the answers are in the order of the items. An item
/// whose answer is an error has changed nothing, except after `unavailable`: then it may or may not have
/// happened.
///
/// *Time.* Two clocks, both the store's. Lease time never steps: it is for locks, leases, delays and
/// deadlines. Calendar time is wall-clock time: for timers, and for what is shown to people. Only durations
/// of lease time cross this interface. A caller counts a lease from before its request was sent, so it can
/// only end early for the caller.
///
/// *Locks.* Rows stay until they are answered. A lock is a token made by the caller, and a lease. Once the
/// lease is over, any worker may take the row, with the delivery one higher; until one does, the token still
/// counts, and renewing it begins the lease again.
///
/// *Names* are checked by the caller (detail/names.hpp). A store is opened for one namespace and sees nothing
/// of the others.
///
/// *Ready.* A running instance is ready while it has a message other than a delivery or news, or one of these
/// for an address that it waits for. A suspended one becomes ready by control messages only, a parked one by
/// these and requests to cancel, and one that has ended by start messages only; all others are dropped when
/// they arrive. An instance is locked by one worker at a time.
///
/// *Termination.* An instance with an unread control message may be taken by any worker: none of its code is
/// needed to end it.
///
/// *Versions.* A worker may take an instance whose version it has; one of no version, if it has that of its
/// name; and one whose version is a range ("^2.1", see newest_version), if it has a version in that.
///
/// *Order.* Ready instances and activities are handed out in the order in which they became ready, activities
/// of higher priority first.
class Store {
 public:
  virtual ~Store() = default;

  /// The namespace that it was opened for.
  [[nodiscard]] virtual const std::string& ns() const noexcept = 0;
  /// The clock that deadlines of Listener::wait() belong to.
  [[nodiscard]] virtual const Clock& clock() const noexcept = 0;
  /// For logs: "sqlite app.db (synchronous=FULL)".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Where clients and workers that have this very object meet: their questions and answers don't pass
  /// through the store. A store in front of another one gives that one's.
  [[nodiscard]] virtual store::LocalAsks& local_asks() noexcept { return local_asks_; }

  // ---- workers --------------------------------------------------------------------------------

  /// Registers a process, as a new incarnation of its node. Calls of older incarnations of the node are
  /// answered `superseded` from now on: fetches, renewals, claims, saves and releases of sessions; their
  /// hand-off wishes are queued. Their locks stay as they are, and answers with a valid token still count.
  /// Sessions of older incarnations that are not draining: those that may be re-claimed become unclaimed at
  /// once, and only this node may claim them for NewWorker::take_back_within, but no longer than their lease
  /// would have lasted (its claim is `taken_back`); `fail` ones are lost (`owner_restarted`).
  /// An older incarnation that drains may renew and release what it has until it is done. Other workers are
  /// woken by kActivities: one may own a session whose work it has no handler for, and the new one has.
  virtual StoreResult<WorkerKey> join(const store::NewWorker& info) = 0;
  /// A sign of life. `not_found` when its registration was removed as stale: join again.
  virtual StoreResult<void> refresh(WorkerKey worker, bool draining) = 0;
  /// Removes the registration. What it has locked stays locked until its leases end; sessions that may be
  /// re-claimed until the next sweep.
  virtual StoreResult<void> leave(WorkerKey worker) = 0;
  virtual StoreResult<std::vector<store::WorkerView>> workers() = 0;

  // ---- turns ----------------------------------------------------------------------------------

  /// Locks up to `max` ready instances whose code the worker has, and returns them with their messages: for
  /// an instance that is fetched anew all of them, in the order of their ids; for one in `held` that got
  /// more, those after `seen`. Held instances don't count towards `max`, and are returned only if their token
  /// is still the lock; they are locked for `lease` from now on, too. Timers that are due become messages
  /// first, then delayed messages, each earliest first.
  ///
  /// A caller that got no answer does not know what is locked for it. It repeats the call with the same token
  /// and `repeated`: what is locked by this token is released, as if by release_turns, before anything is
  /// handed out, which may be the same again.
  virtual StoreResult<store::FetchedTurns> fetch_turns(const store::TurnRequest& request) = 0;

  /// Commits turns. `lost` when the lock or the stamp is not the one given, or a row of `completed` is not
  /// locked by the token given or requires a save that is refused; `invalid` for new activities or timers of
  /// an instance that has ended. Then nothing of this turn has happened. Otherwise all of it has, in this
  /// order: the segment; messages consumed and set aside; local completions (rows deleted, sessions saved or
  /// aborted); cancelled activities (rows deleted; for those that run a cancel record, and their worker is
  /// woken), timers and end requests; sessions opened; new activities; new timers; values and attributes;
  /// sessions closed and watched; starts, messages (which may be for what was just started, or kept for an id
  /// that doesn't exist yet) and answers; custom status; waits; the end.
  ///
  /// *Hand-off.* A new activity with `hand_off` is locked at once if a fetch by this worker could take it
  /// now: the worker has the handler, serves the queue, and, if there is a session, owns it with an unexpired
  /// lease and room under its concurrency limit. A hand-off never passes a ready activity of the same
  /// session, nor one of higher priority that this worker could take, and never claims a session. A turn that
  /// ends its execution hands nothing off.
  ///
  /// *Sessions.* An activity whose session is closed, expired or failed is not queued: the instance gets
  /// `taken` in this commit. An activity whose session is missing creates it, unless its policy forbids that
  /// (`create_if_missing`): then it waits for the session. A session that was closed and is not `on_record`
  /// counts as missing, unless the activity's policy forbids to create it: then it counts as closed.
  ///
  /// *The end.* With InstanceEnd or NextExecution, all remaining activities and timers of the execution are
  /// cancelled by this commit, with the reason that fits. InstanceEnd drops all unread messages
  /// except starts, closes the sessions that the instance opened (unless they outlive it), answers those who
  /// asked how it ends, and releases the lock. NextExecution drops outcomes, timers and answers of the old
  /// execution; deliveries and controls stay.
  ///
  /// *End requests* are for the life that has the id after the starts of the commit. One is answered at once
  /// when there is none, when that has ended or is the asker itself, and when too many wait for its end
  /// already; the others when it ends or is deleted. What an execution has asked is forgotten when a later
  /// one of the same instance asks for the same end. A turn that ends its execution asks nothing.
  virtual std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) = 0;

  /// Releases locks without a commit. `lost` when the token is not the lock.
  virtual std::vector<StoreResult<void>> release_turns(std::span<const store::TurnRelease> releases) = 0;

  /// History of one execution after `after`, in order, up to about `max_bytes` and at least one segment;
  /// empty when there is no more. `not_found` when there is no such instance.
  virtual StoreResult<std::vector<store::Segment>> read_history(InstanceKey key, ExecutionNumber execution,
                                                                EventId after, std::size_t max_bytes) = 0;

  /// Parked instances of these versions become running and ready: their code may have changed.
  virtual StoreResult<std::uint64_t> wake_parked(const store::Code& code) = 0;

  // ---- activities -----------------------------------------------------------------------------

  /// Locks up to `max` activities that this worker may take: those without a session, of its handlers and
  /// queues; those of sessions that it owns; and those of sessions that it claims here. It claims sessions
  /// that are unclaimed, or lapsed under `reclaim`, whose requirements it covers, while it is below its
  /// session limit (sessions owned with an unexpired lease), and at most its share of the claimable sessions
  /// among the live workers (rounded up; those that drain don't count). `next_due` is 0 when only that share
  /// was in the way. A claim happens only together with the lock of an activity. An activity is admitted by
  /// queue, then requirements, then session, then the session's concurrency limit (unexpired locks of all
  /// generations).
  ///
  /// A call that got no answer is repeated as with turns: what is locked by this token is put back, as if by
  /// PutBack, before anything is handed out. Sessions that the lost call claimed stay claimed.
  virtual StoreResult<store::FetchedActivities> fetch_activities(const store::ActivityRequest& request) = 0;

  /// Records the outcomes of attempts. `gone` when the row was deleted (the reason is known for as long as
  /// the cancel record is), `lost` when it is locked by another token, or when a save that it requires is
  /// refused.
  virtual std::vector<StoreResult<void>> finish_activities(
      std::span<const store::ActivityResult> results) = 0;

  /// Renews locks for `lease` from now on. An activity of a session's current generation also extends the
  /// lease of the session. The caller has lost a lock only if the answer is `lost`, or `gone` (activities). A
  /// lease that was over begins again if no other worker has taken the row since; an activity whose session
  /// has reached its concurrency limit with others meanwhile is `lost`.
  virtual std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                                     std::span<const store::TurnRenewal> turns) = 0;
  virtual std::vector<StoreResult<void>> renew_activities(
      WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) = 0;

  /// Activities of this worker that were cancelled while they ran, and that it has not acknowledged.
  virtual StoreResult<std::vector<store::CancelRecord>> cancel_records(WorkerKey worker) = 0;
  /// `acknowledged` and `abandoned` are shown until the lease that the activity had is over. One that is
  /// acknowledged stays so.
  virtual StoreResult<void> acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) = 0;

  virtual StoreResult<std::vector<store::QueueDepth>> queue_depths() = 0;

  // ---- sessions -------------------------------------------------------------------------------

  /// Claims a session before there is any work for it.
  virtual StoreResult<store::Acquired> acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                                       std::string_view id,
                                                       const store::SessionPolicy& policy) = 0;
  /// `lost` when the hold is not current or its lease is over (under `fail`, the same worker may renew it
  /// until the session is declared lost), `gone` when the session ended.
  virtual std::vector<StoreResult<void>> renew_sessions(WorkerKey worker,
                                                        std::span<const store::SessionRenewal> holds) = 0;
  /// `lost` and `gone` as above. `conflict` when an activity of the session runs on this worker; when it is
  /// idle or displaced and something of it is queued; or when a `fail` session that has run an activity in
  /// this generation is released without a save. Activities that former owners still run don't matter. Queued
  /// work makes the session claimable at once.
  /// A session is displaced for one that waits: the first, in the order of a fetch, that has waited for
  /// kWaitsForRoom and that this worker may claim. From now on that one is kept for the worker's node, for
  /// kWaitsForRoom; if its lease was over, nobody owns it any more. `conflict` when there is none, and when
  /// the worker is below its limit of sessions.
  virtual std::vector<StoreResult<void>> release_sessions(
      WorkerKey worker, std::span<const store::SessionRelease> releases) = 0;
  /// Ends a session: queued activities fail with session_closed, running ones may finish. False when it had
  /// ended already; `not_found` when there is none.
  virtual StoreResult<bool> close_session(std::string_view id, store::SessionReason reason) = 0;
  /// An operator asks for a session to leave its owner. The owner is woken by kCancels, finds the session in
  /// wanted_sessions(), and releases it as soon as it can; that release is `operated`, whatever reason it
  /// gives. With `force`, or when its lease is over, the session is released by this call, without a save. A
  /// wish that names a node reserves the session for that node for `keep_for` from its release on; it is not
  /// swept in that time. A later wish replaces the one before; a claim fulfils it, the end of the session
  /// removes it. `conflict` when the session has ended; when it is a `fail` session whose lease is over, or,
  /// with `force`, that has run an activity in this generation; and when no worker of the node is at work
  /// that could claim it: with a limit of sessions above 0, the capabilities, and, where its queue or
  /// activities that wait in it say which, the queue and the code.
  virtual StoreResult<store::WishAnswer> ask_for_session(std::string_view id,
                                                         const store::SessionWish& wish) = 0;
  /// Sessions of this worker that an operator has asked for; and those that have ended while it owned them,
  /// which it hears of by kCancels, until it acknowledges that. By id.
  virtual StoreResult<std::vector<store::WantedSession>> wanted_sessions(WorkerKey worker) = 0;
  /// The worker knows that these have ended.
  virtual StoreResult<void> acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) = 0;
  /// Deletes the saved state of a session; its owner's memory stays as it is. False when there was none;
  /// `not_found` when there is no such session.
  virtual StoreResult<bool> discard_session_state(std::string_view id) = 0;
  /// A `fail` session of this worker that can't be handed over is lost now, with this reason.
  virtual StoreResult<void> fail_session(WorkerKey worker, const store::SessionHold& hold,
                                         store::SessionReason reason) = 0;
  virtual StoreResult<store::SessionView> session(std::string_view id,
                                                  store::Saved saved = store::Saved::size) = 0;
  /// By id; without the bytes that were saved.
  virtual StoreResult<std::vector<store::SessionView>> sessions(const store::SessionFilter& filter) = 0;
  /// As of one moment.
  virtual StoreResult<store::SessionCounts> count_sessions() = 0;
  /// Oldest first, after entry number `after`; of one session, or of all when `id` is empty.
  virtual StoreResult<std::vector<store::SessionLogEntry>> session_log(std::string_view id,
                                                                       std::uint64_t after,
                                                                       std::size_t limit) = 0;

  // ---- clients --------------------------------------------------------------------------------

  /// Starts instances. A request that took effect is answered with the key that it made, also when that life
  /// has ended or was deleted (then for `request_retention`, see sweep()). For an id that exists, a new life
  /// begins if `reuse` allows it; else the same fingerprint gives the existing key, another is a `conflict`.
  /// Early deliveries for the id become its messages.
  virtual std::vector<StoreResult<store::StartAnswer>> start(
      std::span<const store::StartRequest> requests) = 0;
  /// Sends control messages and deliveries. Key 0: kept for an instance that doesn't exist yet. `not_found`
  /// when there is none and it isn't kept; `conflict` when the instance has ended.
  virtual std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) = 0;
  /// Suspends and resumes instances. One that is suspended takes no more turns: its lock is released, as if
  /// by release_turns, so that a turn under way is `lost`. Everything else goes on: its activities run and
  /// are retried, deadlines pass, timers come due, and what comes waits. One that was parked is running when
  /// it is resumed. `not_found`, and `gone` for another life, as with send(); `conflict` when the instance
  /// has ended, is suspended already, or is to be resumed and is not suspended.
  virtual std::vector<StoreResult<InstanceKey>> set_suspended(std::span<const store::Suspension> wishes) = 0;
  virtual StoreResult<store::InstanceView> find(std::string_view instance) = 0;
  /// One answer per key, in order; none for those that don't exist.
  virtual StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) = 0;
  virtual StoreResult<store::InstanceDetail> describe(std::string_view instance) = 0;
  /// Conditions on attributes are of a kind that their type has: `has` of a text, for keywords; `starts_with`
  /// of a text; comparisons, which go by bytes for texts, of all types but keywords.
  virtual StoreResult<store::InstancePage> list(const store::InstanceFilter& filter) = 0;
  /// How many of all instances match; the order, `after` and `limit` say nothing. Exact when no more than
  /// kMost do, and always when the filter is of statuses alone.
  virtual StoreResult<store::InstanceCount> count(const store::InstanceFilter& filter) = 0;
  /// How many instances have each status, without looking at each of them.
  virtual StoreResult<store::StatusCounts> count_by_status() = 0;
  virtual StoreResult<std::vector<store::ExecutionView>> executions(InstanceKey key) = 0;
  /// A value of an instance; none when it has no such value.
  virtual StoreResult<std::optional<std::string>> value(std::string_view instance, std::string_view key) = 0;
  /// Removes instances with everything that belongs to them; running activities get a cancel record, and
  /// those who asked how one ends are told that it was deleted. `conflict` when one has not ended and `force`
  /// is false; `not_found`.
  virtual std::vector<StoreResult<void>> delete_instances(std::span<const store::Deletion> deletions) = 0;
  StoreResult<void> delete_instance(std::string_view instance, bool force, InstanceKey life = {}) {
    const store::Deletion one{.instance = std::string(instance), .life = life, .force = force};
    return delete_instances({&one, 1}).front();
  }
  /// Removes the history of executions before the last `keep`; returns how many. The current one stays.
  virtual StoreResult<std::uint64_t> prune_executions(std::string_view instance, std::uint64_t keep) = 0;
  /// Removes the history of one execution; false when there is none. `conflict` for the current one,
  /// `not_found` for later ones.
  virtual StoreResult<bool> prune_execution(std::string_view instance, ExecutionNumber execution) = 0;
  virtual StoreResult<std::vector<store::SetAsideRow>> set_aside(std::uint64_t after, std::size_t limit) = 0;

  // ---- questions --------------------------------------------------------------------------------

  /// Puts questions where workers of other processes find them. They are no messages: no instance is looked
  /// at, and nothing has to be durable; what a crash takes is as if its time were up. A row goes when its
  /// answer was taken, and when its time is up, with the next of these calls. The same id again changes
  /// nothing. `busy` when kMaxAsks wait.
  virtual std::vector<StoreResult<void>> ask(std::span<const store::Ask> asks) = 0;
  /// Questions that have no answer, about instances whose code the worker has, and that nobody was given
  /// within the lease of that call: those that wait longest, up to `max`. `within` is what is left of it.
  virtual StoreResult<std::vector<store::Ask>> fetch_asks(const store::AskRequest& request) = 0;
  /// Answers questions, whoever was given them; the first answer counts. `not_found` when nobody waits for it
  /// any more.
  virtual std::vector<StoreResult<void>> answer(std::span<const store::AskAnswer> answers) = 0;
  /// The answers of those that have one; their rows are gone then. In the order of the ids.
  virtual StoreResult<std::vector<store::AskAnswer>> take_answers(std::span<const store::AskId> asks) = 0;

  // ---- housekeeping ---------------------------------------------------------------------------

  /// Housekeeping that no other call does: fails activities past their deadlines, expires sessions, declares
  /// `fail` sessions lost, removes stale workers, old records, early deliveries past their time and the
  /// remains of deleted instances; repairs inconsistent rows. Any worker may call it at any time, and is
  /// never removed by its own sweep. After an outage of the store, other workers are as late as the caller.
  /// So a worker is removed, and a `fail` session declared lost, only when sweeps of this handle have seen it
  /// overdue for half of the time after which it is stale, or of its lease. These observations are void when
  /// a call of the handle was answered `unavailable`, or when there was no sweep for the whole of that time.
  /// The leases of sessions that may be re-claimed end when their owner is not registered any more.
  virtual StoreResult<store::Swept> sweep(const store::SweepRequest& request) = 0;

  /// A listener for `mask`; `worker` says whose cancels it wants (0: nobody's).
  virtual std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker) = 0;

  /// Everything in the namespace, as of one moment.
  virtual StoreResult<store::StoreState> state() = 0;

 private:
  store::LocalAsks local_asks_;
};

}  // namespace holdfast
