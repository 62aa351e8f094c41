#include "testkit/conformance/worker.hpp"

namespace holdfast::testing::conformance {

using namespace holdfast::store;

Texts names(const Turns& fetched) {
  Texts ids;
  for (const Turn& turn : fetched.turns) ids.push_back(turn->instance);
  return ids;
}
Texts names(const Works& fetched) {
  Texts all;
  for (const Work& work : fetched.works) all.push_back(work->name);
  return all;
}

// ---- turns --------------------------------------------------------------------------------------

StoreResult<FetchedTurns> Worker::try_fetch_turns(std::size_t max, std::span<const HeldInstance> held) const {
  return world_->store().fetch_turns({.worker = key,
                                      .code = &info.code,
                                      .token = world_->token<LockToken>(),
                                      .lease = turn_lease,
                                      .max = max,
                                      .held = held});
}

Turns Worker::fetch_turns(std::size_t max, std::span<const HeldInstance> held, Where where) const {
  return fetch({.worker = key,
                .code = &info.code,
                .token = world_->token<LockToken>(),
                .lease = turn_lease,
                .max = max,
                .held = held},
               where);
}

Turns Worker::fetch_turns_again(LockToken token, std::size_t max, Where where) const {
  return fetch(
      {.worker = key, .code = &info.code, .token = token, .repeated = true, .lease = turn_lease, .max = max},
      where);
}

Turns Worker::fetch(const TurnRequest& request, Where where) const {
  FetchedTurns fetched = must(world_->store().fetch_turns(request), where);
  Turns turns{.now = fetched.now, .next_due = fetched.next_due, .left_behind = fetched.left_behind};
  for (LockedTurn& locked : fetched.turns) turns.turns.emplace_back(*world_, std::move(locked));
  return turns;
}

Turn Worker::fetch_turn(Where where) const {
  Turns fetched = fetch_turns(10, {}, where);
  if (fetched.turns.size() != 1) {
    give_up("one instance should be ready, not " + std::to_string(fetched.turns.size()), where);
  }
  return std::move(fetched.turns.front());
}

std::optional<Turn> Worker::news_of(const Turn& held, Where where) const {
  const HeldInstance instance = held.held();
  Turns fetched = fetch_turns(0, one(instance), where);
  if (fetched.turns.empty()) return std::nullopt;
  return std::move(fetched.turns.front());
}

Turn Worker::begin(const std::string& instance, Where where) const {
  world_->start(instance, where);
  return fetch_turn(where);
}

std::vector<StoreResult<Committed>> Worker::try_commit(std::span<const TurnCommit> commits) const {
  return world_->store().commit_turns(
      {.worker = key, .abilities = &info.abilities, .activity_lease = activity_lease}, commits);
}
StoreResult<Committed> Worker::try_commit(const Turn& turn) const {
  return only(try_commit(one(turn.commit)));
}

Committed Worker::commit(Turn& turn, Where where) const {
  Committed committed = must(try_commit(turn), where);
  turn.next();
  return committed;
}

std::vector<Work> Worker::commit_and_run(Turn& turn, Where where) const {
  const LockToken token = turn.commit.activity_token;
  Committed committed = commit(turn, where);
  std::vector<Work> works;
  for (auto& handed_off : committed.handed_off) {
    if (!handed_off) give_up("an activity was queued instead of handed off", where);
    works.push_back({std::move(*handed_off), token});
  }
  return works;
}

StoreResult<void> Worker::renew(const Turn& turn, Duration lease) const {
  const TurnRenewal renewal{turn.key(), turn->token};
  return only(world_->store().renew_turns(key, lease, one(renewal)));
}
StoreResult<void> Worker::release(const TurnRelease& release) const {
  return only(world_->store().release_turns(one(release)));
}

// ---- activities ---------------------------------------------------------------------------------

StoreResult<FetchedActivities> Worker::try_fetch_activities(std::size_t max) const {
  return world_->store().fetch_activities({.worker = key,
                                           .abilities = &info.abilities,
                                           .token = world_->token<LockToken>(),
                                           .lease = activity_lease,
                                           .max = max});
}

Works Worker::fetch_activities(std::size_t max, Where where) const {
  return fetch({.worker = key,
                .abilities = &info.abilities,
                .token = world_->token<LockToken>(),
                .lease = activity_lease,
                .max = max},
               where);
}

Works Worker::fetch_activities_again(LockToken token, std::size_t max, Where where) const {
  return fetch({.worker = key,
                .abilities = &info.abilities,
                .token = token,
                .repeated = true,
                .lease = activity_lease,
                .max = max},
               where);
}

Works Worker::fetch(const ActivityRequest& request, Where where) const {
  FetchedActivities fetched = must(world_->store().fetch_activities(request), where);
  Works works{.next_due = fetched.next_due,
              .left_behind = fetched.left_behind,
              .wants_capacity = fetched.wants_capacity,
              .to_hand_over = std::move(fetched.to_hand_over)};
  for (LockedActivity& activity : fetched.activities)
    works.works.push_back({std::move(activity), request.token});
  return works;
}

Work Worker::fetch_activity(Where where) const {
  Works fetched = fetch_activities(10, where);
  if (fetched.works.size() != 1) {
    give_up("one activity should be ready, not " + std::to_string(fetched.works.size()), where);
  }
  return std::move(fetched.works.front());
}

StoreResult<void> Worker::answer_with(const ActivityResult& result) const {
  return only(world_->store().finish_activities(one(result)));
}
StoreResult<void> Worker::finish(const Work& work, std::string body) const {
  return answer_with({work.id(), work.token, Finished{std::move(body)}});
}
StoreResult<void> Worker::retry(const Work& work, Duration delay, std::string failure) const {
  return answer_with({work.id(), work.token, Retry{delay, std::move(failure)}});
}
StoreResult<void> Worker::put_back(const Work& work, Duration delay) const {
  return answer_with({work.id(), work.token, PutBack{delay}});
}
StoreResult<void> Worker::set_aside(const Work& work, std::string problem) const {
  return answer_with({work.id(), work.token, SetAside{std::move(problem)}});
}

StoreResult<void> Worker::renew(const Work& work, Duration lease) const {
  const ActivityRenewal renewal{work.id(), work.token};
  return only(world_->store().renew_activities(key, lease, one(renewal)));
}
StoreResult<void> Worker::heartbeat(const Work& work, std::string progress) const {
  const ActivityRenewal renewal{work.id(), work.token, std::move(progress)};
  return only(world_->store().renew_activities(key, activity_lease, one(renewal)));
}

std::vector<CancelRecord> Worker::cancel_records(Where where) const {
  return must(world_->store().cancel_records(key), where);
}
StoreResult<void> Worker::acknowledge(const CancelRecord& record, CancelRecord::State state) const {
  const CancelAcknowledgement acknowledgement{record.id, record.token, state};
  return world_->store().acknowledge_cancels(one(acknowledgement));
}

// ---- sessions -----------------------------------------------------------------------------------

Acquired Worker::acquire(std::string_view id, const SessionPolicy& policy, Where where) const {
  return must(world_->store().acquire_session(key, info.abilities, id, policy), where);
}
StoreResult<void> Worker::renew(const SessionHold& hold) const {
  const SessionRenewal renewal{hold, {}};
  return only(world_->store().renew_sessions(key, one(renewal)));
}
StoreResult<void> Worker::release(const SessionHold& hold, SessionReason reason,
                                  std::optional<std::string> save) const {
  SessionRelease release{hold, reason, std::nullopt};
  if (save) release.save = SessionSave{*std::move(save)};
  return only(world_->store().release_sessions(key, one(release)));
}

}  // namespace holdfast::testing::conformance
