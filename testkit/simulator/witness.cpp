#include "testkit/simulator/witness.hpp"

#include "codec/segment.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast::simulator {
namespace {

using namespace std::chrono_literals;

template <class T, class... Us>
inline constexpr bool one_of = (std::is_same_v<T, Us> || ...);

/// Operations whose outcome comes later, by an event of its own.
template <class T>
inline constexpr bool waits_for_outcome =
    one_of<T, history::ActivityScheduled, history::TimerStarted, history::EventAwaited,
           history::MessageAwaited, history::ChildStarted, history::DetachedStarted, history::SessionOpened,
           history::SessionClosing, history::SessionEventAwaited, history::ValueRead, history::EndAwaited>;

// No call takes so long, not even one in whose middle others make theirs.
constexpr Duration kLongLease = 2s;
// Enough for a thread that has something to do to get its turn among all others, where calls take no time to
// speak of; and less than the pauses between tries of what fails again and again.
constexpr Duration kPromptAnswer = 300ms;
// For how long an instance may have messages in the hands of one worker: a turn that blocks has its limit.
constexpr Duration kPatience = 30s;

std::string in_words(LockToken token) { return to_string(token).substr(0, 6); }

}  // namespace

std::string Witness::name(InstanceKey key) const {
  const auto found = instances_.find(key);
  const std::string id = found == instances_.end() ? "" : found->second.id;
  return "instance '" + id + "' (key " + to_string(key) + ")";
}

std::string Witness::name(const store::ActivityId& id) const {
  return "activity " + to_string(id.event) + " of execution " + to_string(id.execution) + " of " +
         name(id.instance);
}

// ---- locks --------------------------------------------------------------------------------------

Witness::Lock Witness::new_lock(LockToken token, WorkerKey worker, Duration lease) const {
  const BootTime now = clock_.boot_now();
  return {token, worker, now, lease, after(now, lease)};
}

// It is handed out, though nobody gave this lock back. Calls take their time, so a short lease may end by
// itself.
void Witness::check_lapse(const std::optional<Lock>& lock, const std::string& who) {
  if (!lock || lock->since <= no_lapses_since_ || lock->lease < kLongLease) return;
  broken(who + " was left locked by worker " + to_string(lock->worker) +
         ", and waited for the end of the lease");
}

void Witness::check_progress(Instance& instance, const store::InstanceRow& row, bool pending) {
  const BootTime now = clock_.boot_now();
  const bool waits = pending && row.ready && row.lease_left > Duration::zero() && now >= progress_since_;
  if (!waits) return instance.waiting.reset();
  const bool same =
      instance.waiting && instance.waiting->stamp == row.stamp && instance.waiting->token == row.token;
  if (!same) instance.waiting = {row.stamp, row.token, now};
  if (now - instance.waiting->since > kPatience)
    broken(name(row.view.key) + " has messages, and the worker that holds it does nothing with them");
}

// ---- turns --------------------------------------------------------------------------------------

template <class Rows>
void Witness::check_given_back(LockToken token, const std::set<LockToken>& unanswered, const Rows& rows) {
  for (const auto& [id, row] : rows) {
    const bool locked = row.lock && row.lock->until > clock_.boot_now() && row.lock->token != token;
    if (locked && unanswered.contains(row.lock->token))
      broken(name(id) + " was locked by a fetch of worker " + to_string(row.lock->worker) +
             " that was not answered, and is not given back by its next one");
  }
}

void Witness::check_given_back(const store::TurnRequest& request, const std::set<LockToken>& unanswered) {
  check_given_back(request.token, unanswered, instances_);
}

void Witness::check_given_back(const store::ActivityRequest& request, const std::set<LockToken>& unanswered) {
  check_given_back(request.token, unanswered, activities_);
}

void Witness::fetched(const store::TurnRequest& request, const store::FetchedTurns& answer) {
  if (request.repeated) {
    for (auto& [key, instance] : instances_) {
      if (instance.lock && instance.lock->token == request.token) instance.lock.reset();
    }
  }
  for (const store::LockedTurn& turn : answer.turns) take(instance(turn.key), request, turn);
}

