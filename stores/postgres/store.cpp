#include "store.hpp"

#include "statements.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::postgres_store {

namespace {

/// Only tests have a clock of their own.
const Clock* clock_of_tests(const Clock* clock) { return clock == &real_clock() ? nullptr : clock; }

}  // namespace

PostgresStore::PostgresStore(std::string_view uri, PostgresOptions options)
    : options_(std::move(options)),
      later_(options_.logger),
      setup_(connection_setup(uri, options_)),
      ns_number_(open_schema(setup_, options_, migrations())),
      lease_clock_(clock_of_tests(options_.clock)) {
  if (options_.clock == nullptr) options_.clock = &real_clock();
  wakes_ = std::make_unique<Wakes>(setup_, ns_number_, *options_.clock, options_.logger);
}

PostgresStore::~PostgresStore() = default;

std::string PostgresStore::description() const {
  return "postgresql schema " + setup_.schema +
         " (synchronous_commit=" + (options_.wait_for_disk ? "on" : "off") + ")";
}

template <class Answer, class Call, class Needs>
StoreResult<Answer> PostgresStore::write(Caller caller, Call call, Needs needs, Order order) {
  store::OneAnswer<WorkingSet, Answer, Call, Needs> job(std::move(call), order, std::move(needs));
  if (caller == Caller::worker) job.wait_briefly();
  run(job);
  return job.take();
}

template <class Answer, class Asked, class Call, class Needs>
std::vector<StoreResult<Answer>> PostgresStore::write_each(Caller caller, std::span<const Asked> items,
                                                           Order order, Call call, Needs needs) {
  store::ManyAnswers<WorkingSet, Answer, Asked, Call, Needs> job(items, std::move(call), order,
                                                                 std::move(needs));
  if (caller == Caller::worker) job.wait_briefly();
  run(job);
  return job.take();
}

template <class Answer, class Call>
StoreResult<Answer> PostgresStore::read(Call call) {
  std::unique_ptr<Link> link;
  try {
    link = take_reader();
  } catch (const SqlError& error) {
    return Unexpected(unavailable(error.what()));
  }
  try {
    link->renew_plans();
    WorkingSet set(*link, Access::reads);
    begin(set, sql::kBeginRead, rules::kNever, false);
    StoreResult<Answer> answer = call(set);
    give_back(std::move(link));
    later_.say();
    return answer;
  } catch (const InjectedFault&) {
    give_back(std::move(link));
    return Unexpected(unavailable("an injected fault"));
  } catch (const SqlError& error) {
    give_back(std::move(link));
    return Unexpected(error.is_damage() ? refused(error) : unavailable(error.what()));
  } catch (const std::exception& error) {
    give_back(std::move(link));
    return Unexpected(unavailable(error.what()));
  }
}

std::unique_ptr<Link> PostgresStore::take_reader() {
  {
    MutexLock lock(readers_mutex_);
    const std::size_t most = std::max<std::size_t>(options_.readers, 1);
    const auto is_free = [&]() HOLDFAST_REQUIRES(readers_mutex_) { return readers_out_ < most; };
    if (!reader_free_.wait_for(lock, options_.timeout, is_free)) {
      throw SqlError("", "no connection became free: PostgresOptions::readers says how many there are");
    }
    ++readers_out_;
    if (!readers_.empty()) {
      std::unique_ptr<Link> link = std::move(readers_.back());
      readers_.pop_back();
      return link;
    }
  }
  try {
    return make_link();
  } catch (...) {
    give_back({});
    throw;
  }
}

void PostgresStore::give_back(std::unique_ptr<Link> link) {
  const bool usable = link && link->connection.rollback();
  const MutexLock lock(readers_mutex_);
  if (usable) readers_.push_back(std::move(link));
  --readers_out_;
  reader_free_.notify_one();
}

// ---- workers -------------------------------------------------------------------------------------

StoreResult<WorkerKey> PostgresStore::join(const store::NewWorker& info) {
  return write<WorkerKey>(Caller::client, [&](WorkingSet& set) { return rules::join(set.tx(), info); });
}
StoreResult<void> PostgresStore::refresh(WorkerKey worker, bool draining) {
  return write<void>(Caller::worker, [=](WorkingSet& set) {
    set.want_locked_worker(worker);
    if (set.asked()) set.bring();
    return rules::refresh(set.tx(), worker, draining);
  });
}
StoreResult<void> PostgresStore::leave(WorkerKey worker) {
  return write<void>(Caller::client, [=](WorkingSet& set) {
    set.want_locked_worker(worker);
    if (set.asked()) set.bring();
    return rules::leave(set.tx(), worker);
  });
}
StoreResult<std::vector<store::WorkerView>> PostgresStore::workers() {
  return read<std::vector<store::WorkerView>>([](WorkingSet& set) { return view_workers(set); });
}

