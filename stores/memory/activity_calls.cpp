// Activities are answered and kept.
#include "activities.hpp"
#include "messages.hpp"
#include "placing.hpp"
#include "session_results.hpp"
#include "sessions.hpp"
#include "setting_aside.hpp"
#include "store.hpp"
#include "views.hpp"

#include <algorithm>
#include <map>

namespace holdfast::memory_store {

namespace {

/// What each kind of result does to the row.
struct Answer {
  Transaction& tx;
  Activity& activity;

  void operator()(const Finished& finished) const {
    const ActivityId id = activity.id;
    remove(tx, activity);
    deliver(tx, tx.space.instances.at(id.instance),
            NewMessage{.kind = MessageKind::outcome,
                       .execution = id.execution,
                       .source = id.event,
                       .body = finished.body});
  }
  void operator()(const Retry& retry) const {
    ++activity.attempt;
    activity.delivery = 0;
    activity.last_failure = retry.failure;
    queue_again(tx, activity, retry.delay);
  }
  void operator()(const PutBack& put_back) const {
    if (activity.delivery > 0) --activity.delivery;
    queue_again(tx, activity, put_back.delay);
  }
  void operator()(const SetAside& aside) const {
    memory_store::set_aside(tx, activity, aside.problem);
    unlock(tx, activity);
    fail(tx, activity, CancelReason::unreadable);
  }
};

void renew(Transaction& tx, Activity& activity, Duration lease, const ActivityRenewal& renewal) {
  unplace(tx, activity);
  activity.lock.until = after(tx.now, lease);
  activity.lock.live = activity.lock.until > tx.now;
  if (renewal.progress) activity.progress = *renewal.progress;
  place(tx, activity);
  if (!activity.session) return;
  Session* const session = find_session(tx.space, *activity.session);
  if (session == nullptr || !is_current(*session, activity.lock.worker, activity.generation)) return;
  // Whoever let a lease lapse under `reclaim` has to claim again.
  if (!is_held(tx, *session) && session->policy.when_lost == SessionPolicy::WhenLost::reclaim) return;
  extend(tx, *session);
  session->last_activity = tx.now;
}

std::uint32_t workers_for(const Space& space, const Activity& activity) {
  return static_cast<std::uint32_t>(std::ranges::count_if(space.workers, [&](const auto& entry) {
    return is_live(entry.second) && can_run(entry.second.info.abilities, activity);
  }));
}

}  // namespace

std::vector<StoreResult<void>> MemoryStore::finish_activities(std::span<const ActivityResult> results) {
  return answer_each<void>("memory.finish_activities", results,
                           [](Transaction& tx, const ActivityResult& item) -> StoreResult<void> {
                             const auto activity = locked(tx, item.id, item.token);
                             if (!activity) return Unexpected(activity.error());
                             const SessionResults for_session(**activity, item.save, item.abort_session);
                             if (!for_session.counts(tx)) {
                               return refuse(
                                   StoreError::Kind::lost,
                                   "the state of its session can't be saved: the session is another's");
                             }
                             if (item.progress) (*activity)->progress = *item.progress;
                             std::visit(Answer{tx, **activity}, item.result);
                             for_session.apply(tx);
                             return {};
                           });
}

std::vector<StoreResult<void>> MemoryStore::renew_activities(WorkerKey worker, Duration lease,
                                                             std::span<const ActivityRenewal> activities) {
  return answer_each<void>("memory.renew_activities", activities,
                           [&](Transaction& tx, const ActivityRenewal& item) -> StoreResult<void> {
                             if (auto refused = refusal(tx.space, worker, Call::keeps_what_it_has))
                               return Unexpected(*refused);
                             const auto activity = locked(tx, item.id, item.token);
                             if (!activity) return Unexpected(activity.error());
                             renew(tx, **activity, lease, item);
                             return {};
                           });
}

StoreResult<std::vector<CancelRecord>> MemoryStore::cancel_records(WorkerKey worker) {
  using Records = std::vector<CancelRecord>;
  return answer<Records>("memory.cancel_records", [&](Transaction& tx) -> StoreResult<Records> {
    Records records;
    for (const auto& [key, cancel] : tx.space.cancels) {
      if (cancel.worker == worker && cancel.record.state == CancelRecord::State::requested) {
        records.push_back(view(tx, cancel));
      }
    }
    return records;
  });
}

StoreResult<void> MemoryStore::acknowledge_cancels(std::span<const CancelAcknowledgement> cancels) {
  return answer<void>("memory.acknowledge_cancels", [&](Transaction& tx) -> StoreResult<void> {
    for (const CancelAcknowledgement& item : cancels) {
      const auto found = tx.space.cancels.find({item.id, item.token});
      if (found != tx.space.cancels.end()) found->second.record.state = item.state;
    }
    return {};
  });
}

StoreResult<std::vector<QueueDepth>> MemoryStore::queue_depths() {
  using Depths = std::vector<QueueDepth>;
  return answer<Depths>("memory.queue_depths", [&](Transaction& tx) -> StoreResult<Depths> {
    std::map<std::pair<std::string, std::string>, QueueDepth> depths;
    for (const auto& [id, activity] : tx.space.activities) {
      const auto [entry, is_new] = depths.try_emplace({activity.queue, activity.name});
      QueueDepth& depth = entry->second;
      if (is_new) {
        depth.queue = activity.queue;
        depth.name = activity.name;
        depth.workers = workers_for(tx.space, activity);
      }
      if (activity.lock.live) {
        ++depth.running;
      } else if (activity.ready_since > tx.now) {
        ++depth.delayed;
      } else {
        ++depth.ready;
        depth.oldest_wait = std::max(depth.oldest_wait, tx.now - activity.ready_since);
      }
    }
    Depths list;
    for (auto& [key, depth] : depths) list.push_back(std::move(depth));
    return list;
  });
}

}  // namespace holdfast::memory_store
