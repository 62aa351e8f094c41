#include "working_set.hpp"

#include "contract/rows.hpp"
#include "statements.hpp"
#include "stores/rules/placing.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace holdfast::postgres_store {

using rules::Activity;
using rules::Instance;
using rules::Session;
using store::ActivityId;
using store::Message;
using store::MessageKind;

namespace {

/// Ids that are given by the table when the row is written: they come after all that were read.
constexpr std::uint64_t kProvisional = std::uint64_t{1} << 62U;

[[noreturn]] void damaged(const std::string& what) { throw std::runtime_error("a damaged row: " + what); }

Address address_from(Row& row) {
  Address address;
  address.kind = row.next<Address::Kind>();
  address.name = row.next<std::optional<std::string>>().value_or("");
  return address;
}

/// Whether the body of such messages is the store's own.
bool has_typed_body(MessageKind kind) {
  return kind == MessageKind::taken || kind == MessageKind::value || kind == MessageKind::session ||
         kind == MessageKind::news;
}

store::MessageBody body_from(MessageKind kind, std::string bytes) {
  if (!has_typed_body(kind)) return bytes;
  auto body = store::decode_body(kind, bytes);
  // It is handed to the turn as it is, which sets it aside.
  return body ? *std::move(body) : store::MessageBody(std::move(bytes));
}

}  // namespace

WorkingSet::WorkingSet(Link& link, Access access) : link_(link), access_(access) {}

void WorkingSet::begin(BootTime now, CalendarTime calendar, BootTime next_sweep) {
  space_.next_sweep = next_sweep;
  tx_.emplace(
      rules::Transaction{.space = space_, .rows = *this, .numbers = *this, .now = now, .calendar = calendar});
}

// ---- asking --------------------------------------------------------------------------------------

void WorkingSet::ask(const Statement& statement, const Parameters& parameters, Take take) {
  if (fault_at(link_.faults, statement.name) != Fault::none) throw InjectedFault{};
  commit(statement, parameters, std::move(take));
}

void WorkingSet::commit(const Statement& statement, const Parameters& parameters, Take take) {
  link_.connection.queue(statement, parameters);
  takes_.push_back(std::move(take));
}

void WorkingSet::bring() {
  const std::vector<Take> takes = std::exchange(takes_, {});
  const std::vector<Answer> answers = link_.connection.exchange();
  for (std::size_t i = 0; i < takes.size(); ++i) {
    if (takes[i]) takes[i](answers[i]);
  }
  place_what_came();
}

void WorkingSet::ask_now(const Statement& statement, const Parameters& parameters, const Take& take) {
  ask(statement, parameters, take);
  bring();
}

std::int64_t WorkingSet::ask_number(const Statement& statement) {
  std::int64_t number = 0;
  ask_now(statement, Parameters(), [&](const Answer& answer) { number = answer.integer(0, 0); });
  return number;
}

// Sessions first, with their items: an activity finds its place beside its session.
void WorkingSet::place_what_came() {
  std::vector<std::string> missing;
  for (const ActivityId& id : came_activities_) {
    const auto& session = space_.activities.at(id).session;
    if (session && !asked_sessions_.contains(*session)) missing.push_back(*session);
  }
  if (!missing.empty()) {
    want_sessions(missing);
    return bring();
  }
  for (const std::string& id : std::exchange(came_sessions_, {})) {
    const Session& session = space_.sessions.at(id);
    if (!session.ended && session.worker != WorkerKey{}) space_.owned[session.worker].insert(id);
  }
  for (const ActivityId& id : std::exchange(came_activities_, {})) {
    settle_and_place(tx(), space_.activities.at(id));
  }
  for (const InstanceKey key : std::exchange(came_instances_, {})) {
    settle_and_place(tx(), space_.instances.at(key));
  }
}

// Names, instances, sessions, activities: who locks in another order may have to do it all again.
void WorkingSet::bring_needed() {
  const Needs needs = std::exchange(needs_, {});
  const auto list = [](const auto& set) { return std::vector(set.begin(), set.end()); };
  for (const WorkerKey worker : needs.workers) want_worker(worker);
  want_names(list(needs.reserved));
  std::vector<std::string> names = list(needs.names);
  names.insert(names.end(), needs.reserved.begin(), needs.reserved.end());
  want_instances(list(needs.instances), names);
  want_early(list(needs.reserved));
  want_unread(needs.unread);
  std::set<InstanceKey> timers = needs.timers;
  timers.insert(needs.ending.begin(), needs.ending.end());
  want_timers(list(timers));
  want_sessions(list(needs.sessions));
  want_sessions_of(list(needs.ending));
  want_activities_of(list(needs.ending));
  want_activities(list(needs.activities));
  want_requests(needs.requests);
  if (needs.urgent) want_waiting_above(0);
  bring();
  want_keys_for(needs.started);
  if (asked()) bring();
}

// ---- instances -----------------------------------------------------------------------------------

