// Activities are fetched: free ones, those of sessions that the worker holds, and those of sessions that it
// claims with them.
#include "activities.hpp"
#include "calls.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace holdfast::rules {

namespace {

class Fetch {
 public:
  Fetch(Transaction& tx, const ActivityRequest& request, const NotInSpace& elsewhere)
      : tx_(tx),
        request_(request),
        abilities_(*request.abilities),
        elsewhere_(elsewhere),
        owned_only_(request.owned_only || look_at(tx, request.worker)->draining) {}

  FetchedActivities run() {
    for (auto next = tx_.space.waiting.begin(); next != tx_.space.waiting.end();) {
      const ActivityId id = (next++)->id;
      consider(*tx_.space.activities.peek(id));
      // Beyond that, only what waits for a session is of interest, and only to a worker at its limit.
      if (fetched_.left_behind && !at_limit()) break;
    }
    note_elsewhere();
    note_due();
    note_hand_overs();
    return std::move(fetched_);
  }

 private:
  void consider(const Activity& activity) {
    const Admission admission = admit(tx_, request_.worker, abilities_, activity);
    if (owned_only_ && (!activity.session || admission != Admission::yes)) return;
    if (admission == Admission::no) {
      note_lapse(activity);
      note_room(activity);
    } else if (admission == Admission::by_claim && at_limit()) {
      note_waiting(activity.ready_since);
    } else if (admission == Admission::by_claim && claims_ >= share()) {
      // The others get a chance, and then this worker may ask again.
      fetched_.next_due = {};
    } else if (fetched_.activities.size() == request_.max) {
      fetched_.left_behind = true;
    } else {
      take(tx_.space.activities.at(activity.id), admission == Admission::by_claim);
    }
  }

  void take(Activity& activity, bool by_claim) {
    Claim claimed;
    if (by_claim) {
      claimed = claim(tx_, *find_session(tx_, *activity.session), *look_at(tx_, request_.worker), abilities_,
                      SessionReason::work);
      ++claims_;
    }
    LockedActivity locked = lock(tx_, activity, request_.worker, request_.token, request_.lease);
    if (by_claim) {
      locked.session->claimed = true;
      locked.session->same_owner = claimed.same_owner;
      locked.session->previous_owner = claimed.previous_owner;
      locked.session->reason = claimed.reason;
      locked.session->saved = claimed.saved;
    }
    fetched_.activities.push_back(std::move(locked));
  }

  [[nodiscard]] bool at_limit() const {
    return sessions_held(tx_, request_.worker) >= abilities_.session_limit;
  }

  /// How many sessions it may claim now: those that it could, divided among the live workers.
  std::size_t share() {
    if (share_) return *share_;
    std::set<std::string> claimable;
    for (const ReadyActivity& ready : tx_.space.waiting) {
      const Activity& activity = *tx_.space.activities.peek(ready.id);
      if (admit(tx_, request_.worker, abilities_, activity) == Admission::by_claim) {
        claimable.insert(*activity.session);
      }
    }
    const auto workers = static_cast<std::size_t>(
        std::ranges::count_if(tx_.space.workers, [](const auto& entry) { return is_live(entry.second); }));
    const std::size_t among = std::max<std::size_t>(workers, 1);
    share_ = (claimable.size() + elsewhere_.claimable + among - 1) / among;
    return *share_;
  }

  /// Items that are not in the space come behind those that are: what holds for the last of these holds for
  /// them.
  void note_elsewhere() {
    const bool full = fetched_.activities.size() == request_.max;
    if (elsewhere_.owned && full) fetched_.left_behind = true;
    if (owned_only_ || elsewhere_.claimable == 0) return;
    if (at_limit()) {
      note_waiting(elsewhere_.claimable_since);
    } else if (claims_ >= share()) {
      fetched_.next_due = {};
    } else if (full) {
      fetched_.left_behind = true;
    }
  }

  /// An activity of a session that another worker holds, or that is kept for one, may be taken when that is
  /// over.
  void note_lapse(const Activity& activity) {
    if (!activity.session || !can_run(abilities_, activity)) return;
    const Session* const session = find_session(tx_, *activity.session);
    if (session == nullptr || session->policy.when_lost == SessionPolicy::WhenLost::fail) return;
    const bool held_by_another = is_held(tx_, *session) && session->worker != request_.worker;
    if (held_by_another || is_kept_from(tx_, *session, request_.worker)) due_at(session->lease_until);
  }

