#include "store.hpp"

#include "contract/namespaces.hpp"
#include "stores/rules/listing.hpp"
#include "stores/rules/sessions.hpp"
#include "stores/rules/views.hpp"

#include <algorithm>

namespace holdfast {

std::shared_ptr<MemoryDatabase> memory_database() { return std::make_shared<MemoryDatabase>(); }

std::shared_ptr<Store> memory(MemoryOptions options) {
  store::check_namespace(options.ns);
  return std::make_shared<memory_store::MemoryStore>(std::move(options));
}

namespace memory_store {

using rules::Instance;

MemoryStore::MemoryStore(MemoryOptions options)
    : ns_(std::move(options.ns)),
      database_(options.database ? std::move(options.database) : memory_database()),
      clock_(options.clock != nullptr ? *options.clock : real_clock()),
      faults_(options.faults),
      bus_(clock_) {
  const MutexLock lock(database_->mutex);
  if (!database_->began) database_->began = clock_.boot_now() - std::chrono::hours(1);
  namespace_ = &database_->namespaces[ns_];
  namespace_->buses.push_back(&bus_);
}

MemoryStore::~MemoryStore() {
  const MutexLock lock(database_->mutex);
  std::erase(namespace_->buses, &bus_);
}

std::string MemoryStore::description() const { return "memory (namespace " + ns_ + ")"; }

std::unique_ptr<Listener> MemoryStore::listen(WorkMask mask, WorkerKey worker) {
  return bus_.listen(mask, worker);
}

Transaction MemoryStore::begin_transaction() {
  database_->latest = std::max(database_->latest, BootTime(clock_.boot_now() - *database_->began));
  Transaction tx{.space = namespace_->space,
                 .rows = *namespace_,
                 .numbers = database_->counters,
                 .now = database_->latest,
                 .calendar = clock_.calendar_now()};
  rules::settle(tx);
  return tx;
}

void MemoryStore::publish(const News& news) {
  if (news.work.empty() && news.cancelled.empty() && news.instances.empty()) return;
  for (WakeBus* const bus : namespace_->buses) bus->publish(news);
}

Unexpected<StoreError> MemoryStore::unavailable(std::string_view point) {
  lapses_.clear();
  return rules::refuse(StoreError::Kind::unavailable,
                       "the answer of " + std::string(point) + " is not known");
}

// ---- workers -------------------------------------------------------------------------------------

StoreResult<WorkerKey> MemoryStore::join(const NewWorker& info) {
  return answer_one<WorkerKey>("memory.join", [&](Transaction& tx) { return rules::join(tx, info); });
}
StoreResult<void> MemoryStore::refresh(WorkerKey worker, bool draining) {
  return answer_one<void>("memory.refresh",
                          [=](Transaction& tx) { return rules::refresh(tx, worker, draining); });
}
StoreResult<void> MemoryStore::leave(WorkerKey worker) {
  return answer_one<void>("memory.leave", [=](Transaction& tx) { return rules::leave(tx, worker); });
}
StoreResult<std::vector<WorkerView>> MemoryStore::workers() {
  return answer_one<std::vector<WorkerView>>("memory.workers",
                                             [](Transaction& tx) { return rules::workers(tx); });
}

// ---- turns ---------------------------------------------------------------------------------------

StoreResult<FetchedTurns> MemoryStore::fetch_turns(const TurnRequest& request) {
  return answer_one<FetchedTurns>("memory.fetch_turns",
                                  [&](Transaction& tx) { return rules::fetch_turns(tx, request); });
}
std::vector<StoreResult<Committed>> MemoryStore::commit_turns(const CommitRequest& request,
                                                              std::span<const TurnCommit> commits) {
  return answer_each<Committed>(
      "memory.commit_turns", commits,
      [&](Transaction& tx, const TurnCommit& commit) { return rules::commit_turn(tx, request, commit); });
}
std::vector<StoreResult<void>> MemoryStore::release_turns(std::span<const TurnRelease> releases) {
  return answer_each<void>("memory.release_turns", releases, rules::release_turn);
}
std::vector<StoreResult<void>> MemoryStore::renew_turns(WorkerKey worker, Duration lease,
                                                        std::span<const TurnRenewal> turns) {
  return answer_each<void>("memory.renew_turns", turns, [=](Transaction& tx, const TurnRenewal& item) {
    return rules::renew_turn(tx, worker, lease, item);
  });
}

StoreResult<std::vector<Segment>> MemoryStore::read_history(InstanceKey key, ExecutionNumber execution,
                                                            EventId after, std::size_t max_bytes) {
  using Segments = std::vector<Segment>;
  return answer_one<Segments>("memory.read_history", [&](Transaction& tx) -> StoreResult<Segments> {
    const Instance* const instance = find_instance(tx, key);
    if (instance == nullptr) return rules::no_instance(key);
    Segments segments;
    const auto history = instance->history.find(execution);
    if (history == instance->history.end()) return segments;
    std::size_t bytes = 0;
    for (auto next = history->second.upper_bound(after); next != history->second.end(); ++next) {
      bytes += next->second.size();
      if (!segments.empty() && bytes > max_bytes) break;
      segments.push_back({.first_event = next->first, .bytes = next->second});
    }
    return segments;
  });
}
StoreResult<std::uint64_t> MemoryStore::wake_parked(const Code& code) {
  return answer_one<std::uint64_t>("memory.wake_parked",
                                   [&](Transaction& tx) { return rules::wake_parked(tx, code); });
}

// ---- activities ----------------------------------------------------------------------------------

StoreResult<FetchedActivities> MemoryStore::fetch_activities(const ActivityRequest& request) {
  return answer_one<FetchedActivities>("memory.fetch_activities",
                                       [&](Transaction& tx) { return rules::fetch_activities(tx, request); });
}
std::vector<StoreResult<void>> MemoryStore::finish_activities(std::span<const ActivityResult> results) {
  return answer_each<void>("memory.finish_activities", results, rules::finish_activity);
}
std::vector<StoreResult<void>> MemoryStore::renew_activities(WorkerKey worker, Duration lease,
                                                             std::span<const ActivityRenewal> activities) {
  return answer_each<void>("memory.renew_activities", activities,
                           [=](Transaction& tx, const ActivityRenewal& item) {
                             return rules::renew_activity(tx, worker, lease, item);
                           });
}
StoreResult<std::vector<CancelRecord>> MemoryStore::cancel_records(WorkerKey worker) {
  return answer_one<std::vector<CancelRecord>>(
      "memory.cancel_records", [=](Transaction& tx) { return rules::cancel_records(tx, worker); });
}
StoreResult<void> MemoryStore::acknowledge_cancels(std::span<const CancelAcknowledgement> cancels) {
  return answer_one<void>("memory.acknowledge_cancels", [=](Transaction& tx) -> StoreResult<void> {
    for (const CancelAcknowledgement& item : cancels) rules::acknowledge_cancel(tx, item);
    return {};
  });
}
StoreResult<std::vector<QueueDepth>> MemoryStore::queue_depths() {
  return answer_one<std::vector<QueueDepth>>("memory.queue_depths",
                                             [](Transaction& tx) { return rules::queue_depths(tx); });
}

// ---- sessions ------------------------------------------------------------------------------------

StoreResult<Acquired> MemoryStore::acquire_session(WorkerKey worker, const Abilities& abilities,
                                                   std::string_view id, const SessionPolicy& policy) {
  return answer_one<Acquired>("memory.acquire_session", [&](Transaction& tx) {
    return rules::acquire_session(tx, worker, abilities, id, policy);
  });
}
std::vector<StoreResult<void>> MemoryStore::renew_sessions(WorkerKey worker,
                                                           std::span<const SessionRenewal> holds) {
  return answer_each<void>("memory.renew_sessions", holds, [=](Transaction& tx, const SessionRenewal& item) {
    return rules::renew_session(tx, worker, item);
  });
}
std::vector<StoreResult<void>> MemoryStore::release_sessions(WorkerKey worker,
                                                             std::span<const SessionRelease> releases) {
  return answer_each<void>(
      "memory.release_sessions", releases,
      [=](Transaction& tx, const SessionRelease& item) { return rules::release_session(tx, worker, item); });
}
StoreResult<bool> MemoryStore::close_session(std::string_view id, SessionReason reason) {
  return answer_one<bool>("memory.close_session",
                          [=](Transaction& tx) { return rules::close_session(tx, id, reason); });
}
StoreResult<store::WishAnswer> MemoryStore::ask_for_session(std::string_view id,
                                                            const store::SessionWish& wish) {
  return answer_one<store::WishAnswer>("memory.ask_for_session",
                                       [&](Transaction& tx) { return rules::ask_for_session(tx, id, wish); });
}
StoreResult<std::vector<store::WantedSession>> MemoryStore::wanted_sessions(WorkerKey worker) {
  using Wanted = std::vector<store::WantedSession>;
  return answer_one<Wanted>("memory.wanted_sessions", [=](Transaction& tx) -> StoreResult<Wanted> {
    return rules::wanted_sessions(tx, worker);
  });
}
StoreResult<void> MemoryStore::acknowledge_ends(WorkerKey worker, std::span<const SessionHold> holds) {
  return answer_one<void>("memory.acknowledge_ends", [=](Transaction& tx) -> StoreResult<void> {
    for (const SessionHold& hold : holds) rules::acknowledge_end(tx, worker, hold);
    return {};
  });
}
StoreResult<bool> MemoryStore::discard_session_state(std::string_view id) {
  return answer_one<bool>("memory.discard_session_state",
                          [=](Transaction& tx) { return rules::discard_session_state(tx, id); });
}
StoreResult<void> MemoryStore::fail_session(WorkerKey worker, const SessionHold& hold, SessionReason reason) {
  return answer_one<void>("memory.fail_session",
                          [&](Transaction& tx) { return rules::fail_session(tx, worker, hold, reason); });
}
StoreResult<SessionView> MemoryStore::session(std::string_view id, Saved saved) {
  return answer_one<SessionView>("memory.session",
                                 [=](Transaction& tx) { return rules::session(tx, id, saved); });
}
StoreResult<std::vector<SessionView>> MemoryStore::sessions(const store::SessionFilter& filter) {
  using Views = std::vector<SessionView>;
  return answer_one<Views>("memory.sessions", [&](Transaction& tx) -> StoreResult<Views> {
    Views views;
    for (auto next = tx.space.sessions.upper_bound(filter.after);
         next != tx.space.sessions.end() && views.size() < filter.limit; ++next) {
      const rules::Session& session = next->second;
      if (takes(tx, filter, session)) views.push_back(view(tx, session, Saved::size));
    }
    return views;
  });
}
StoreResult<store::SessionCounts> MemoryStore::count_sessions() {
  return answer_one<store::SessionCounts>("memory.count_sessions", [](Transaction& tx) {
    store::SessionCounts counts;
    for (const auto& [id, session] : tx.space.sessions) {
      rules::count(tx, counts, state_of(tx, session), session.worker, 1);
    }
    return StoreResult<store::SessionCounts>(counts);
  });
}
StoreResult<std::vector<SessionLogEntry>> MemoryStore::session_log(std::string_view id, std::uint64_t after,
                                                                   std::size_t limit) {
  using Entries = std::vector<SessionLogEntry>;
  return answer_one<Entries>("memory.session_log", [=](Transaction& tx) -> StoreResult<Entries> {
    Entries entries;
    const auto& log = tx.space.session_log;
    for (auto next = std::ranges::upper_bound(log, after, {}, &SessionLogEntry::number);
         next != log.end() && entries.size() < limit; ++next) {
      if (id.empty() || next->session == id) entries.push_back(*next);
    }
    return entries;
  });
}

// ---- clients -------------------------------------------------------------------------------------

std::vector<StoreResult<StartAnswer>> MemoryStore::start(std::span<const StartRequest> requests) {
  return answer_each<StartAnswer>("memory.start", requests, rules::start);
}
std::vector<StoreResult<InstanceKey>> MemoryStore::send(std::span<const ClientMessage> messages) {
  return answer_each<InstanceKey>("memory.send", messages, rules::send);
}
std::vector<StoreResult<InstanceKey>> MemoryStore::set_suspended(std::span<const store::Suspension> wishes) {
  return answer_each<InstanceKey>("memory.set_suspended", wishes, rules::set_suspended);
}
StoreResult<InstanceView> MemoryStore::find(std::string_view instance) {
  return answer_one<InstanceView>("memory.find", [=](Transaction& tx) { return rules::find(tx, instance); });
}
StoreResult<std::vector<std::optional<InstanceView>>> MemoryStore::look(std::span<const InstanceKey> keys) {
  using Views = std::vector<std::optional<InstanceView>>;
  return answer_one<Views>("memory.look", [=](Transaction& tx) -> StoreResult<Views> {
    Views views;
    for (const InstanceKey key : keys) views.push_back(rules::look(tx, key));
    return views;
  });
}
StoreResult<InstanceDetail> MemoryStore::describe(std::string_view instance) {
  return answer_one<InstanceDetail>("memory.describe",
                                    [=](Transaction& tx) { return rules::describe(tx, instance); });
}
StoreResult<InstancePage> MemoryStore::list(const InstanceFilter& filter) {
  return answer_one<InstancePage>("memory.list", [&](Transaction& tx) -> StoreResult<InstancePage> {
    const auto& instances = std::as_const(tx.space.instances);
    if (!filter.order.attribute.empty()) {
      std::vector<const InstanceView*> all;
      for (const auto& [key, instance] : instances) {
        if (rules::matches(instance.view, filter)) all.push_back(&instance.view);
      }
      return rules::page_of(std::move(all), filter);
    }
    InstancePage page;
    auto next = filter.after.key == InstanceKey{} ? instances.end() : instances.lower_bound(filter.after.key);
    while (next != instances.begin()) {
      const InstanceView& view = (--next)->second.view;
      if (rules::matches(view, filter) && !rules::add(page, view, filter)) break;
    }
    return page;
  });
}
StoreResult<store::InstanceCount> MemoryStore::count(const InstanceFilter& filter) {
  return answer_one<store::InstanceCount>("memory.count", [&](Transaction& tx) -> StoreResult<InstanceCount> {
    std::uint64_t count = 0;
    for (const auto& [key, instance] : std::as_const(tx.space.instances))
      count += rules::matches(instance.view, filter) ? 1U : 0U;
    return rules::counted(count, filter);
  });
}
StoreResult<store::StatusCounts> MemoryStore::count_by_status() {
  return answer_one<store::StatusCounts>(
      "memory.count_by_status",
      [](Transaction& tx) -> StoreResult<StatusCounts> { return rules::count_by_status(tx); });
}
StoreResult<std::vector<ExecutionView>> MemoryStore::executions(InstanceKey key) {
  return answer_one<std::vector<ExecutionView>>("memory.executions",
                                                [=](Transaction& tx) { return rules::executions(tx, key); });
}
StoreResult<std::optional<std::string>> MemoryStore::value(std::string_view instance, std::string_view key) {
  return answer_one<std::optional<std::string>>(
      "memory.value", [=](Transaction& tx) { return rules::value(tx, instance, key); });
}
std::vector<StoreResult<void>> MemoryStore::delete_instances(std::span<const store::Deletion> deletions) {
  return answer_each<void>("memory.delete_instances", deletions, rules::delete_instance);
}
namespace {

template <class Count>
StoreResult<Count> prune(const StoreResult<rules::Pruned>& pruned) {
  if (!pruned) return Unexpected(pruned.error());
  const auto goes = [&](const auto& entry) {
    return entry.first >= pruned->first && entry.first < pruned->end;
  };
  return static_cast<Count>(std::erase_if(pruned->instance->history, goes));
}

}  // namespace

StoreResult<std::uint64_t> MemoryStore::prune_executions(std::string_view instance, std::uint64_t keep) {
  return answer_one<std::uint64_t>("memory.prune_executions", [=](Transaction& tx) {
    return prune<std::uint64_t>(rules::to_prune(tx, instance, keep));
  });
}
StoreResult<bool> MemoryStore::prune_execution(std::string_view instance, ExecutionNumber execution) {
  return answer_one<bool>("memory.prune_execution", [=](Transaction& tx) {
    return prune<bool>(rules::to_prune(tx, instance, execution));
  });
}
StoreResult<std::vector<SetAsideRow>> MemoryStore::set_aside(std::uint64_t after, std::size_t limit) {
  using Rows = std::vector<SetAsideRow>;
  return answer_one<Rows>("memory.set_aside", [=](Transaction& tx) -> StoreResult<Rows> {
    Rows rows;
    for (const SetAsideRow& row : tx.space.set_aside) {
      if (row.number > after && rows.size() < limit) rows.push_back(row);
    }
    return rows;
  });
}

// ---- questions -----------------------------------------------------------------------------------

// The mutex is held by whoever calls these.
std::vector<StoreResult<void>> MemoryStore::ask(std::span<const store::Ask> asks) {
  return answer_each<void>("memory.ask", asks, [this](Transaction& tx, const store::Ask& item) {
    return rules::ask(namespace_->asks, tx.now, item, tx.news);
  });
}
StoreResult<std::vector<store::Ask>> MemoryStore::fetch_asks(const store::AskRequest& request) {
  using Fetched = std::vector<store::Ask>;
  return answer_one<Fetched>("memory.fetch_asks", [&](Transaction& tx) -> StoreResult<Fetched> {
    return rules::fetch_asks(namespace_->asks, tx.now, request);
  });
}
std::vector<StoreResult<void>> MemoryStore::answer(std::span<const store::AskAnswer> answers) {
  return answer_each<void>("memory.answer", answers, [this](Transaction& tx, const store::AskAnswer& item) {
    return rules::answer(namespace_->asks, tx.now, item, tx.news);
  });
}
StoreResult<std::vector<store::AskAnswer>> MemoryStore::take_answers(std::span<const store::AskId> asks) {
  using Answers = std::vector<store::AskAnswer>;
  return answer_one<Answers>("memory.take_answers", [&](Transaction& tx) -> StoreResult<Answers> {
    return rules::take_answers(namespace_->asks, tx.now, asks);
  });
}

// ---- keeping order -------------------------------------------------------------------------------

StoreResult<Swept> MemoryStore::sweep(const SweepRequest& request) {
  // answer_one() holds the mutex.
  const auto sweep = [&](Transaction& tx) HOLDFAST_UNCHECKED { return rules::sweep(tx, request, lapses_); };
  return answer_one<Swept>("memory.sweep", sweep);
}
StoreResult<StoreState> MemoryStore::state() {
  return answer_one<StoreState>("memory.state", [this](Transaction& tx) {
    StoreState state = rules::state(tx);
    state.asks = rules::view(namespace_->asks, tx.now);
    return StoreResult<StoreState>(std::move(state));
  });
}

}  // namespace memory_store
}  // namespace holdfast