void WorkingSet::want_instances(std::vector<InstanceKey> keys, std::vector<std::string> names) {
  std::erase_if(keys, [&](InstanceKey key) { return !asked_instances_.insert(key).second; });
  std::erase_if(names, [&](const std::string& name) {
    return space_.keys.contains(name) || !asked_names_.insert(name).second;
  });
  if (knows_everything_ || (keys.empty() && names.empty())) return;
  const Take take = [this](const Answer& answer) { take_instances(answer); };
  if (names.empty()) {
    ask(writes() ? sql::kInstances : sql::kReadInstances, Parameters(ns()).add_all(keys), take);
  } else if (writes()) {
    ask(sql::kInstancesByName, Parameters(ns()).add_all(keys).add_all(names), take);
  } else {
    if (!keys.empty()) ask(sql::kReadInstances, Parameters(ns()).add_all(keys), take);
    ask(sql::kReadInstancesByName, Parameters(ns()).add_all(names), take);
  }
}

void WorkingSet::want_free_instances(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!asked_instances_.contains(key)) missing.push_back(key);
  }
  if (missing.empty()) return;
  ask(sql::kInstancesNow, Parameters(ns()).add_all(missing),
      [this](const Answer& answer) { take_instances(answer); });
}

void WorkingSet::take_instances(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto key = row.next<InstanceKey>();
    asked_instances_.insert(key);
    if (space_.instances.contains(key)) continue;
    Instance& instance = space_.instances[key];
    store::InstanceView& view = instance.view;
    view.key = key;
    view.instance = row.next<std::string>();
    const Route& code = route(row.next<std::int32_t>());
    view.code = code.code;
    view.build = code.build;
    view.execution = row.next<ExecutionNumber>();
    view.status = row.next<store::InstanceStatus>();
    instance.lock.live = row.next<bool>();
    instance.woken = row.next<bool>();
    instance.delivery = row.next<std::uint32_t>();
    const auto due_at = row.next<std::optional<BootTime>>();
    if (!instance.lock.live) instance.ready_since = due_at;
    instance.lock.until = row.next<BootTime>();
    instance.lock.worker = row.next<WorkerKey>();
    instance.seen = row.next<MessageId>();
    instance.not_before = row.next<BootTime>();
    view.created_at = row.next<CalendarTime>();
    view.updated_at = row.next<CalendarTime>();
    instance.lock.token = row.next<LockToken>();
    instance.stamp = row.next<TurnStamp>();
    instance.request = row.next<RequestId>();
    instance.fingerprint = row.next<Fingerprint>();
    view.parent = row.next<std::optional<InstanceKey>>().value_or(InstanceKey{});
    view.cancel_requested_at = row.next<std::optional<CalendarTime>>();
    if (const auto waits = row.next<std::optional<std::string>>();
        waits && !store::from_bytes(*waits, instance.waits)) {
      damaged("instance " + to_string(key));
    }
    view.parked_because = row.next<std::optional<std::string>>().value_or("");
    view.output = row.next<std::optional<std::string>>().value_or("");
    space_.keys.emplace(view.instance, key);
    known(key).read = columns(instance);
    came_instances_.push_back(key);
  }
}

void WorkingSet::instance(InstanceKey key) {
  if (asked_instances_.contains(key) || space_.instances.contains(key)) return;
  want_instances({key});
  if (asked()) bring();
}

void WorkingSet::instance(std::string_view id) {
  if (space_.keys.contains(id) || asked_names_.contains(id)) return;
  want_instances({}, {std::string(id)});
  if (asked()) bring();
}

void WorkingSet::want_names(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (reserved_.insert(name).second) missing.push_back(name);
  }
  if (!missing.empty()) ask(sql::kReserve, Parameters(ns()).add_all(missing));
}

// Who did so before has committed by now: what was not there may be.
void WorkingSet::reserve(std::string_view id) {
  if (space_.keys.contains(id) || reserved_.contains(id)) return;
  want_names({std::string(id)});
  if (const auto found = asked_names_.find(id); found != asked_names_.end()) asked_names_.erase(found);
  if (const auto found = asked_early_.find(id); found != asked_early_.end()) asked_early_.erase(found);
  want_instances({}, {std::string(id)});
  bring();
}

std::string WorkingSet::name_of(InstanceKey key) {
  if (const auto found = space_.instances.find(key); found != space_.instances.end()) {
    return found->second.view.instance;
  }
  want_names_of({key});
  if (asked()) bring();
  return names_[key];
}

void WorkingSet::want_names_of(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!space_.instances.contains(key) && names_.emplace(key, "").second) missing.push_back(key);
  }
  if (missing.empty()) return;
  ask(sql::kInstanceNames, Parameters(ns()).add_all(missing), [this](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      const auto named = row.next<InstanceKey>();
      names_[named] = row.next<std::string>();
    }
  });
}