void Witness::take(Instance& instance, const store::TurnRequest& request, const store::LockedTurn& turn) {
  instance.id = turn.instance;
  const BootTime now = clock_.boot_now();
  if (turn.held) {
    if (!instance.lock || instance.lock->token != turn.token)
      broken(name(turn.key) + " was handed out as held to a token that is not its lock");
  } else if (instance.lock && instance.lock->until > now) {
    broken(name(turn.key) + " was handed out while worker " + to_string(instance.lock->worker) +
           " holds its lock " + in_words(instance.lock->token));
  } else {
    check_lapse(instance.lock, name(turn.key));
  }
  if (turn.stamp != instance.stamp) broken(name(turn.key) + " was handed out with a stamp that nobody wrote");
  if (turn.execution != instance.execution)
    broken(name(turn.key) + " was handed out in execution " + to_string(turn.execution) + " instead of " +
           to_string(instance.execution));
  for (const store::Message& message : turn.messages) {
    if (instance.consumed.contains(message.id))
      broken("message " + to_string(message.id) + " of " + name(turn.key) +
             " was handed out after it was consumed");
  }
  instance.lock = new_lock(turn.token, request.worker, request.lease);
}

void Witness::committed(const store::CommitRequest& request, const store::TurnCommit& commit,
                        const StoreResult<store::Committed>& answer) {
  Instance& instance = this->instance(commit.key);
  check_completions(instance, commit);
  if (!answer) return;
  ++turns_;
  if (!instance.lock || instance.lock->token != commit.token)
    broken("a turn of " + name(commit.key) + " was committed with the stale lock " + in_words(commit.token));
  if (instance.stamp != commit.expected)
    broken("a turn of " + name(commit.key) + " was committed over a stamp that it did not know");
  if (instance.suspended && !commit.segment.empty() &&
      !std::holds_alternative<store::InstanceEnd>(commit.end))
    broken(name(commit.key) + " went on while it was suspended");
  instance.stamp = commit.stamp;
  if (!commit.segment.empty()) read_segment(commit.key, instance, commit);
  consume(commit.key, instance, commit);
  for (const store::LocalCompletion& completion : commit.completed) {
    const store::ActivityId id{commit.key, commit.execution, completion.event};
    const Activity& activity = activities_[id];
    if (activity.over || !activity.lock || activity.lock->token != completion.token)
      broken("a turn recorded the end of " + name(id) + " with the stale lock " + in_words(completion.token));
    end_activity(id);
  }
  for (const store::CancelledActivity& cancelled : commit.cancelled)
    take_away({commit.key, commit.execution, cancelled.event});
  schedule(request, commit, *answer);
  if (!commit.starts.empty()) ++changes_;
  const bool ends = std::holds_alternative<store::InstanceEnd>(commit.end);
  if (!std::holds_alternative<std::monostate>(commit.end)) {
    end_execution(commit.key, commit.execution);
    ++changes_;
    instance.open.clear();
    instance.next_event = EventId{1};
    if (ends) {
      instance.ended = true;
    } else {
      ++instance.execution.value;
    }
  }
  if (ends || !commit.keep_lock) instance.lock.reset();
}

// Whoever knows all of its history knows which operations are open. A commit that names the end of another
// one is refused as a whole, and its turn is lost.
void Witness::check_completions(const Instance& instance, const store::TurnCommit& commit) {
  const bool knows_all = instance.lock && instance.lock->token == commit.token &&
                         instance.stamp == commit.expected && instance.execution == commit.execution;
  if (!knows_all) return;
  for (const store::LocalCompletion& completion : commit.completed) {
    if (!instance.open.contains(completion.event))
      broken("a turn of " + name(commit.key) + " names the end of operation " + to_string(completion.event) +
             ", which is not open");
  }
}

void Witness::consume(InstanceKey key, Instance& instance, const store::TurnCommit& commit) {
  for (const auto* list : {&commit.consumed, &commit.set_aside}) {
    for (const MessageId id : *list) {
      if (!instance.consumed.insert(id).second)
        broken("message " + to_string(id) + " of " + name(key) + " was consumed twice");
    }
  }
}

