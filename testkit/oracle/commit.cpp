// Commits of turns, in the order of the comment on Store::commit_turns.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::testing::oracle {

using store::Message;
using store::MessageKind;
using store::SessionAnswer;
using store::SessionReason;
using store::SessionStatus;

namespace {

bool ends(const store::TurnCommit& commit) { return !std::holds_alternative<std::monostate>(commit.end); }
bool ends_instance(const store::TurnCommit& commit) {
  return std::holds_alternative<store::InstanceEnd>(commit.end);
}

CancelReason cancelled_by(Status end) {
  switch (end) {
    case Status::failed:
      return CancelReason::execution_failed;
    case Status::cancelled:
      return CancelReason::execution_cancelled;
    case Status::terminated:
      return CancelReason::execution_terminated;
    default:
      return CancelReason::execution_completed;
  }
}

}  // namespace

std::vector<StoreResult<store::Committed>> Oracle::commit_turns(const store::CommitRequest& request,
                                                                std::span<const store::TurnCommit> commits) {
  std::vector<StoreResult<store::Committed>> answers;
  for (const store::TurnCommit& turn : commits) {
    if (const auto refused = refusal(turn)) {
      answers.emplace_back(Unexpected(*refused));
    } else {
      answers.emplace_back(commit(request, turn));
    }
  }
  return answers;
}

std::optional<StoreError> Oracle::refusal(const store::TurnCommit& commit) const {
  // `lost` when the lock or the stamp is not the one given;
  const Instance* const instance = find_instance(commit.key);
  if (instance == nullptr || !is_locked_by(*instance, commit.token) || instance->stamp != commit.expected) {
    return StoreError{.kind = Kind::lost};
  }
  if (instance->execution != commit.execution) return StoreError{.kind = Kind::invalid};
  // `invalid` for new activities or timers of an instance that has ended;
  if (has_ended(instance->status) && !(commit.activities.empty() && commit.timers.empty())) {
    return StoreError{.kind = Kind::invalid};
  }
  // `lost` when a row of `completed` is not locked by the token given or requires a save that is refused.
  for (const store::LocalCompletion& completion : commit.completed) {
    const Activity* const activity = find_activity({commit.key, commit.execution, completion.event});
    if (activity == nullptr || activity->token.empty() || activity->token != completion.token) {
      return StoreError{.kind = Kind::lost};
    }
    if (completion.save && completion.save->required && refuses_save(*activity)) {
      return StoreError{.kind = Kind::lost};
    }
  }
  return std::nullopt;
}

store::Committed Oracle::commit(const store::CommitRequest& request, const store::TurnCommit& commit) const {
  Instance& instance = *find_instance(commit.key);
  store::Committed committed;
  Answers session_answers;
  // The segment; messages consumed and set aside;
  if (!commit.segment.empty()) {
    instance.history[commit.execution.value].push_back({commit.first_event, commit.segment});
  }
  consume(instance, commit);
  // local completions; cancelled activities and timers;
  complete_locally(commit);
  cancel_work(instance, commit);
  // sessions opened; new activities; new timers; values and attributes; sessions closed
  // and watched;
  open_sessions(instance, commit, session_answers);
  for (const store::NewActivity& activity : commit.activities) {
    committed.handed_off.push_back(schedule(request, commit, activity));
  }
  for (const store::NewTimer& timer : commit.timers) {
    cancel_timer(instance, timer.event);
    instance.timers.push_back(timer);
  }
  for (const store::ValueChange& change : commit.values) {
    instance.values.erase(change.key);
    if (change.value) instance.values[change.key] = *change.value;
  }
  for (const store::AttributeChange& change : commit.attributes) {
    instance.attributes.erase({change.name, change.type});
    if (change.value) instance.attributes[{change.name, change.type}] = *change.value;
  }
  close_and_watch_sessions(instance, commit, session_answers);
  // starts, messages and answers, those to reads of values first;
  start_and_send(instance, commit, committed);
  for (Message& answer : values_read(commit)) deliver(instance, std::move(answer));
  for (Message& answer : session_answers) deliver(instance, std::move(answer));
  if (!ends(commit)) ask_for_ends(instance, commit);
  // custom status; waits; the end.
  if (commit.custom_status) {
    instance.custom_status = commit.custom_status;
    ++instance.custom_status_version;
    instance.updated_at = today();
  }
  if (commit.waits) instance.waits = *commit.waits;
  if (commit.version) instance.code.version = *commit.version;
  if (commit.build) instance.build = *commit.build;
  end_turn(instance, commit);
  committed.ready = needs_turn(instance, instance.seen);
  return committed;
}

