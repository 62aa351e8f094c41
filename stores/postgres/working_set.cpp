#include "working_set.hpp"

#include "base/version_ranges.hpp"
#include "contract/rows.hpp"
#include "statements.hpp"
#include "stores/rules/setting_aside.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::postgres_store {

using rules::Session;
using store::ActivityId;

WorkingSet::WorkingSet(Link& link, Access access) : link_(link), access_(access) {}

void WorkingSet::begin(const Statement& how, TimeSource time) {
  time_ = std::move(time);
  ask(how, Parameters());
}

void WorkingSet::set_time(BootTime now, CalendarTime calendar, BootTime next_sweep) {
  space_.next_sweep = next_sweep;
  tx_.emplace(
      rules::Transaction{.space = space_, .rows = *this, .numbers = *this, .now = now, .calendar = calendar});
}

// ---- asking --------------------------------------------------------------------------------------

void WorkingSet::fail_if_told(const char* point) {
  if (fault_at(link_.faults, point) != Fault::none) throw InjectedFault{};
}

void WorkingSet::ask(const Statement& statement, const Parameters& parameters, Take take) {
  fail_if_told(statement.name);
  queue(statement, parameters, std::move(take));
}

void WorkingSet::commit() { queue(sql::kCommit, Parameters(), {}); }

void WorkingSet::after_commit(const Statement& statement, const Parameters& parameters) {
  queue(statement, parameters, {});
  ++optional_;
}

void WorkingSet::queue(const Statement& statement, const Parameters& parameters, Take take) {
  link_.connection.queue(statement, parameters);
  takes_.push_back(std::move(take));
}

// Once for each transaction.
void WorkingSet::ask_time() {
  if (tx_ || time_at_) return;
  time_at_ = takes_.size();
  ask(sql::kTime, Parameters());
}

void WorkingSet::bring() {
  ask_time();
  const std::vector<Take> takes = std::exchange(takes_, {});
  const std::vector<Answer> answers = link_.connection.exchange(std::exchange(optional_, 0));
  if (const auto time = std::exchange(time_at_, {})) time_.read(answers[*time]);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (takes[i]) takes[i](answers[i]);
  }
  place_what_came();
}

void WorkingSet::bring_last() {
  ask_time();
  commit();
  bring();
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

// Sessions first, with their activities, which are placed beside their session.
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
    rules::Activity& activity = space_.activities.at(id);
    settle_and_place(tx(), activity);
  }
  for (const InstanceKey key : std::exchange(came_instances_, {})) {
    settle_and_place(tx(), space_.instances.at(key));
  }
}

void Needs::add_locks(const Needs& more) {
  reserved.insert(more.reserved.begin(), more.reserved.end());
  names.insert(more.names.begin(), more.names.end());
  instances.insert(more.instances.begin(), more.instances.end());
  sessions.insert(more.sessions.begin(), more.sessions.end());
  activities.insert(more.activities.begin(), more.activities.end());
}

void WorkingSet::bring_needed(bool waits) {
  const Needs needs = std::exchange(needs_, {});
  const auto list = [](const auto& set) { return std::vector(set.begin(), set.end()); };
  const std::size_t asked_before = takes_.size();
  use_kept(needs);
  for (const WorkerKey worker : needs.workers) want_worker(worker);
  want_names(list(needs.reserved));
  std::vector<ActivityId> activities = list(needs.activities);
  std::erase_if(activities, [this](const ActivityId& id) { return is_known_to_be_in_no_session(id); });
  std::vector<InstanceKey> ending = list(needs.ending);
  std::erase_if(ending, [this](InstanceKey key) { return has_nothing_in_sessions(key); });
  want_sessions(list(needs.sessions), activities, ending);
  std::vector<std::string> names = list(needs.names);
  names.insert(names.end(), needs.reserved.begin(), needs.reserved.end());
  want_instances(list(needs.instances), names);
  want_early(list(needs.early));
  want_unread(needs.unread);
  std::set<InstanceKey> timers = needs.timers;
  timers.insert(needs.ending.begin(), needs.ending.end());
  want_timers(list(timers));
  want_sessions_of(list(needs.ending));
  want_activities(list(needs.activities), list(needs.ending));
  want_requests(needs.requests);
  if (needs.urgent) want_waiting_above(0);
  const bool reads = takes_.size() > asked_before;
  const bool relies = relies_on_nothing_urgent_ || !guarded_workers_.empty();
  if (!reads && (!waits || !came_instances_.empty()) && time_.guess && time_.guess()) {
    guard();
    return place_what_came();
  }
  if (relies) guard();
  bring();
  want_keys_for(needs.started);
  if (asked()) bring();
}

// ---- workers and requests ------------------------------------------------------------------------