void Witness::read_segment(InstanceKey key, Instance& instance, const store::TurnCommit& commit) {
  const auto events = history::read_segment(commit.segment);
  if (!events) return broken("the history of " + name(key) + " can't be read: " + events.error());
  if (instance.ended) broken("history of " + name(key) + " goes on after its end");
  for (const history::Event& event : *events) {
    if (event.id != instance.next_event)
      broken("history of " + name(key) + " goes on with event " + to_string(event.id) + " instead of " +
             to_string(instance.next_event));
    instance.next_event = EventId{event.id.value + 1};
    const auto close = [&](EventId source, std::string_view how) {
      if (instance.open.erase(source) == 0)
        broken("operation " + to_string(source) + " of " + name(key) + " was " + std::string(how) +
               " at event " + to_string(event.id) + ", but is not open");
    };
    std::visit(
        [&](const auto& body) {
          using Kind = std::remove_cvref_t<decltype(body)>;
          if constexpr (one_of<Kind, history::Completed, history::Failed>) {
            close(body.source, "completed");
          } else if constexpr (std::is_same_v<Kind, history::OperationCancelled>) {
            close(body.source, "cancelled");
          } else if constexpr (waits_for_outcome<Kind>) {
            if constexpr (requires { body.launched; }) {
              if (body.launched) return;
            }
            instance.open.insert(event.id);
          }
        },
        event.body);
  }
}

void Witness::released(const store::TurnRelease& release, const StoreResult<void>& answer) {
  if (!answer) return;
  Instance& instance = this->instance(release.key);
  if (!instance.lock || instance.lock->token != release.token)
    broken(name(release.key) + " was released with the stale lock " + in_words(release.token));
  instance.lock.reset();
  instance.not_before = after(clock_.boot_now(), release.delay);
}

void Witness::renewed(Duration lease, const store::TurnRenewal& renewal, const StoreResult<void>& answer) {
  if (!answer) return;
  Instance& instance = this->instance(renewal.key);
  if (!instance.lock || instance.lock->token != renewal.token)
    return broken(name(renewal.key) + " was renewed with the stale lock " + in_words(renewal.token));
  instance.lock->until = after(clock_.boot_now(), lease);
}

// ---- activities ---------------------------------------------------------------------------------

void Witness::schedule(const store::CommitRequest& request, const store::TurnCommit& commit,
                       const store::Committed& answer) {
  if (answer.handed_off.size() != commit.activities.size())
    return broken("the commit of " + name(commit.key) + " answers for " +
                  std::to_string(answer.handed_off.size()) + " activities instead of " +
                  std::to_string(commit.activities.size()));
  for (std::size_t i = 0; i < commit.activities.size(); ++i) {
    const store::NewActivity& wanted = commit.activities[i];
    const store::ActivityId id{commit.key, commit.execution, wanted.event};
    if (!activities_.try_emplace(id).second) broken(name(id) + " was scheduled twice");
    const std::optional<store::LockedActivity>& locked = answer.handed_off[i];
    if (!locked) continue;
    if (!wanted.hand_off) broken(name(id) + " was handed off though nobody wished it");
    hand_out(*locked, new_lock(commit.activity_token, request.worker, request.activity_lease));
  }
}

void Witness::fetched(const store::ActivityRequest& request, const store::FetchedActivities& answer) {
  if (request.repeated) {
    for (auto& [id, activity] : activities_) {
      const bool locked = activity.lock && activity.lock->until > clock_.boot_now();
      if (!locked || activity.lock->token != request.token) continue;
      activity.lock.reset();
      --activity.delivery;
    }
  }
  for (const store::LockedActivity& locked : answer.activities)
    hand_out(locked, new_lock(request.token, request.worker, request.lease));
}