// ---- turns ---------------------------------------------------------------------------------------

StoreResult<store::FetchedTurns> PostgresStore::fetch_turns(const store::TurnRequest& request) {
  return write<store::FetchedTurns>(
      Caller::worker,
      [&](WorkingSet& set) { return postgres_store::fetch_turns(set, request, turns_again_); },
      store::NeedsNothing{}, Order::last);
}

std::vector<StoreResult<store::Committed>> PostgresStore::commit_turns(
    const store::CommitRequest& request, std::span<const store::TurnCommit> commits) {
  return write_each<store::Committed>(
      Caller::worker, commits, Order::middle,
      [&](WorkingSet& set, const store::TurnCommit& commit) {
        return rules::commit_turn(set.tx(), request, commit);
      },
      [&](WorkingSet& set, const store::TurnCommit& commit) { want_for_commit(set, request, commit); });
}

std::vector<StoreResult<void>> PostgresStore::release_turns(std::span<const store::TurnRelease> releases) {
  return write_each<void>(
      Caller::worker, releases, Order::middle,
      [](WorkingSet& set, const store::TurnRelease& item) { return rules::release_turn(set.tx(), item); },
      [](WorkingSet& set, const store::TurnRelease& item) {
        set.need().instances.insert(item.key);
        set.need().unread.emplace(item.key, MessageId{});
      });
}

StoreResult<std::vector<store::Segment>> PostgresStore::read_history(InstanceKey key,
                                                                     ExecutionNumber execution, EventId after,
                                                                     std::size_t max_bytes) {
  return read<std::vector<store::Segment>>(
      [=](WorkingSet& set) { return postgres_store::read_history(set, key, execution, after, max_bytes); });
}

StoreResult<std::uint64_t> PostgresStore::wake_parked(const store::Code& code) {
  std::uint64_t woken = 0;
  for (std::optional<InstanceKey> after = InstanceKey{}; after;) {
    const auto slice = write<WokenSlice>(
        Caller::worker, [&](WorkingSet& set) { return postgres_store::wake_parked(set, code, *after); },
        store::NeedsNothing{}, Order::last);
    if (!slice) return Unexpected(slice.error());
    woken += slice->woken;
    after = slice->last;
  }
  return woken;
}

// ---- activities ----------------------------------------------------------------------------------

StoreResult<store::FetchedActivities> PostgresStore::fetch_activities(const store::ActivityRequest& request) {
  return write<store::FetchedActivities>(
      Caller::worker,
      [&](WorkingSet& set) { return postgres_store::fetch_activities(set, request, activities_again_); },
      store::NeedsNothing{}, Order::last);
}

std::vector<StoreResult<void>> PostgresStore::finish_activities(
    std::span<const store::ActivityResult> results) {
  return write_each<void>(
      Caller::worker, results, Order::middle,
      [](WorkingSet& set, const store::ActivityResult& item) {
        return rules::finish_activity(set.tx(), item);
      },
      want_for_finish);
}

std::vector<StoreResult<void>> PostgresStore::renew_turns(WorkerKey worker, Duration lease,
                                                          std::span<const store::TurnRenewal> turns) {
  return write_each<void>(
      Caller::worker, turns, Order::first,
      [=](WorkingSet& set, const store::TurnRenewal& item) {
        return rules::renew_turn(set.tx(), worker, lease, item);
      },
      [=](WorkingSet& set, const store::TurnRenewal& item) {
        set.need().workers.insert(worker);
        set.need().instances.insert(item.key);
      });
}

std::vector<StoreResult<void>> PostgresStore::renew_activities(
    WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) {
  return write_each<void>(
      Caller::worker, activities, Order::first,
      [=](WorkingSet& set, const store::ActivityRenewal& item) {
        return rules::renew_activity(set.tx(), worker, lease, item);
      },
      [=](WorkingSet& set, const store::ActivityRenewal& item) {
        set.need().workers.insert(worker);
        set.need().activities.insert(item.id);
      });
}