void WorkingSet::parked() {
  ask_now(sql::kParked, Parameters(ns()), [this](const Answer& answer) { take_instances(answer); });
}

// ---- what belongs to an instance -----------------------------------------------------------------

bool WorkingSet::is_dropped(const Known& about, MessageKind kind, MessageId id) const {
  if (about.consumed.contains(id)) return true;
  if (about.drops_all_but_starts) return kind != MessageKind::start;
  return about.drops_of_execution && kind >= MessageKind::outcome && kind <= MessageKind::session;
}

void WorkingSet::take_messages(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto key = row.next<InstanceKey>();
    const auto instance = space_.instances.find(key);
    if (instance == space_.instances.end()) continue;
    Message message;
    message.id = row.next<MessageId>();
    message.kind = row.next<MessageKind>();
    Known& about = known(key);
    if (is_dropped(about, message.kind, message.id) || !about.messages.insert(message.id).second) continue;
    message.execution = row.next<ExecutionNumber>();
    message.source = row.next<EventId>();
    message.address = address_from(row);
    message.body = body_from(message.kind, row.next<std::string>());
    instance->second.messages.emplace(message.id, std::move(message));
  }
}

void WorkingSet::want_unread(const std::map<InstanceKey, MessageId>& seen) {
  Rows<InstanceKey, MessageId> rows;
  for (const auto& [key, after] : seen) {
    Known& about = known(key);
    if (about.waiting_after && *about.waiting_after <= after) continue;
    about.waiting_after = after;
    rows.add(key, after);
  }
  if (rows.empty()) return;
  ask(sql::kUnread, rows.parameters(), [this](const Answer& answer) { take_messages(answer); });
}

void WorkingSet::unread(Instance& instance) {
  if (knows_everything_) return;
  Known& about = known(instance.view.key);
  if (!about.read) return;  // it is new: all its messages are here
  if (about.all_after && *about.all_after == MessageId{}) return;
  if (about.waiting_after && *about.waiting_after <= instance.seen) return;
  if (about.looked_for && *about.looked_for == instance.waits) return;
  about.looked_for = instance.waits;
  Rows<InstanceKey, Address::Kind, std::string> addresses;
  for (const Address& address : instance.waits) addresses.add(instance.view.key, address.kind, address.name);
  const Take take = [this](const Answer& answer) { take_messages(answer); };
  ask(sql::kWaking, Parameters(instance.view.key), take);
  if (!addresses.empty()) ask(sql::kLastFor, addresses.parameters(), take);
  bring();
}

void WorkingSet::want_messages_after(const std::vector<std::pair<InstanceKey, MessageId>>& wanted) {
  Rows<InstanceKey, MessageId> rows;
  for (const auto& [key, seen] : wanted) {
    Known& about = known(key);
    if (about.all_after && *about.all_after <= seen) continue;
    about.all_after = seen;
    rows.add(key, seen);
  }
  if (rows.empty() || knows_everything_) return;
  ask(sql::kMessagesAfter, rows.parameters(), [this](const Answer& answer) { take_messages(answer); });
}

void WorkingSet::messages_after(Instance& instance, MessageId seen) {
  if (!known(instance.view.key).read) return;
  want_messages_after({{instance.view.key, seen}});
  if (asked()) bring();
}

void WorkingSet::message(Instance& instance, MessageId id) {
  known(instance.view.key).consumed.erase(id);
  if (instance.messages.contains(id) || knows_everything_) return;
  ask_now(sql::kMessage, Parameters(instance.view.key, id),
          [this](const Answer& answer) { take_messages(answer); });
}

void WorkingSet::want_timers(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!std::exchange(known(key).timers_known, true)) missing.push_back(key);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kTimers, Parameters().add_all(missing), [this](const Answer& answer) { take_timers(answer); });
}

void WorkingSet::take_timers(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto key = row.next<InstanceKey>();
    const auto event = row.next<EventId>();
    const auto due = row.next<CalendarTime>();
    const auto instance = space_.instances.find(key);
    if (instance == space_.instances.end() || !known(key).timers.emplace(event, due).second) continue;
    instance->second.timers.emplace(event, due);
    space_.timers.emplace(due, std::pair(key, event));
  }
}

void WorkingSet::timers(Instance& instance) {
  if (!known(instance.view.key).read) return;
  want_timers({instance.view.key});
  if (asked()) bring();
}

void WorkingSet::want_delayed(const std::vector<InstanceKey>& keys) {
  if (keys.empty()) return;
  ask(sql::kDelayed, Parameters().add_all(keys), [this](const Answer& answer) { take_delayed(answer); });
}