// Workers come and go for as long as this process runs: what is known of them is forgotten now and then.
void WorkingSet::take_workers(const Answer& answer, bool locked) {
  constexpr std::size_t kMostKnown = 1024;
  if (link_.workers.size() > kMostKnown) link_.workers.clear();
  for (int i = 0; i < answer.rows(); ++i) {
    ColumnReader row(answer, i);
    rules::Worker worker;
    worker.key = row.next<WorkerKey>();
    asked_workers_.insert(worker.key);
    if (locked && locked_workers_.insert(worker.key).second) forget_worker(worker.key);
    if (read_workers_.contains(worker.key)) continue;
    auto bytes = row.next<std::string>();
    rules::worker_columns(worker, row);
    auto& info = link_.workers[worker.key];
    if (info.node.empty() && !store::from_bytes(bytes, info)) {
      info = {};
      if (writes() && damaged_workers_.insert(worker.key).second)
        rules::worker_is_damaged(tx(), worker.key, std::move(bytes));
      continue;
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
void WorkingSet::forget_worker(WorkerKey key) {
  space_.workers.erase(key);
  read_workers_.erase(key);
}

void WorkingSet::want_locked_worker(WorkerKey key) {
  if (locked_workers_.contains(key)) return;
  forget_worker(key);
  asked_workers_.insert(key);
  ask(sql::kLockWorker, Parameters(ns(), key), [this](const Answer& answer) { take_workers(answer, true); });
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
  ask(sql::kNode, Parameters(ns(), name), [this](const Answer& answer) { take_workers(answer, true); });
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
      const auto at = row.next<BootTime>();
      const auto key = row.next<InstanceKey>();
      read_requests_.emplace(id, space_.requests.insert_or_assign(id, {.answer = key, .at = at}));
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

const Route* WorkingSet::route(std::int32_t number) {
  if (link_.names.routes.find(number) == nullptr) read_routes();
  return link_.names.routes.find(number);
}

void WorkingSet::read_routes() {
  link_.connection.queue(sql::kRoutes, Parameters(ns()));
  for (const Answer& answer : link_.connection.exchange()) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      const auto id = row.next<std::int32_t>();
      Route read;
      read.code.name = row.next<std::string>();
      read.code.version = row.next<std::string>();
      read.build = row.next<std::uint64_t>();
      read.terminating = row.next<bool>();
      link_.names.routes.add(id, std::move(read));
    }
  }
}

std::vector<Route> WorkingSet::ranges() const {
  std::vector<Route> found;
  for (const auto& [number, route] : link_.names.routes.all()) {
    if (holdfast::detail::is_range(route.code.version)) found.push_back(route);
  }
  return found;
}

void WorkingSet::learn_ranges(std::size_t count) {
  if (ranges().size() != count) read_routes();
}

std::int32_t WorkingSet::route_number(const Route& route) {
  if (const auto known = link_.names.routes.find(route)) return *known;
  for (const auto& [number, added] : added_routes_) {
    if (added == route) return number;
  }
  std::int32_t number = 0;
  ask_now(sql::kInternRoute,
          Parameters(ns(), route.code.name, route.code.version, route.build, route.terminating),
          [&](const Answer& answer) { number = static_cast<std::int32_t>(answer.integer(0, 0)); });
  added_routes_.emplace_back(number, route);
  return number;
}

const Kind* WorkingSet::kind(std::int32_t number) {
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
  return link_.names.kinds.find(number);
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
  const auto take = [this](InstanceKey key) {
    instance_keys_.push_back(key);
    taken_keys_.push_back(key);
  };
  for (; count > 0 && !link_.spare_keys.empty(); --count) {
    take(link_.spare_keys.front());
    link_.spare_keys.pop_front();
  }
  if (count == 0) return;
  ask(sql::kNextInstances, Parameters(static_cast<std::int32_t>(count)), [take](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) take({static_cast<std::uint64_t>(answer.integer(i, 0))});
  });
}

InstanceKey WorkingSet::next_instance() {
  if (instance_keys_.empty()) {
    want_instance_keys(1);
    if (asked()) bring();
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
  stash();
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
  asked_stopping_.clear();
  held_elsewhere_.clear();
  asked_workers_.clear();
  locked_workers_.clear();
  read_workers_.clear();
  damaged_sessions_.clear();
  damaged_workers_.clear();
  read_cancels_.clear();
  asked_cancels_.clear();
  asked_early_.clear();
  read_early_.clear();
  read_requests_.clear();
  asked_requests_.clear();
  asked_above_.reset();
  found_urgent_ = false;
  relies_on_nothing_urgent_ = false;
  guarded_workers_.clear();
  guarded_activities_.clear();
}

}  // namespace holdfast::postgres_store