void Oracle::consume(Instance& instance, const store::TurnCommit& commit) const {
  const auto named_in = [](const std::vector<MessageId>& ids) {
    return
        [&ids](const Message& message) { return std::find(ids.begin(), ids.end(), message.id) != ids.end(); };
  };
  for (const Message& message : instance.messages) {
    if (named_in(commit.set_aside)(message)) set_message_aside(instance, message);
  }
  std::erase_if(instance.messages, named_in(commit.consumed));
  std::erase_if(instance.messages, named_in(commit.set_aside));
}

// Rows deleted, then sessions saved or aborted: one that aborts its session does not take away those that
// ended with it.
void Oracle::complete_locally(const store::TurnCommit& commit) const {
  std::vector<Activity> completed;
  for (const store::LocalCompletion& completion : commit.completed) {
    completed.push_back(*find_activity({commit.key, commit.execution, completion.event}));
  }
  for (const Activity& activity : completed) remove(activity.id);
  for (std::size_t i = 0; i < completed.size(); ++i) {
    save_and_abort(completed[i], commit.completed[i].save, commit.completed[i].abort_session);
  }
}

void Oracle::cancel_work(Instance& instance, const store::TurnCommit& commit) const {
  for (const store::CancelledActivity& cancelled : commit.cancelled) {
    cancel({commit.key, commit.execution, cancelled.event}, cancelled.reason);
  }
  for (const EventId event : commit.cancelled_timers) cancel_timer(instance, event);
  for (const store::EndRequest& request : commit.cancelled_end_requests) {
    Instance* const target = find_instance(request.instance);
    if (target == nullptr) continue;
    std::erase(target->end_watchers, store::EndWatcher{instance.key, commit.execution, request.source});
  }
}

void Oracle::cancel_timer(Instance& instance, EventId event) {
  std::erase_if(instance.timers, [&](const store::NewTimer& timer) { return timer.event == event; });
}

// With the id of a live session it is a no-op that returns it; with the id of one that has ended it opens a
// new generation. The instance receives its events from now on.
void Oracle::open_sessions(Instance& instance, const store::TurnCommit& commit, Answers& answers) const {
  for (const store::SessionOpen& open : commit.open_sessions) {
    SessionAnswer::Kind kind = SessionAnswer::Kind::existed;
    if (live_session(open.id) == nullptr) {
      begin_session(open.id, open.policy, &instance);
      kind = SessionAnswer::Kind::opened;
    }
    instance.watches.insert(open.id);
    if (open.source == EventId{}) continue;
    answers.push_back({.kind = MessageKind::session,
                       .execution = commit.execution,
                       .source = open.source,
                       .body = SessionAnswer{kind}});
  }
}

