// Activities are fetched: free ones, those of sessions that the worker holds, and those of sessions that it
// claims with them.
#include "admission.hpp"
#include "queue_reader.hpp"
#include "workers.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

class ActivityFetch {
 public:
  ActivityFetch(Transaction& tx, const store::ActivityRequest& request)
      : tx_(tx),
        request_(request),
        abilities_(*request.abilities),
        owned_only_(request.owned_only || tx.is_draining(request.worker)),
        queue_(tx, request.worker, abilities_, std::numeric_limits<std::int64_t>::max()) {}

  store::FetchedActivities run() {
    while (const auto item = queue_.next()) {
      const std::optional<Activity> activity = find_activity(tx_, item->id);
      // One that has moved is found again where it went.
      if (!activity || !activity->is_queued() || activity->lane != item->lane) continue;
      consider(*activity, *item);
      if (!out_.left_behind) continue;
      // Beyond that, only what waits for a session is of interest, and only to a worker at its limit.
      if (!at_limit()) break;
      queue_.drop_all_but_claims();
    }
    note_due();
    note_hand_overs();
    return std::move(out_);
  }

 private:
  void consider(const Activity& activity, const QueueItem& item) {
    const Admission admission = admit(tx_, request_.worker, abilities_, activity);
    if (admission == Admission::no) return note_kept(activity);
    if (owned_only_ && (activity.session == 0 || admission != Admission::yes))
      return queue_.drop_lane(item.lane);
    if (admission == Admission::full) {
      for (const LeaseTime end : stopping_in(tx_, session_of(tx_, activity.session))) due_at(end);
      if (item.lane < 0) queue_.drop_lane(item.lane);
    } else if (admission == Admission::by_claim && at_limit()) {
      note_waiting(item);
    } else if (admission == Admission::by_claim && claims_ >= share()) {
      // The others get a chance, and then this worker may ask again.
      out_.next_due = {};
      queue_.drop_stream(item);
    } else if (out_.activities.size() == request_.max) {
      out_.left_behind = true;
    } else {
      take(activity, admission == Admission::by_claim);
    }
  }

  void take(Activity activity, bool by_claim) {
    Claim claimed;
    if (by_claim) {
      Session& session = session_of(tx_, activity.session);
      claimed = claim(tx_, session, request_.worker, abilities_, store::SessionReason::work);
      ++claims_;
      ++*held_;
      queue_.add_session(session.number);
    }
    std::string instance;
    if (Cursor row = tx_.rows(tx_.sql.instance_name, activity.id.instance); row.next()) {
      instance = row->text(0);
    }
    out_.activities.push_back(lock_activity(tx_, std::move(activity), request_.worker, request_.token,
                                            request_.lease, std::move(instance)));
    if (!by_claim) return;
    store::SessionGrant& grant = *out_.activities.back().session;
    grant.claimed = true;
    grant.same_owner = claimed.same_owner;
    grant.previous_owner = std::move(claimed.previous_owner);
    grant.reason = claimed.reason;
    grant.saved = std::move(claimed.saved);
  }

  bool at_limit() {
    if (!held_) held_ = sessions_held(tx_, request_.worker);
    return *held_ >= abilities_.session_limit;
  }

  /// How many sessions it may claim now: those that it could, divided among the live workers. More than it
  /// has room for are not counted.
  std::size_t share() {
    if (share_) return *share_;
    const std::size_t among = std::max<std::size_t>(count_live_workers(tx_), 1);
    const std::size_t room = std::min<std::size_t>(abilities_.session_limit - *held_, request_.max);
    std::set<std::int64_t> claimable;
    QueueReader all(tx_, request_.worker, abilities_, std::numeric_limits<std::int64_t>::max());
    while (claimable.size() <= among * room) {
      const auto item = all.next();
      if (!item) break;
      if (item->lane < 0 || !tx_.kind(item->lane).in_session) {
        all.drop_lane(item->lane);
        continue;
      }
      const std::optional<Activity> activity = find_activity(tx_, item->id);
      if (claimable.contains(activity->session)) continue;
      if (admit(tx_, request_.worker, abilities_, *activity) == Admission::by_claim) {
        claimable.insert(activity->session);
      }
    }
    share_ = (claimable.size() + among - 1) / among;
    return *share_;
  }

  /// One of a session that is kept for another node may be taken when that is over.
  void note_kept(const Activity& activity) {
    if (activity.session == 0) return;
    const Session& session = session_of(tx_, activity.session);
    if (is_kept_from(tx_, session, request_.worker)) due_at(session.lease_until);
  }

  // Those behind it in its lane waited less.
  void note_waiting(const QueueItem& item) {
    queue_.drop_stream(item);
    if (abilities_.session_limit == 0) return;
    out_.wants_capacity = std::max(out_.wants_capacity.value_or(Duration{}), Duration(tx_.now - item.at));
  }

  void due_at(LeaseTime time) { out_.next_due = std::min(out_.next_due, left_until(time, tx_.now)); }

  void note_due() {
    due_at(queue_.next_due());
    due_at(tx_.counters().activity_horizon);
    due_at(tx_.counters().session_horizon);
  }

  void note_hand_overs() {
    for (const Session* session : queue_.sessions()) {
      if (belongs_elsewhere(*session) && !runs_on(tx_, *session, session->worker))
        out_.to_hand_over.push_back({session->id, session->generation});
    }
  }

  /// It has a ready item that this worker can't run and another can.
  bool belongs_elsewhere(const Session& session) {
    std::set<std::int64_t> kinds;
    for (Cursor row = tx_.rows(tx_.sql.ready_kinds_in_session, session.number, tx_.now); row.next();) {
      kinds.insert(row->int64(0));
    }
    return std::ranges::any_of(kinds, [&](std::int64_t number) {
      const Kind& kind = tx_.kind(number);
      return !serves(abilities_, kind) && std::ranges::any_of(live_workers(), [&](const auto& worker) {
        const store::Abilities& others = worker.info.abilities;
        return others.session_limit > 0 && serves(others, kind) &&
               covers(others, session.policy.requirements);
      });
    });
  }

  const std::vector<LiveWorker>& live_workers() {
    if (!live_workers_) live_workers_ = sqlite_store::live_workers(tx_);
    return *live_workers_;
  }

  Transaction& tx_;
  const store::ActivityRequest& request_;
  const store::Abilities& abilities_;
  const bool owned_only_;
  QueueReader queue_;
  store::FetchedActivities out_{};
  std::size_t claims_ = 0;
  std::optional<std::uint32_t> held_{};
  std::optional<std::size_t> share_{};
  std::optional<std::vector<LiveWorker>> live_workers_{};
};

/// What a fetch has locked that was not answered.
void put_back_unanswered(Transaction& tx, LockToken token) {
  std::vector<store::ActivityId> unanswered;
  for (Cursor row = tx.rows(tx.sql.running_by, token, tx.now); row.next();) {
    unanswered.push_back(
        {row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)});
  }
  for (const store::ActivityId& id : unanswered) {
    static_cast<void>(finish_activity(tx, {.id = id, .token = token, .result = store::PutBack{}}));
  }
}

}  // namespace

StoreResult<store::FetchedActivities> fetch_activities(Transaction& tx,
                                                       const store::ActivityRequest& request) {
  if (auto refused = tx.refuse_worker(request.worker, WorkerCall::takes_work)) {
    return Unexpected(*std::move(refused));
  }
  if (request.repeated) put_back_unanswered(tx, request.token);
  return ActivityFetch(tx, request).run();
}

}  // namespace holdfast::sqlite_store