void WorkingSet::take_delayed(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto number = row.next<std::uint64_t>();
    const auto key = row.next<InstanceKey>();
    const auto instance = space_.instances.find(key);
    if (instance == space_.instances.end()) continue;
    const rules::DelayedKey place{row.next<BootTime>(), number};
    store::NewMessage message;
    message.kind = row.next<MessageKind>();
    message.execution = row.next<ExecutionNumber>();
    message.source = row.next<EventId>();
    message.address = address_from(row);
    message.body = row.next<std::string>();
    if (!known(key).delayed.insert(place).second) continue;
    instance->second.delayed.insert(place);
    space_.delayed.emplace(place, rules::DelayedMessage{.key = key, .message = std::move(message)});
  }
}

void WorkingSet::value(Instance& instance, const std::string& key) {
  Known& about = known(instance.view.key);
  if (knows_everything_ || !about.read || about.values.contains(key) || instance.values.contains(key)) return;
  ask_now(sql::kValue, Parameters(instance.view.key, Bytes{key}), [&](const Answer& answer) {
    if (answer.rows() > 0) instance.values.insert_or_assign(key, std::string(answer.bytes(0, 0)));
  });
}

void WorkingSet::commits(Instance& instance, const store::TurnCommit& commit) {
  Known& about = known(instance.view.key);
  about.consumed.insert(commit.consumed.begin(), commit.consumed.end());
  for (const store::ValueChange& change : commit.values)
    about.values.insert_or_assign(change.key, change.value);
  if (commit.custom_status) ++about.shown;
  std::set<std::string> started;
  for (const store::NewInstance& start : commit.starts) started.insert(start.instance);
  for (const std::string& name : started) reserve(name);
  want_keys_for(started);
  if (asked()) bring();
}

void WorkingSet::drops(Instance& instance, Dropped dropped) {
  Known& about = known(instance.view.key);
  (dropped == Dropped::all_but_starts ? about.drops_all_but_starts : about.drops_of_execution) = true;
}

void WorkingSet::take_custom_status(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto instance = space_.instances.find(row.next<InstanceKey>());
    if (instance == space_.instances.end()) continue;
    instance->second.view.custom_status = row.next<std::string>();
    instance->second.view.custom_status_version = row.next<std::uint64_t>();
  }
}

void WorkingSet::want_early(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (asked_early_.insert(name).second) missing.push_back(name);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kEarly, Parameters(ns()).add_all(missing), [this](const Answer& answer) { take_early(answer); });
}

void WorkingSet::take_early(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto instance = row.next<std::string>();
    row.skip();
    rules::Early early;
    early.visible = row.next<BootTime>();
    early.until = row.next<BootTime>();
    early.message.kind = row.next<MessageKind>();
    early.message.execution = row.next<ExecutionNumber>();
    early.message.source = row.next<EventId>();
    early.message.address = address_from(row);
    early.message.body = row.next<std::string>();
    space_.early[instance].push_back(std::move(early));
    ++read_early_[instance];
  }
}

void WorkingSet::early(std::string_view id) {
  if (asked_early_.contains(id)) return;
  want_early({std::string(id)});
  if (asked()) bring();
}

// ---- activities ----------------------------------------------------------------------------------

// One that was only looked at gives way to the row itself.
void WorkingSet::take_activities(const Answer& answer, bool locked) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    Activity activity;
    activity.id.instance = row.next<InstanceKey>();
    activity.id.execution = row.next<ExecutionNumber>();
    activity.id.event = row.next<EventId>();
    if (locked) {
      asked_activities_.insert(activity.id);
      if (looked_at_.erase(activity.id) > 0) {
        unplace(tx(), space_.activities.at(activity.id));
        space_.activities.erase(activity.id);
        read_activities_.erase(activity.id);
      }
    }
    if (read_activities_.contains(activity.id) || space_.activities.contains(activity.id)) continue;
    const Kind& what = kind(row.next<std::int32_t>());
    activity.name = what.name;
    activity.queue = what.queue;
    activity.priority = -row.next<int>();
    if (row.next<bool>()) activity.own_queue = activity.queue;
    activity.start_within = row.next<std::optional<Duration>>().value_or(never);
    activity.total_until = row.next<std::optional<BootTime>>().value_or(rules::kNever);
    activity.session = row.next<std::optional<std::string>>();
    activity.session_over = row.next<std::optional<CancelReason>>();
    activity.body = row.next<std::string>();
    activity.attempt = row.next<std::uint32_t>();
    activity.delivery = row.next<std::uint32_t>();
    activity.last_failure = row.next<std::optional<std::string>>().value_or("");
    activity.progress = row.next<std::optional<std::string>>().value_or("");
    activity.lock.live = row.next<bool>();
    activity.lock.worker = row.next<WorkerKey>();
    activity.lock.token = row.next<LockToken>();
    activity.lock.until = row.next<BootTime>();
    activity.generation = row.next<Generation>();
    activity.ready_since = row.next<BootTime>();
    if (!locked) looked_at_.insert(activity.id);
    read_activities_.emplace(activity.id, activity);
    came_activities_.push_back(activity.id);
    space_.activities.emplace(activity.id, std::move(activity));
  }
}