std::optional<store::LockedActivity> Oracle::schedule(const store::CommitRequest& request,
                                                      const store::TurnCommit& commit,
                                                      const store::NewActivity& wanted) const {
  Activity activity{.id = {commit.key, commit.execution, wanted.event},
                    .name = wanted.name,
                    .own_queue = wanted.queue,
                    .queue = wanted.queue,
                    .priority = wanted.priority,
                    .body = wanted.body,
                    .due = now(),
                    .start_within = wanted.start_within,
                    .total_until = later(wanted.total)};
  if (wanted.session) {
    activity.session = wanted.session->id;
    const store::SessionPolicy& policy = wanted.session->policy;
    Session* session = live_session(activity.session);
    const Session* const record = find_session(activity.session);
    if (session == nullptr) {
      // A session that was closed and is not `on_record` counts as missing, unless the activity's policy
      // forbids to create it. A missing one is created, unless the policy forbids that: then it waits.
      const bool missing = record == nullptr || (record->ended == SessionStatus::closed &&
                                                 !record->policy.on_record && policy.create_if_missing);
      if (!missing) {
        tell_taken(activity, reason_of(*record));
        return std::nullopt;
      }
      if (policy.create_if_missing) session = &begin_session(activity.session, policy, nullptr);
    }
    // The session's queue is the default for its activities.
    if (activity.queue.empty() && session != nullptr) activity.queue = session->policy.queue;
    if (activity.queue.empty() && session == nullptr) activity.queue = policy.queue;
  }
  rows().activities.push_back(std::move(activity));
  Activity& row = rows().activities.back();

  // Locked at once if a fetch by this worker could take it now. A hand-off never claims a session; a turn
  // that ends its execution hands nothing off.
  const WorkerRow* const worker = find_worker(request.worker);
  if (!wanted.hand_off || ends(commit) || worker == nullptr || worker->superseded) return std::nullopt;
  const Asker asker{request.worker, request.abilities, worker->draining};
  if (admission(asker, row) != Admission::allowed) return std::nullopt;
  // It never passes a ready activity of the same session, nor one of higher priority that this worker could
  // take.
  for (const Activity* const other : ready_activities()) {
    if (other == &row) continue;
    if (!row.session.empty() && other->session == row.session) return std::nullopt;
    if (other->priority <= row.priority) continue;
    const Admission admitted = admission(asker, *other);
    if (admitted == Admission::allowed || (admitted == Admission::claims && has_capacity(asker))) {
      return std::nullopt;
    }
  }
  store::LockedActivity locked = lock(row, request.worker, commit.activity_token, request.activity_lease);
  // Whoever commits has these.
  locked.instance.clear();
  locked.name.clear();
  locked.body.clear();
  return locked;
}

void Oracle::close_and_watch_sessions(Instance& instance, const store::TurnCommit& commit,
                                      Answers& answers) const {
  for (const store::SessionClose& close : commit.close_sessions) {
    Session* const session = live_session(close.id);
    if (session != nullptr) end_session(*session, SessionStatus::closed, SessionReason::closed_by_code);
    if (close.source == EventId{}) continue;
    const auto kind = session != nullptr ? SessionAnswer::Kind::closed : SessionAnswer::Kind::missing;
    answers.push_back({.kind = MessageKind::session,
                       .execution = commit.execution,
                       .source = close.source,
                       .body = SessionAnswer{kind}});
  }
  for (const std::string& id : commit.watch_sessions) {
    // Whoever comes after the end is told of it once.
    if (!instance.watches.insert(id).second) continue;
    const Session* const session = find_session(id);
    if (session != nullptr && session->ended) tell(instance, *session, news_of_end(*session));
  }
}

// A message may be for what was just started; it does not reach instances that are started later.
void Oracle::start_and_send(Instance& instance, const store::TurnCommit& commit,
                            store::Committed& committed) const {
  std::size_t started = 0;
  const auto start_up_to = [&](std::size_t count) {
    while (started < std::min(count, commit.starts.size())) start_child(commit.starts[started++]);
  };
  for (std::size_t i = 0; i < commit.messages.size(); ++i) {
    start_up_to(commit.messages[i].after_starts);
    if (!send_out(instance, commit.messages[i], ends_instance(commit))) committed.dropped.push_back(i);
  }
  start_up_to(commit.starts.size());
}

// A target that has ended drops it, also by this very turn, and so does one that is missing, unless the
// message is kept for it: a delivery by id.
bool Oracle::send_out(Instance& from, const store::Outgoing& message, bool from_ends) const {
  Instance* const to =
      message.key != InstanceKey{} ? find_instance(message.key) : find_instance(message.instance);
  if (to == nullptr) {
    const bool kept = message.key == InstanceKey{} && message.message.kind == MessageKind::delivery &&
                      message.keep_early > Duration{};
    if (kept) keep_early(message.instance, message.message, message.keep_early, Duration{});
    return kept;
  }
  if (to == &from && from_ends) return false;
  const bool arrived = deliver(*to, {.kind = message.message.kind,
                                     .execution = message.message.execution,
                                     .source = message.message.source,
                                     .address = message.message.address,
                                     .body = message.message.body});
  if (arrived && message.cancels && !to->cancel_requested_at) to->cancel_requested_at = today();
  return arrived;
}

// For a new id an instance is made, with `body` as its start message; an instance that exists, ended or not,
// gets the start message.
void Oracle::start_child(const store::NewInstance& child) const {
  Instance* instance = find_instance(child.instance);
  const bool is_new = instance == nullptr;
  if (is_new) {
    instance = &new_instance(child.instance, child.code, child.attributes);
    instance->parent = child.parent;
  }
  deliver(*instance, {.kind = MessageKind::start,
                      .execution = is_new ? ExecutionNumber{1} : ExecutionNumber{},
                      .body = child.body});
  if (is_new) give_early_deliveries(*instance);
}