StoreResult<std::vector<store::CancelRecord>> PostgresStore::cancel_records(WorkerKey worker) {
  return read<std::vector<store::CancelRecord>>([=](WorkingSet& set) { return view_cancels(set, worker); });
}

StoreResult<void> PostgresStore::acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) {
  return write<void>(Caller::worker, [=](WorkingSet& set) -> StoreResult<void> {
    for (const store::CancelAcknowledgement& item : cancels) rules::acknowledge_cancel(set.tx(), item);
    return {};
  });
}

StoreResult<std::vector<store::QueueDepth>> PostgresStore::queue_depths() {
  return read<std::vector<store::QueueDepth>>([](WorkingSet& set) { return view_queues(set); });
}

// ---- sessions ------------------------------------------------------------------------------------

StoreResult<store::Acquired> PostgresStore::acquire_session(WorkerKey worker,
                                                            const store::Abilities& abilities,
                                                            std::string_view id,
                                                            const store::SessionPolicy& policy) {
  return write<store::Acquired>(Caller::client, [&](WorkingSet& set) {
    set.want_locked_worker(worker);
    if (set.asked()) set.bring();
    return rules::acquire_session(set.tx(), worker, abilities, id, policy);
  });
}

std::vector<StoreResult<void>> PostgresStore::renew_sessions(WorkerKey worker,
                                                             std::span<const store::SessionRenewal> holds) {
  return write_each<void>(
      Caller::worker, holds, Order::first,
      [=](WorkingSet& set, const store::SessionRenewal& item) {
        return rules::renew_session(set.tx(), worker, item);
      },
      [=](WorkingSet& set, const store::SessionRenewal& item) {
        set.need().workers.insert(worker);
        set.need().sessions.insert(item.hold.id);
      });
}

std::vector<StoreResult<void>> PostgresStore::release_sessions(
    WorkerKey worker, std::span<const store::SessionRelease> releases) {
  return write_each<void>(
      Caller::worker, releases, Order::middle,
      [=](WorkingSet& set, const store::SessionRelease& item) {
        if (item.reason == store::SessionReason::displaced) bring_next_in_line(set, worker);
        return rules::release_session(set.tx(), worker, item);
      },
      [=](WorkingSet& set, const store::SessionRelease& item) {
        set.need().workers.insert(worker);
        set.need().sessions.insert(item.hold.id);
      });
}

StoreResult<bool> PostgresStore::close_session(std::string_view id, store::SessionReason reason) {
  return write<bool>(
      Caller::client, [=](WorkingSet& set) { return rules::close_session(set.tx(), id, reason); },
      [=](WorkingSet& set) { set.need().sessions.emplace(id); });
}

StoreResult<store::WishAnswer> PostgresStore::ask_for_session(std::string_view id,
                                                              const store::SessionWish& wish) {
  return write<store::WishAnswer>(
      Caller::client,
      [&](WorkingSet& set) {
        if (!wish.to.empty()) {
          set.want_all_workers();
          set.bring();
        }
        return rules::ask_for_session(set.tx(), id, wish);
      },
      [=](WorkingSet& set) { set.need().sessions.emplace(id); });
}

StoreResult<std::vector<store::WantedSession>> PostgresStore::wanted_sessions(WorkerKey worker) {
  return read<std::vector<store::WantedSession>>(
      [=](WorkingSet& set) { return postgres_store::wanted_sessions(set, worker); });
}

StoreResult<void> PostgresStore::acknowledge_ends(WorkerKey worker,
                                                  std::span<const store::SessionHold> holds) {
  return write<void>(
      Caller::worker,
      [=](WorkingSet& set) -> StoreResult<void> {
        for (const store::SessionHold& hold : holds) rules::acknowledge_end(set.tx(), worker, hold);
        return {};
      },
      [=](WorkingSet& set) {
        for (const store::SessionHold& hold : holds) set.need().sessions.insert(hold.id);
      });
}

StoreResult<bool> PostgresStore::discard_session_state(std::string_view id) {
  return write<bool>(
      Caller::client, [=](WorkingSet& set) { return rules::discard_session_state(set.tx(), id); },
      [=](WorkingSet& set) { set.need().sessions.emplace(id); });
}

StoreResult<void> PostgresStore::fail_session(WorkerKey worker, const store::SessionHold& hold,
                                              store::SessionReason reason) {
  return write<void>(
      Caller::worker, [&](WorkingSet& set) { return rules::fail_session(set.tx(), worker, hold, reason); },
      [&](WorkingSet& set) { set.need().sessions.insert(hold.id); });
}