  /// One that was held back by what was taken away, and may still run, has room when that is over.
  void note_room(const Activity& activity) {
    if (!activity.session || !can_run(abilities_, activity)) return;
    const Session* const session = find_session(tx_, *activity.session);
    if (session == nullptr) return;
    for (const BootTime end : stopping_in(tx_, *session)) due_at(end);
  }

  void note_waiting(BootTime since) {
    if (abilities_.session_limit == 0) return;
    const Duration waits = tx_.now - since;
    fetched_.wants_capacity = std::max(fetched_.wants_capacity.value_or(Duration{}), waits);
    // There is room once a lease of its own is over.
    due_at(tx_.rows.held_elsewhere(request_.worker).first_end);
    const auto owned = tx_.space.owned.find(request_.worker);
    if (owned == tx_.space.owned.end()) return;
    for (const std::string& id : owned->second) {
      const Session& session = *find_session(tx_, id);
      if (is_held(tx_, session)) due_at(session.lease_until);
    }
  }

  void due_at(BootTime moment) { fetched_.next_due = std::min(fetched_.next_due, left(moment, tx_.now)); }

  void note_due() {
    for (const auto& [since, id] : tx_.space.backing_off) {
      if (left(since, tx_.now) >= fetched_.next_due) break;
      note_backing_off(*tx_.space.activities.peek(id));
    }
    if (!tx_.space.activity_locks.empty()) due_at(tx_.space.activity_locks.begin()->first);
  }

  /// When it may be taken by this worker, unless something else happens first.
  void note_backing_off(const Activity& activity) {
    if (!can_run(abilities_, activity)) return;
    const Session* const session = activity.session ? find_session(tx_, *activity.session) : nullptr;
    if (activity.session && (session == nullptr || !covers(abilities_, session->policy))) return;
    const bool free =
        session == nullptr || (is_claimable(tx_, *session) && !is_kept_from(tx_, *session, request_.worker));
    if (free || is_held_by(tx_, *session, request_.worker)) {
      due_at(activity.ready_since);
    } else if (session->policy.when_lost == SessionPolicy::WhenLost::reclaim) {
      due_at(std::max(activity.ready_since, session->lease_until));
    }
  }

  void note_hand_overs() {
    const auto owned = tx_.space.owned.find(request_.worker);
    if (owned == tx_.space.owned.end()) return;
    for (const std::string& id : owned->second) {
      const Session& session = *find_session(tx_, id);
      if (is_held(tx_, session) && !runs_on(tx_, session, request_.worker) && belongs_elsewhere(session)) {
        fetched_.to_hand_over.push_back({id, session.generation});
      }
    }
  }

  /// It has a ready activity that this worker can't run and another can.
  [[nodiscard]] bool belongs_elsewhere(const Session& session) const {
    return std::ranges::any_of(session.queued, [&](const ActivityId& id) {
      const Activity& activity = *tx_.space.activities.peek(id);
      if (activity.ready_since > tx_.now || can_run(abilities_, activity)) return false;
      return std::ranges::any_of(tx_.space.workers, [&](const auto& entry) {
        const Abilities& others = entry.second.info.abilities;
        return is_live(entry.second) && others.session_limit > 0 && can_run(others, activity) &&
               covers(others, session.policy);
      });
    });
  }

  Transaction& tx_;
  const ActivityRequest& request_;
  const Abilities& abilities_;
  const NotInSpace elsewhere_;
  const bool owned_only_;
  FetchedActivities fetched_{};
  std::size_t claims_ = 0;
  std::optional<std::size_t> share_{};
};

/// What a fetch has locked that was not answered.
void put_back_unanswered(Transaction& tx, LockToken token) {
  std::vector<ActivityId> unanswered;
  for (const auto& [until, id] : tx.space.activity_locks) {
    if (tx.space.activities.peek(id)->lock.is(token)) unanswered.push_back(id);
  }
  for (const ActivityId& id : unanswered) {
    static_cast<void>(finish_activity(tx, {.id = id, .token = token, .result = PutBack{}}));
  }
}

}  // namespace

StoreResult<FetchedActivities> fetch_activities(Transaction& tx, const ActivityRequest& request,
                                                const NotInSpace& elsewhere) {
  if (auto refused = refusal(tx, request.worker, Call::takes_work)) return Unexpected(*refused);
  if (request.repeated) put_back_unanswered(tx, request.token);
  return Fetch(tx, request, elsewhere).run();
}

}  // namespace holdfast::rules