void WorkingSet::want_activities(const std::vector<ActivityId>& ids) {
  Rows<InstanceKey, ExecutionNumber, EventId> rows;
  for (const ActivityId& id : ids) {
    if (asked_activities_.insert(id).second) rows.add(id.instance, id.execution, id.event);
  }
  if (rows.empty()) return;
  ask(sql::kActivities, rows.parameters(ns()), [this](const Answer& answer) { take_activities(answer); });
}

void WorkingSet::activity(const ActivityId& id) {
  if (knows_everything_ || asked_activities_.contains(id)) return;
  if (space_.activities.contains(id) && !looked_at_.contains(id)) return;
  const auto about = known_.find(id.instance);
  if (about != known_.end() && (about->second.activities_known || !about->second.read)) return;
  want_activities({id});
  bring();
}

void WorkingSet::want_activities_of(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!std::exchange(known(key).activities_known, true)) missing.push_back(key);
  }
  if (missing.empty() || knows_everything_) return;
  ask(writes() ? sql::kActivitiesOf : sql::kReadActivitiesOf, Parameters().add_all(missing),
      [this](const Answer& answer) { take_activities(answer); });
}

void WorkingSet::activities_of(Instance& instance) {
  if (!known(instance.view.key).read) return;
  want_activities_of({instance.view.key});
  if (asked()) bring();
}

// Which of them are ready is seen when they are placed.
void WorkingSet::want_waiting_above(int priority) {
  if (knows_everything_ || (asked_above_ && *asked_above_ <= priority)) return;
  asked_above_ = priority;
  ask(priority < 0 ? sql::kMoreUrgent : sql::kUrgent, Parameters(ns(), std::int32_t{-priority}),
      [this](const Answer& answer) { take_activities(answer, false); });
}

void WorkingSet::waiting_above(int priority) {
  want_waiting_above(priority);
  if (asked()) bring();
}

void WorkingSet::take_cancels(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    rules::Cancel cancel;
    cancel.record.id.instance = row.next<InstanceKey>();
    cancel.record.id.execution = row.next<ExecutionNumber>();
    cancel.record.id.event = row.next<EventId>();
    cancel.record.token = row.next<LockToken>();
    cancel.record.name = row.next<std::string>();
    cancel.record.reason = row.next<CancelReason>();
    cancel.record.state = row.next<store::CancelRecord::State>();
    cancel.worker = row.next<WorkerKey>();
    cancel.at = row.next<BootTime>();
    cancel.until = row.next<BootTime>();
    const std::pair place(cancel.record.id, cancel.record.token);
    asked_cancels_.insert(place);
    if (!read_cancels_.emplace(place, cancel.record.state).second) continue;
    space_.cancels.emplace(place, std::move(cancel));
  }
}

void WorkingSet::cancel(const ActivityId& id, LockToken token) {
  if (knows_everything_ || space_.cancels.contains({id, token})) return;
  if (!asked_cancels_.emplace(id, token).second) return;
  ask_now(sql::kCancel, Parameters(ns(), id.instance, id.execution, id.event, token),
          [this](const Answer& answer) { take_cancels(answer); });
}

// ---- sessions ------------------------------------------------------------------------------------

// Whoever finds none may begin one: nobody else does so meanwhile.
void WorkingSet::want_sessions(const std::vector<std::string>& ids) {
  std::vector<std::string> missing;
  for (const std::string& id : ids) {
    if (asked_sessions_.insert(id).second) missing.push_back(id);
  }
  if (missing.empty() || knows_everything_) return;
  std::ranges::sort(missing);
  if (writes()) ask(sql::kReserveSessions, Parameters(ns()).add_all(missing));
  ask(writes() ? sql::kSessions : sql::kReadSessions, Parameters(ns()).add_all(missing),
      [this](const Answer& answer) { take_sessions(answer); });
  ask(writes() ? sql::kActivitiesIn : sql::kReadActivitiesIn, Parameters(ns()).add_all(missing),
      [this](const Answer& answer) { take_activities(answer); });
}

// Those that others have locked are left to them.
void WorkingSet::want_free_sessions(const std::vector<std::string>& ids) {
  std::vector<std::string> missing;
  for (const std::string& id : ids) {
    if (!asked_sessions_.contains(id)) missing.push_back(id);
  }
  if (missing.empty()) return;
  ask(sql::kSessionsNow, Parameters(ns()).add_all(missing), [this](const Answer& answer) {
    const std::size_t before = came_sessions_.size();
    take_sessions(answer);
    const std::vector<std::string> locked(came_sessions_.begin() + static_cast<std::ptrdiff_t>(before),
                                          came_sessions_.end());
    if (locked.empty()) return;
    ask(sql::kActivitiesIn, Parameters(ns()).add_all(locked),
        [this](const Answer& items) { take_activities(items); });
    bring();
  });
}