StoreResult<store::SessionView> PostgresStore::session(std::string_view id, store::Saved saved) {
  return read<store::SessionView>([=](WorkingSet& set) { return rules::session(set.tx(), id, saved); });
}

StoreResult<std::vector<store::SessionView>> PostgresStore::sessions(const store::SessionFilter& filter) {
  return read<std::vector<store::SessionView>>([&](WorkingSet& set) { return view_sessions(set, filter); });
}

StoreResult<store::SessionCounts> PostgresStore::count_sessions() {
  return read<store::SessionCounts>([](WorkingSet& set) { return postgres_store::count_sessions(set); });
}

StoreResult<std::vector<store::SessionLogEntry>> PostgresStore::session_log(std::string_view id,
                                                                            std::uint64_t after,
                                                                            std::size_t limit) {
  return read<std::vector<store::SessionLogEntry>>(
      [=](WorkingSet& set) { return view_session_log(set, id, after, limit); });
}

// ---- clients -------------------------------------------------------------------------------------

std::vector<StoreResult<store::StartAnswer>> PostgresStore::start(
    std::span<const store::StartRequest> requests) {
  return write_each<store::StartAnswer>(
      Caller::client, requests, Order::middle,
      [](WorkingSet& set, const store::StartRequest& request) { return rules::start(set.tx(), request); },
      want_for_start);
}

std::vector<StoreResult<InstanceKey>> PostgresStore::send(std::span<const store::ClientMessage> messages) {
  return write_each<InstanceKey>(
      Caller::client, messages, Order::middle,
      [](WorkingSet& set, const store::ClientMessage& message) { return rules::send(set.tx(), message); },
      want_for_send);
}

std::vector<StoreResult<InstanceKey>> PostgresStore::set_suspended(
    std::span<const store::Suspension> wishes) {
  return write_each<InstanceKey>(
      Caller::client, wishes, Order::middle,
      [](WorkingSet& set, const store::Suspension& wish) { return rules::set_suspended(set.tx(), wish); },
      [](WorkingSet& set, const store::Suspension& wish) {
        set.need().names.insert(wish.instance);
        if (!wish.request.empty()) set.need().requests.insert(wish.request);
      });
}

StoreResult<store::InstanceView> PostgresStore::find(std::string_view instance) {
  return read<store::InstanceView>([=](WorkingSet& set) { return postgres_store::find(set, instance); });
}

StoreResult<std::vector<std::optional<store::InstanceView>>> PostgresStore::look(
    std::span<const InstanceKey> keys) {
  return read<std::vector<std::optional<store::InstanceView>>>(
      [=](WorkingSet& set) { return postgres_store::look(set, keys); });
}

StoreResult<store::InstanceDetail> PostgresStore::describe(std::string_view instance) {
  return read<store::InstanceDetail>(
      [=](WorkingSet& set) { return postgres_store::describe(set, instance); });
}

StoreResult<store::InstancePage> PostgresStore::list(const store::InstanceFilter& filter) {
  return read<store::InstancePage>([&](WorkingSet& set) { return postgres_store::list(set, filter); });
}

StoreResult<store::InstanceCount> PostgresStore::count(const store::InstanceFilter& filter) {
  return read<store::InstanceCount>([&](WorkingSet& set) { return postgres_store::count(set, filter); });
}

StoreResult<store::StatusCounts> PostgresStore::count_by_status() {
  return read<store::StatusCounts>([](WorkingSet& set) { return postgres_store::count_by_status(set); });
}

StoreResult<std::vector<store::ExecutionView>> PostgresStore::executions(InstanceKey key) {
  return read<std::vector<store::ExecutionView>>(
      [=](WorkingSet& set) { return postgres_store::executions(set, key); });
}

StoreResult<std::optional<std::string>> PostgresStore::value(std::string_view instance,
                                                             std::string_view key) {
  return read<std::optional<std::string>>(
      [=](WorkingSet& set) { return rules::value(set.tx(), instance, key); });
}

std::vector<StoreResult<void>> PostgresStore::delete_instances(std::span<const store::Deletion> deletions) {
  return write_each<void>(
      Caller::client, deletions, Order::middle,
      [](WorkingSet& set, const store::Deletion& deletion) {
        return rules::delete_instance(set.tx(), deletion);
      },
      [](WorkingSet& set, const store::Deletion& deletion) { set.need().names.insert(deletion.instance); });
}