void Witness::hand_out(const store::LockedActivity& locked, const Lock& lock) {
  const auto found = activities_.find(locked.id);
  if (found == activities_.end()) return broken(name(locked.id) + " was handed out, but never scheduled");
  Activity& activity = found->second;
  if (activity.over) broken(name(locked.id) + " was handed out after its end");
  if (activity.lock && activity.lock->until > clock_.boot_now())
    broken(name(locked.id) + " was handed out while worker " + to_string(activity.lock->worker) +
           " holds its lock");
  check_lapse(activity.lock, name(locked.id));
  ++activity.delivery;
  if (locked.attempt != activity.attempt || locked.delivery != activity.delivery)
    broken(name(locked.id) + " was handed out as attempt " + std::to_string(locked.attempt) + ", delivery " +
           std::to_string(locked.delivery) + " instead of " + std::to_string(activity.attempt) + ", " +
           std::to_string(activity.delivery));
  activity.lock = lock;
  activity.hand_outs.push_back(
      {static_cast<int>(activity.attempt), static_cast<int>(activity.delivery), lock.worker, lock.until});
}

void Witness::finished(const store::ActivityResult& result, const StoreResult<void>& answer) {
  if (!answer) return;
  Activity& activity = activities_[result.id];
  if (activity.over || !activity.lock || activity.lock->token != result.token)
    broken("an answer for " + name(result.id) + " was accepted with the stale lock " +
           in_words(result.token));
  activity.lock.reset();
  if (std::holds_alternative<store::Retry>(result.result)) {
    ++activity.attempt;
    activity.delivery = 0;
  } else if (std::holds_alternative<store::PutBack>(result.result)) {
    --activity.delivery;
  } else {
    end_activity(result.id);
  }
}

void Witness::renewed(Duration lease, const store::ActivityRenewal& renewal,
                      const StoreResult<void>& answer) {
  if (!answer) return;
  Activity& activity = activities_[renewal.id];
  if (activity.over || !activity.lock || activity.lock->token != renewal.token)
    return broken(name(renewal.id) + " was renewed with the stale lock " + in_words(renewal.token));
  activity.lock->until = after(clock_.boot_now(), lease);
  activity.hand_outs.back().until = activity.lock->until;
}

// Of several instances of that name, the newest.
Witness::HandOuts Witness::hand_outs_of(const ActivityContext& running) const {
  HandOuts found;
  for (const auto& [key, instance] : instances_) {
    const auto activity = activities_.find({key, running.execution(), running.activity_id()});
    if (instance.id != running.instance() || activity == activities_.end()) continue;
    const std::vector<HandOut>& all = activity->second.hand_outs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].attempt == running.attempt() && all[i].delivery == running.delivery())
        found = {activity->first, all, i};
    }
  }
  return found;
}

// What the same worker takes again once its lease is over goes on there under the new lock.
std::optional<BootTime> Witness::lease_of(const ActivityContext& running) const {
  const auto [id, all, place] = hand_outs_of(running);
  std::optional<BootTime> until;
  for (std::size_t i = place; i < all.size(); ++i) {
    if (all[i].worker == all[place].worker) until = std::max(until.value_or(kLongAgo), all[i].until);
  }
  return until;
}

bool Witness::was_taken_again(const ActivityContext& running) const {
  const auto [id, all, place] = hand_outs_of(running);
  if (place == 0) return false;
  const HandOut& before = all[place - 1];
  return before.worker == all[place].worker && before.attempt == running.attempt() &&
         before.delivery + 1 == running.delivery();
}

std::optional<BootTime> Witness::taken_away_at(const ActivityContext& running) const {
  const HandOuts found = hand_outs_of(running);
  if (found.all.empty()) return std::nullopt;
  const std::optional<BootTime> at = found.all[found.place].taken_away;
  return at && *at >= news_since_ ? at : std::nullopt;
}

void Witness::ends(const ActivityContext& running) {
  const HandOuts found = hand_outs_of(running);
  if (!found.all.empty()) activities_[found.id].hand_outs[found.place].ended = clock_.boot_now();
}