void WorkingSet::take_sessions(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    Session session;
    session.id = row.next<std::string>();
    if (!store::from_bytes(row.next<std::string>(), session.policy)) damaged("session " + session.id);
    session.ended = row.next<std::optional<store::SessionState>>();
    session.reason = row.next<store::SessionReason>();
    session.note = row.next<std::string>();
    session.owner = row.next<std::string>();
    session.worker = row.next<WorkerKey>();
    session.generation = row.next<Generation>();
    session.lease_until = row.next<BootTime>();
    session.lease = row.next<Duration>();
    session.idle_timeout = row.next<Duration>();
    session.last_owner = row.next<std::string>();
    session.last_worker = row.next<WorkerKey>();
    session.planned = row.next<bool>();
    session.restarted = row.next<bool>();
    session.ran = row.next<bool>();
    session.last_activity = row.next<BootTime>();
    session.changed = row.next<BootTime>();
    session.ttl_until = row.next<BootTime>();
    session.opener = row.next<InstanceKey>();
    session.opened_by = row.next<std::string>();
    session.saved = row.next<std::optional<std::string>>();
    session.saved_version = row.next<std::uint64_t>();
    session.created_at = row.next<CalendarTime>();
    session.updated_at = row.next<CalendarTime>();
    if (read_sessions_.contains(session.id)) continue;
    asked_sessions_.insert(session.id);
    read_sessions_.emplace(session.id, session);
    came_sessions_.push_back(session.id);
    space_.sessions.emplace(session.id, std::move(session));
  }
}

void WorkingSet::session(std::string_view id) {
  if (asked_sessions_.contains(id)) return;
  want_sessions({std::string(id)});
  if (asked()) bring();
}

void WorkingSet::owned(WorkerKey worker) {
  if (knows_everything_ || !asked_owned_.insert(worker).second) return;
  std::vector<std::string> ids;
  ask_now(sql::kOwnedBy, Parameters(ns(), worker), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) ids.emplace_back(answer.bytes(i, 0));
  });
  want_sessions(ids);
  if (asked()) bring();
}

void WorkingSet::take_watches(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto session = row.next<std::string>();
    const auto key = row.next<InstanceKey>();
    space_.watchers[session].insert(key);
    known(key).watched.insert(session);
    if (const auto instance = space_.instances.find(key); instance != space_.instances.end()) {
      instance->second.watched.insert(session);
    }
  }
}

void WorkingSet::watchers(const std::string& session) {
  if (knows_everything_ || !asked_watchers_.insert(session).second) return;
  std::vector<InstanceKey> keys;
  ask_now(sql::kWatchers, Parameters(ns(), session), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      row.skip();
      const auto key = row.next<InstanceKey>();
      // One that has been told to forget it in this transaction is not asked again.
      const auto instance = space_.instances.find(key);
      if (instance != space_.instances.end() && known(key).watched.contains(session)) continue;
      if (asked_instances_.contains(key) && instance == space_.instances.end()) continue;
      keys.push_back(key);
      known(key).watched.insert(session);
      space_.watchers[session].insert(key);
    }
  });
  want_instances(keys);
  if (asked()) bring();
  for (const InstanceKey key : keys) {
    if (const auto instance = space_.instances.find(key); instance != space_.instances.end()) {
      instance->second.watched.insert(session);
    }
  }
}

void WorkingSet::want_sessions_of(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!std::exchange(known(key).sessions_known, true)) missing.push_back(key);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kOpenedBy, Parameters().add_all(missing), [this](const Answer& answer) {
    std::vector<std::string> ids;
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      ids.push_back(row.next<std::string>());
      const auto opener = space_.instances.find(row.next<InstanceKey>());
      if (opener != space_.instances.end()) opener->second.opened.insert(ids.back());
    }
    want_sessions(ids);
    if (asked()) bring();
  });
  ask(sql::kWatchesOf, Parameters().add_all(missing), [this](const Answer& answer) { take_watches(answer); });
}

void WorkingSet::sessions_of(Instance& instance) {
  if (!known(instance.view.key).read) return;
  want_sessions_of({instance.view.key});
  if (asked()) bring();
}

// ---- workers and requests ------------------------------------------------------------------------

void WorkingSet::take_workers(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    rules::Worker worker;
    worker.key = row.next<WorkerKey>();
    asked_workers_.insert(worker.key);
    if (read_workers_.contains(worker.key)) continue;
    worker.draining = row.next<bool>();
    worker.superseded = row.next<bool>();
    worker.joined_at = row.next<CalendarTime>();
    worker.seen = row.next<BootTime>();
    auto& info = link_.workers[worker.key];
    if (info.node.empty() && !store::from_bytes(row.next<std::string>(), info)) {
      damaged("worker " + to_string(worker.key));
    }
    worker.info = info;
    read_workers_.emplace(worker.key, worker);
    space_.workers.emplace(worker.key, std::move(worker));
  }
}