Oracle::Answers Oracle::values_read(const store::TurnCommit& commit) const {
  Answers answers;
  for (const store::ValueRequest& read : commit.value_reads) {
    store::ValueAnswer answer;
    if (const Instance* const other = find_instance(read.instance)) {
      answer.instance_found = true;
      const auto value = other->values.find(read.key);
      if (value != other->values.end()) answer.value = value->second;
    }
    answers.push_back({.kind = MessageKind::value,
                       .execution = commit.execution,
                       .source = read.source,
                       .body = std::move(answer)});
  }
  return answers;
}

// Answered at once when there is no such instance, when it has ended or is the asker itself, and when too
// many wait for its end.
void Oracle::ask_for_ends(Instance& instance, const store::TurnCommit& commit) const {
  for (const store::EndRequest& request : commit.end_requests) {
    const store::EndWatcher watcher{instance.key, commit.execution, request.source};
    Instance* const target = find_instance(request.instance);
    if (target == &instance) {
      tell_of_end(*target, watcher, store::EndAnswer::Kind::itself);
      continue;
    }
    if (target != nullptr && has_ended(target->status)) {
      tell_of_end(*target, watcher, store::EndAnswer::Kind::ended);
      continue;
    }
    if (target != nullptr) {
      // What an earlier execution has asked is forgotten.
      std::erase_if(target->end_watchers, [&](const store::EndWatcher& other) {
        return other.key == instance.key && other.execution < commit.execution;
      });
      if (target->end_watchers.size() < store::kMaxEndRequests) {
        target->end_watchers.push_back(watcher);
        continue;
      }
    }
    deliver(instance,
            {.kind = MessageKind::ended,
             .execution = commit.execution,
             .source = request.source,
             .body = store::EndAnswer{.kind = target == nullptr ? store::EndAnswer::Kind::not_found
                                                                : store::EndAnswer::Kind::too_many}});
  }
}

void Oracle::end_turn(Instance& instance, const store::TurnCommit& commit) const {
  instance.stamp = commit.stamp;
  instance.delivery = 0;
  instance.seen = commit.seen;
  instance.woken = false;
  instance.not_before = {};
  if (const auto* const end = std::get_if<store::InstanceEnd>(&commit.end)) {
    instance.status = end->status;
    instance.output = end->output;
    instance.parked_because.clear();
    instance.updated_at = today();
    instance.waits.clear();
    instance.watches.clear();
    end_execution(instance, cancelled_by(end->status));
    // Drops all unread messages except starts, closes the sessions that the instance opened.
    std::erase_if(instance.messages,
                  [](const Message& message) { return message.kind != MessageKind::start; });
    std::erase_if(instance.delayed,
                  [](const Delayed& one) { return one.message.kind != MessageKind::start; });
    close_sessions_of(instance);
    for (const store::EndWatcher& watcher : std::exchange(instance.end_watchers, {}))
      tell_of_end(instance, watcher, store::EndAnswer::Kind::ended);
  }
  if (const auto* const next = std::get_if<store::NextExecution>(&commit.end)) {
    end_execution(instance, CancelReason::continued_as_new);
    // Drops outcomes, timers and answers of the old execution; deliveries and controls stay.
    std::erase_if(instance.messages, [&](const Message& message) {
      switch (message.kind) {
        case MessageKind::outcome:
        case MessageKind::timer:
        case MessageKind::taken:
        case MessageKind::value:
        case MessageKind::session:
        case MessageKind::ended:
          return true;
        default:
          return false;
      }
    });
    ++instance.execution.value;
    instance.code.version = next->version;
    instance.waits.clear();
    instance.seen = {};  // its frame is new, and was given nothing
    instance.updated_at = today();
    deliver(instance, {.kind = MessageKind::start, .execution = instance.execution, .body = next->body});
  }
  if (!commit.keep_lock || ends_instance(commit)) {
    instance.locked_by.reset();
    instance.token = {};
    instance.lease_until = {};
  }
  instance.free_since = now();
}

}  // namespace holdfast::testing::oracle