// Only of those that are retried: how others have ended may go into a turn of their instance instead.
void Witness::answering(const store::ActivityResult& result) {
  const auto found = activities_.find(result.id);
  if (found == activities_.end() || !found->second.lock || found->second.lock->token != result.token) return;
  const auto ended = std::exchange(found->second.hand_outs.back().ended, std::nullopt);
  if (!ended || *ended < prompt_answers_since_ || !std::holds_alternative<store::Retry>(result.result))
    return;
  if (clock_.boot_now() - *ended > kPromptAnswer)
    broken("an attempt of " + name(result.id) +
           " has failed, and its worker kept that to itself for a while");
}

// Whoever runs it is to be told.
void Witness::take_away(const store::ActivityId& id) {
  Activity& activity = activities_[id];
  if (activity.lock && activity.lock->until > clock_.boot_now())
    activity.hand_outs.back().taken_away = clock_.boot_now();
  end_activity(id);
}

void Witness::end_activity(const store::ActivityId& id) {
  Activity& activity = activities_[id];
  activity.over = true;
  activity.lock.reset();
}

void Witness::end_execution(InstanceKey key, ExecutionNumber execution) {
  for (auto it = activities_.lower_bound({key, execution, {}});
       it != activities_.end() && it->first.instance == key && it->first.execution == execution; ++it) {
    take_away(it->first);
  }
}

// ---- the rest -----------------------------------------------------------------------------------

void Witness::started(const store::StartRequest& request, const StoreResult<store::StartAnswer>& answer) {
  if (!answer || !answer->is_new) return;
  instance(answer->key).id = request.instance;
  ++changes_;
}

void Witness::deleted(InstanceKey key) {
  for (auto it = activities_.lower_bound({key, {}, {}}); it != activities_.end() && it->first.instance == key;
       ++it) {
    take_away(it->first);
  }
  Instance& instance = this->instance(key);
  instance.lock.reset();
  instance.ended = true;
  ++changes_;
}

// Its turn is lost, and its lock is free.
void Witness::set_suspended(const store::Suspension& wish, InstanceKey key) {
  if (!suspensions_.insert(wish.request).second) return;  // a repetition
  Instance& instance = this->instance(key);
  instance.suspended = !wish.resume;
  if (instance.suspended) instance.lock.reset();
  ++changes_;
}

void Witness::inspect(const store::StoreState& state) {
  std::set<InstanceKey> running;
  for (const store::InstanceRow& row : state.instances) {
    Instance& instance = this->instance(row.view.key);
    const std::string who = name(row.view.key);
    const bool ended = has_ended(row.view.status);
    if (!ended) running.insert(row.view.key);
    if (row.stamp != instance.stamp) broken("the store has another stamp of " + who + " than was written");
    if (ended != instance.ended)
      broken("the store says that " + who + (ended ? " has ended" : " runs") +
             ", and that was not committed");
    const bool pending = std::any_of(row.messages.begin(), row.messages.end(),
                                     [](const store::Message& m) { return !store::waits_for_code(m.kind); });
    if (pending && !row.ready && row.view.status == store::InstanceStatus::running &&
        instance.not_before <= clock_.boot_now())
      broken(who + " has messages and is not ready: it is stranded");
    check_progress(instance, row, pending && !ended);
    if (ended && !row.timers.empty()) broken(who + " has ended and still has timers");
    for (const store::Message& message : row.messages) {
      if (instance.consumed.contains(message.id))
        broken("message " + to_string(message.id) + " of " + who + " is there after it was consumed");
    }
  }
  for (const store::ActivityRow& row : state.activities) {
    const auto found = activities_.find(row.view.id);
    const std::string who = name(row.view.id);
    if (found == activities_.end() || found->second.over) {
      broken(who + " is in the store after its end");
      continue;
    }
    if (!running.contains(row.view.id.instance)) broken(who + " outlived its instance");
    if (row.view.attempt != found->second.attempt || row.view.delivery != found->second.delivery)
      broken(who + " is at attempt " + std::to_string(row.view.attempt) + ", delivery " +
             std::to_string(row.view.delivery) + " instead of " + std::to_string(found->second.attempt) +
             ", " + std::to_string(found->second.delivery));
  }
}

}  // namespace holdfast::simulator