void WorkingSet::want_worker(WorkerKey key) {
  if (knows_everything_ || space_.workers.contains(key) || !asked_workers_.insert(key).second) return;
  ask(sql::kWorker, Parameters(ns(), key), [this](const Answer& answer) { take_workers(answer); });
}

// What is known of it was true a moment ago; somebody may have superseded it since.
void WorkingSet::want_locked_worker(WorkerKey key) {
  space_.workers.erase(key);
  read_workers_.erase(key);
  ask(sql::kLockWorker, Parameters(ns(), key), [this](const Answer& answer) { take_workers(answer); });
}

void WorkingSet::worker(WorkerKey key) {
  want_worker(key);
  if (asked()) bring();
}

void WorkingSet::want_all_workers() {
  ask(sql::kAllWorkers, Parameters(ns()), [this](const Answer& answer) { take_workers(answer); });
}

void WorkingSet::node(const std::string& name) {
  std::vector<std::string> ids;
  ask(sql::kReserveNode, Parameters(ns(), name));
  ask(sql::kNode, Parameters(ns(), name), [this](const Answer& answer) { take_workers(answer); });
  ask(sql::kOwnedByNode, Parameters(ns(), name), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) ids.emplace_back(answer.bytes(i, 0));
  });
  bring();
  want_sessions(ids);
  if (asked()) bring();
}

void WorkingSet::want_requests(const std::set<RequestId>& ids) {
  std::vector<RequestId> missing;
  for (const RequestId id : ids) {
    if (asked_requests_.insert(id).second) missing.push_back(id);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kRequests, Parameters(ns()).add_all(missing), [this](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      const auto id = row.next<RequestId>();
      rules::Request request;
      request.at = row.next<BootTime>();
      request.answer = row.next<InstanceKey>();
      read_requests_.emplace(id, request);
      space_.requests.insert_or_assign(id, request);
    }
  });
}

void WorkingSet::request(RequestId id) {
  want_requests({id});
  if (asked()) bring();
}

void WorkingSet::want_custom_status(const std::vector<InstanceKey>& keys) {
  ask(sql::kCustomStatus, Parameters().add_all(keys),
      [this](const Answer& answer) { take_custom_status(answer); });
}

// ---- all of it -----------------------------------------------------------------------------------

void WorkingSet::want_everything() {
  const Parameters all(ns());
  ask(sql::kReadAllInstances, all, [this](const Answer& answer) {
    take_instances(answer);
    std::vector<InstanceKey> keys;
    for (const auto& [key, instance] : space_.instances) keys.push_back(key);
    want_custom_status(keys);
    ask(sql::kAllMessages, Parameters(ns()), [this](const Answer& a) { take_messages(a); });
    ask(sql::kAllTimers, Parameters(ns()), [this](const Answer& a) { take_timers(a); });
    ask(sql::kAllDelayed, Parameters(ns()), [this](const Answer& a) { take_delayed(a); });
    ask(sql::kAllWatches, Parameters(ns()), [this](const Answer& a) { take_watches(a); });
    ask(sql::kAllHistory, Parameters(ns()), [this](const Answer& a) {
      for (int i = 0; i < a.rows(); ++i) {
        Row row(a, i);
        auto& history = space_.instances.at(row.next<InstanceKey>()).history[row.next<ExecutionNumber>()];
        const auto event = row.next<EventId>();
        history.emplace(event, row.next<std::string>());
      }
    });
    ask(sql::kAllValues, Parameters(ns()), [this](const Answer& a) {
      for (int i = 0; i < a.rows(); ++i) {
        Row row(a, i);
        auto& values = space_.instances.at(row.next<InstanceKey>()).values;
        const auto name = row.next<std::string>();
        values.emplace(name, row.next<std::string>());
      }
    });
    std::vector<std::string> sessions;
    ask(sql::kSessionIds, Parameters(ns()), [&](const Answer& a) {
      for (int i = 0; i < a.rows(); ++i) sessions.emplace_back(a.bytes(i, 0));
    });
    bring();
    want_sessions(sessions);
    if (asked()) bring();
    ask(sql::kReadAllActivities, Parameters(ns()), [this](const Answer& a) { take_activities(a); });
    ask(sql::kAllCancels, Parameters(ns()), [this](const Answer& a) { take_cancels(a); });
    ask(sql::kAllEarly, Parameters(ns()), [this](const Answer& a) { take_early(a); });
    want_all_workers();
    bring();
    knows_everything_ = true;
  });
}

// ---- names ---------------------------------------------------------------------------------------

const Route& WorkingSet::route(std::int32_t number) {
  if (link_.names.routes.find(number) == nullptr) {
    link_.connection.queue(sql::kRoutes, Parameters(ns()));
    for (const Answer& answer : link_.connection.exchange()) {
      for (int i = 0; i < answer.rows(); ++i) {
        Row row(answer, i);
        const auto id = row.next<std::int32_t>();
        Route read;
        read.code.name = row.next<std::string>();
        read.code.version = row.next<std::string>();
        read.build = row.next<std::uint64_t>();
        link_.names.routes.add(id, std::move(read));
      }
    }
  }
  const Route* const found = link_.names.routes.find(number);
  if (found == nullptr) damaged("route " + std::to_string(number));
  return *found;
}