StoreResult<std::uint64_t> PostgresStore::prune_executions(std::string_view instance, std::uint64_t keep) {
  return write<std::uint64_t>(
      Caller::client, [=](WorkingSet& set) { return postgres_store::prune_executions(set, instance, keep); },
      [=](WorkingSet& set) { set.need().names.emplace(instance); });
}

StoreResult<bool> PostgresStore::prune_execution(std::string_view instance, ExecutionNumber execution) {
  return write<bool>(
      Caller::client,
      [=](WorkingSet& set) { return postgres_store::prune_execution(set, instance, execution); },
      [=](WorkingSet& set) { set.need().names.emplace(instance); });
}

StoreResult<std::vector<store::SetAsideRow>> PostgresStore::set_aside(std::uint64_t after,
                                                                      std::size_t limit) {
  return read<std::vector<store::SetAsideRow>>(
      [=](WorkingSet& set) { return view_set_aside(set, after, limit); });
}

// ---- questions -----------------------------------------------------------------------------------

std::vector<StoreResult<void>> PostgresStore::ask(std::span<const store::Ask> asks) {
  return write_each<void>(
      Caller::client, asks, Order::first,
      [](WorkingSet& set, const store::Ask& item) {
        AskRows asked(set, Access::writes);
        auto answer = rules::ask(asked.rows(), set.tx().now, item, set.tx().news);
        asked.write_back();
        return answer;
      },
      store::NeedsNothing{});
}

// Those who look now and then find nothing, as a rule, and lock nothing then.
StoreResult<std::vector<store::Ask>> PostgresStore::fetch_asks(const store::AskRequest& request) {
  using Fetched = std::vector<store::Ask>;
  const auto any = read<bool>([](WorkingSet& set) -> StoreResult<bool> { return is_anything_asked(set); });
  if (!any) return Unexpected(any.error());
  if (!*any) return Fetched{};
  return write<Fetched>(
      Caller::worker,
      [&](WorkingSet& set) -> StoreResult<Fetched> {
        AskRows asked(set, Access::writes);
        Fetched fetched = rules::fetch_asks(asked.rows(), set.tx().now, request);
        asked.write_back();
        return fetched;
      },
      store::NeedsNothing{}, Order::first);
}

std::vector<StoreResult<void>> PostgresStore::answer(std::span<const store::AskAnswer> answers) {
  return write_each<void>(
      Caller::client, answers, Order::first,
      [](WorkingSet& set, const store::AskAnswer& item) {
        AskRows asked(set, Access::writes);
        auto answer = rules::answer(asked.rows(), set.tx().now, item, set.tx().news);
        asked.write_back();
        return answer;
      },
      store::NeedsNothing{});
}

StoreResult<std::vector<store::AskAnswer>> PostgresStore::take_answers(std::span<const store::AskId> asks) {
  using Answers = std::vector<store::AskAnswer>;
  return write<Answers>(
      Caller::client,
      [&](WorkingSet& set) -> StoreResult<Answers> {
        AskRows asked(set, Access::writes);
        Answers answers = rules::take_answers(asked.rows(), set.tx().now, asks);
        asked.write_back();
        return answers;
      },
      store::NeedsNothing{}, Order::first);
}

// ---- keeping order -------------------------------------------------------------------------------

StoreResult<store::Swept> PostgresStore::sweep(const store::SweepRequest& request) {
  return write<store::Swept>(
      Caller::worker,
      [&](WorkingSet& set) {
        if (in_doubt_.exchange(false)) lapses_.clear();
        return postgres_store::sweep(set, request, lapses_);
      },
      store::NeedsNothing{}, Order::last);
}

// Whoever can't be registered now looks by itself, as it does whenever news is lost.
std::unique_ptr<store::Listener> PostgresStore::listen(store::WorkMask mask, WorkerKey worker) {
  return wakes_->listen(mask, worker);
}

StoreResult<store::StoreState> PostgresStore::state() {
  return read<store::StoreState>([](WorkingSet& set) { return postgres_store::state(set); });
}

}  // namespace holdfast::postgres_store

namespace holdfast {

std::shared_ptr<Store> postgres(std::string_view uri, PostgresOptions options) {
  return std::make_shared<postgres_store::PostgresStore>(uri, std::move(options));
}

}  // namespace holdfast