std::int32_t WorkingSet::route_number(const Route& route) {
  if (const auto known = link_.names.routes.find(route)) return *known;
  for (const auto& [number, added] : added_routes_) {
    if (added == route) return number;
  }
  std::int32_t number = 0;
  ask_now(sql::kInternRoute, Parameters(ns(), route.code.name, route.code.version, route.build),
          [&](const Answer& answer) { number = static_cast<std::int32_t>(answer.integer(0, 0)); });
  added_routes_.emplace_back(number, route);
  return number;
}

const Kind& WorkingSet::kind(std::int32_t number) {
  if (link_.names.kinds.find(number) == nullptr) {
    link_.connection.queue(sql::kKinds, Parameters(ns()));
    for (const Answer& answer : link_.connection.exchange()) {
      for (int i = 0; i < answer.rows(); ++i) {
        Row row(answer, i);
        const auto id = row.next<std::int32_t>();
        Kind read;
        read.queue = row.next<std::string>();
        read.name = row.next<std::string>();
        link_.names.kinds.add(id, std::move(read));
      }
    }
  }
  const Kind* const found = link_.names.kinds.find(number);
  if (found == nullptr) damaged("kind " + std::to_string(number));
  return *found;
}

std::int32_t WorkingSet::kind_number(const Kind& kind) {
  if (const auto known = link_.names.kinds.find(kind)) return *known;
  for (const auto& [number, added] : added_kinds_) {
    if (added == kind) return number;
  }
  std::int32_t number = 0;
  ask_now(sql::kInternKind, Parameters(ns(), kind.queue, kind.name),
          [&](const Answer& answer) { number = static_cast<std::int32_t>(answer.integer(0, 0)); });
  added_kinds_.emplace_back(number, kind);
  return number;
}

void WorkingSet::keep_names() {
  for (auto& [number, route] : std::exchange(added_routes_, {})) {
    link_.names.routes.add(number, std::move(route));
  }
  for (auto& [number, kind] : std::exchange(added_kinds_, {})) link_.names.kinds.add(number, std::move(kind));
}

// ---- numbers -------------------------------------------------------------------------------------

// As many as there will be new instances: numbers that nobody uses are lost.
void WorkingSet::want_keys_for(const std::set<std::string>& names) {
  want_instance_keys(static_cast<std::size_t>(
      std::ranges::count_if(names, [&](const std::string& name) { return !space_.keys.contains(name); })));
}

void WorkingSet::want_instance_keys(std::size_t count) {
  if (count == 0) return;
  ask(sql::kNextInstances, Parameters(static_cast<std::int32_t>(count)), [this](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      instance_keys_.push_back({static_cast<std::uint64_t>(answer.integer(i, 0))});
    }
  });
}

InstanceKey WorkingSet::next_instance() {
  if (instance_keys_.empty()) {
    want_instance_keys(1);
    bring();
  }
  const InstanceKey key = instance_keys_.front();
  instance_keys_.pop_front();
  return key;
}

void WorkingSet::number_next_messages(std::size_t count) {
  if (count == 0) return;
  ask_now(sql::kNextMessages, Parameters(static_cast<std::int32_t>(count)), [this](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      message_ids_.push_back({static_cast<std::uint64_t>(answer.integer(i, 0))});
    }
  });
}

MessageId WorkingSet::next_message() {
  if (message_ids_.empty()) return {kProvisional + ++made_messages_};
  const MessageId id = message_ids_.front();
  message_ids_.pop_front();
  return id;
}

WorkerKey WorkingSet::next_worker() { return {static_cast<std::uint64_t>(ask_number(sql::kNextWorker))}; }
Generation WorkingSet::next_generation() {
  return {static_cast<std::uint64_t>(ask_number(sql::kNextGeneration))};
}
std::uint64_t WorkingSet::next_delayed() { return kProvisional + ++made_delayed_; }

void WorkingSet::clear() {
  const BootTime next_sweep = space_.next_sweep;
  space_ = rules::Space{};
  space_.next_sweep = next_sweep;
  known_.clear();
  asked_instances_.clear();
  asked_names_.clear();
  names_.clear();
  asked_activities_.clear();
  read_activities_.clear();
  looked_at_.clear();
  asked_sessions_.clear();
  read_sessions_.clear();
  asked_watchers_.clear();
  asked_owned_.clear();
  asked_workers_.clear();
  read_workers_.clear();
  read_cancels_.clear();
  asked_cancels_.clear();
  asked_early_.clear();
  read_early_.clear();
  read_requests_.clear();
  asked_requests_.clear();
  asked_above_.reset();
}

}  // namespace holdfast::postgres_store
