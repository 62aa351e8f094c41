#include "store.hpp"

#include "calls.hpp"
#include "contract/namespaces.hpp"
#include "damaged_row.hpp"
#include "store_plan.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

/// 0 when there is none.
std::int64_t number_of_namespace(Connection& connection, Statements& sql, const std::string& name) {
  Cursor row(sql.namespace_id.use(connection, nullptr), name);
  return row.next() ? row->int64(0) : 0;
}

/// Also reads the lease clock once, for those who only look at it.
std::int64_t find_namespace(Connection& connection, LeaseClock& clock, const SqliteOptions& options) {
  Statements sql;
  clock.follow(sql.lease_clock.use(connection, nullptr));
  const std::int64_t number = number_of_namespace(connection, sql, options.ns);
  if (number == 0) store::refuse_missing_namespace(options.ns, store::NotMade::read_only);
  return number;
}

/// The same, and makes it unless options say otherwise.
std::int64_t intern_namespace(Connection& connection, LogTrust& log_trust, LeaseClock& clock,
                              const SqliteOptions& options) {
  Statements sql;
  connection.begin_immediate();
  log_trust.require();
  clock.now();
  if (options.create) sql.insert_namespace.use(connection, nullptr).run(options.ns);
  const std::int64_t number = number_of_namespace(connection, sql, options.ns);
  if (number == 0) {
    connection.rollback();
    store::refuse_missing_namespace(options.ns, store::NotMade::create_is_false);
  }
  log_trust.commit();
  return number;
}

std::string folder_of(const OpenedDatabase& database) {
  return std::filesystem::path(database.path).parent_path().string();
}

}  // namespace

SqliteStore::SqliteStore(const std::filesystem::path& path, SqliteOptions options)
    : options_(std::move(options)), later_(options_.logger) {
  if (options_.clock == nullptr) options_.clock = &real_clock();
  const MigrationPlan plan = store_plan(*options_.clock);
  schema_number_ = plan.newest();
  database_ = open_database(path, options_, plan);
  // Who only reads takes no turns at the write lock, and wakes nobody; that others have written shows in the
  // files.
  side_file_ = std::make_shared<SideFile>(options_.read_only ? "" : database_.path, options_.logger);
  turnstile_ = std::make_unique<Turnstile>(*side_file_);
  wakes_ = std::make_unique<FileWakes>(database_.path, side_file_, *options_.clock);
  lease_clock_ = std::make_unique<LeaseClock>(database_.writer, *options_.clock);
  LogTrust log_trust(database_.writer, *side_file_, &later_);
  ns_number_ = options_.read_only ? find_namespace(database_.writer, *lease_clock_, options_)
                                  : intern_namespace(database_.writer, log_trust, *lease_clock_, options_);
  link_ = std::make_unique<Link>(std::move(database_.writer), ns_number_, options_.faults);
  log_trust_ = std::make_unique<LogTrust>(link_->connection, *side_file_, &later_);
  wal_limit_ = std::make_unique<WalLimit>(
      link_->connection, *log_trust_,
      WalLimit::Options{.limit_bytes = options_.wal_limit_bytes,
                        .busy_timeout = options_.busy_timeout,
                        .room = [folder = folder_of(database_)] { return room_on_disk(folder); },
                        .logger = &later_});
  writer_ = std::make_unique<Writer>(
      *link_, *options_.clock,
      Writer::Hooks{.wait_for_disk = [this](bool wait) { set_wait_for_disk(wait); },
                    .begin = [this](std::chrono::milliseconds waited) { begin(waited); },
                    .commit = [this] { log_trust_->commit(); },
                    .failed = [this](int code) { log_trust_->note(code); },
                    .others_wrote = [this] { require_schema(link_->connection); },
                    .lease_now = [this] { return BootTime(Duration(lease_clock_->now())); },
                    .over = [this] { turnstile_->leave(); },
                    .publish = [this](const store::News& news) { wakes_->publish(news); },
                    .unavailable = [this] { in_doubt_ = true; },
                    .make_room = [this] { return wal_limit_->make_room(); },
                    .log_is_long = [this] { return wal_limit_->is_due(); },
                    .shorten_log = [this] { wal_limit_->after_batch(); }});
  later_.say();
}

SqliteStore::~SqliteStore() {
  if (!options_.read_only) log_trust_->checkpoint_at_close();
}

// A call that waited behind another one of this process, which got no lock either, has waited for the lock,
// too. Something is left in any case: the lock may just have been freed.
void SqliteStore::begin(std::chrono::milliseconds waited) {
  const auto at_most = std::max(options_.busy_timeout - waited, options_.busy_timeout / 10);
  turnstile_->enter(at_most);
  link_->connection.set_busy_timeout(at_most);
  link_->connection.begin_immediate();
  link_->connection.require_in_place();
  log_trust_->require();
}

// A newer version may upgrade the file while this one uses it.
void SqliteStore::require_schema(Connection& connection) const {
  const std::int64_t found = connection.schema_number();
  if (found == schema_number_) return;
  throw SqlError(SQLITE_SCHEMA, "the file was upgraded to schema " + std::to_string(found) +
                                    " while this process works with schema " +
                                    std::to_string(schema_number_));
}

// Only `full` waits at all; the setting is kept by the connection, so it is changed only when it has to be.
void SqliteStore::set_wait_for_disk(bool wait) {
  if (options_.durability != Durability::full || wait == waits_for_disk_) return;
  link_->connection.exec(wait ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  waits_for_disk_ = wait;
}

std::string SqliteStore::description() const {
  constexpr std::array kNames{"FULL", "NORMAL", "OFF"};
  const std::string file =
      database_.path.empty() ? ":memory:" : std::filesystem::path(database_.path).filename().string();
  return "sqlite " + file + " (synchronous=" + kNames.at(static_cast<std::size_t>(options_.durability)) + ")";
}

void SqliteStore::run(Job& job) {
  if (options_.read_only) return store::refuse_to_write(job);
  writer_->run(job);
  later_.say();
}

template <class Answer, class Call>
StoreResult<Answer> SqliteStore::write(Call call, Order order) {
  store::OneAnswer<WorkingSet, Answer, Call> job(std::move(call), order);
  run(job);
  return job.take();
}

template <class Answer, class Item, class Call>
std::vector<StoreResult<Answer>> SqliteStore::write_each(std::span<const Item> items, Order order,
                                                         Call call) {
  store::ManyAnswers<WorkingSet, Answer, Item, Call> job(items, std::move(call), order);
  run(job);
  return job.take();
}

template <class Answer, class Call>
StoreResult<Answer> SqliteStore::read(Call call) {
  if (database_.path.empty()) {
    // The only connection: what was written before is looked at in a set of its own.
    return write<Answer>([&](WorkingSet& set) -> StoreResult<Answer> {
      set.write_back();
      set.write_numbers();
      WorkingSet looks(set.link(), Access::reads);
      looks.begin(set.tx().now, set.tx().calendar);
      return call(looks);
    });
  }
  try {
    std::unique_ptr<Link> link = take_reader();
    link->statements.begin_read.use(link->connection, options_.faults).run();
    link->connection.require_in_place();
    require_schema(link->connection);
    if (options_.read_only)
      lease_clock_->follow(link->statements.lease_clock.use(link->connection, options_.faults));
    WorkingSet set(*link, Access::reads);
    set.begin(BootTime(Duration(lease_clock_->look())), clock().calendar_now());
    StoreResult<Answer> answer = call(set);
    link->connection.rollback();
    const MutexLock lock(readers_mutex_);
    readers_.push_back(std::move(link));
    return answer;
  } catch (const InjectedFault&) {
    in_doubt_ = true;
    return Unexpected(store_error(StoreError::Kind::unavailable, "an injected fault"));
  } catch (const SqlError& error) {
    in_doubt_ = true;
    return Unexpected(to_store_error(error));
  } catch (const DamagedRow& damaged) {
    return Unexpected(store_error(StoreError::Kind::damaged, damaged.what()));
  } catch (const std::exception& error) {
    return Unexpected(store_error(StoreError::Kind::unavailable, error.what()));
  }
}

std::unique_ptr<Link> SqliteStore::take_reader() {
  {
    const MutexLock lock(readers_mutex_);
    if (!readers_.empty()) {
      std::unique_ptr<Link> link = std::move(readers_.back());
      readers_.pop_back();
      return link;
    }
  }
  return std::make_unique<Link>(open_reader(database_, options_), ns_number_, options_.faults);
}

// ---- workers ------------------------------------------------------------------------------------

StoreResult<WorkerKey> SqliteStore::join(const store::NewWorker& info) {
  return write<WorkerKey>([&](WorkingSet& set) { return rules::join(set.tx(), info); });
}
StoreResult<void> SqliteStore::refresh(WorkerKey worker, bool draining) {
  return write<void>([=](WorkingSet& set) { return rules::refresh(set.tx(), worker, draining); });
}
StoreResult<void> SqliteStore::leave(WorkerKey worker) {
  return write<void>([=](WorkingSet& set) { return rules::leave(set.tx(), worker); });
}
StoreResult<std::vector<store::WorkerView>> SqliteStore::workers() {
  return read<std::vector<store::WorkerView>>([](WorkingSet& set) { return view_workers(set); });
}

// ---- turns --------------------------------------------------------------------------------------

StoreResult<store::FetchedTurns> SqliteStore::fetch_turns(const store::TurnRequest& request) {
  return write<store::FetchedTurns>([&](WorkingSet& set) { return sqlite_store::fetch_turns(set, request); },
                                    Order::last);
}

std::vector<StoreResult<store::Committed>> SqliteStore::commit_turns(
    const store::CommitRequest& request, std::span<const store::TurnCommit> commits) {
  return write_each<store::Committed>(commits, Order::middle,
                                      [&](WorkingSet& set, const store::TurnCommit& commit) {
                                        return rules::commit_turn(set.tx(), request, commit);
                                      });
}

std::vector<StoreResult<void>> SqliteStore::release_turns(std::span<const store::TurnRelease> releases) {
  return write_each<void>(releases, Order::middle, [](WorkingSet& set, const store::TurnRelease& release) {
    return rules::release_turn(set.tx(), release);
  });
}

StoreResult<std::vector<store::Segment>> SqliteStore::read_history(InstanceKey key, ExecutionNumber execution,
                                                                   EventId after, std::size_t max_bytes) {
  return read<std::vector<store::Segment>>(
      [=](WorkingSet& set) { return sqlite_store::read_history(set, key, execution, after, max_bytes); });
}

StoreResult<std::uint64_t> SqliteStore::wake_parked(const store::Code& code) {
  return write<std::uint64_t>([&](WorkingSet& set) { return sqlite_store::wake_parked(set, code); });
}

// ---- activities ---------------------------------------------------------------------------------

StoreResult<store::FetchedActivities> SqliteStore::fetch_activities(const store::ActivityRequest& request) {
  return write<store::FetchedActivities>(
      [&](WorkingSet& set) { return sqlite_store::fetch_activities(set, request); });
}

std::vector<StoreResult<void>> SqliteStore::finish_activities(
    std::span<const store::ActivityResult> results) {
  return write_each<void>(results, Order::middle, [](WorkingSet& set, const store::ActivityResult& result) {
    return rules::finish_activity(set.tx(), result);
  });
}

std::vector<StoreResult<void>> SqliteStore::renew_turns(WorkerKey worker, Duration lease,
                                                        std::span<const store::TurnRenewal> turns) {
  return write_each<void>(turns, Order::first, [=](WorkingSet& set, const store::TurnRenewal& renewal) {
    return rules::renew_turn(set.tx(), worker, lease, renewal);
  });
}

std::vector<StoreResult<void>> SqliteStore::renew_activities(
    WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) {
  return write_each<void>(activities, Order::first,
                          [=](WorkingSet& set, const store::ActivityRenewal& renewal) {
                            return rules::renew_activity(set.tx(), worker, lease, renewal);
                          });
}

StoreResult<std::vector<store::CancelRecord>> SqliteStore::cancel_records(WorkerKey worker) {
  return read<std::vector<store::CancelRecord>>([=](WorkingSet& set) { return view_cancels(set, worker); });
}

StoreResult<void> SqliteStore::acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) {
  return write<void>([=](WorkingSet& set) -> StoreResult<void> {
    for (const store::CancelAcknowledgement& item : cancels) rules::acknowledge_cancel(set.tx(), item);
    return {};
  });
}

StoreResult<std::vector<store::QueueDepth>> SqliteStore::queue_depths() {
  return read<std::vector<store::QueueDepth>>([](WorkingSet& set) { return view_queues(set); });
}

// ---- sessions -----------------------------------------------------------------------------------

StoreResult<store::Acquired> SqliteStore::acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                                          std::string_view id,
                                                          const store::SessionPolicy& policy) {
  return write<store::Acquired>(
      [&](WorkingSet& set) { return rules::acquire_session(set.tx(), worker, abilities, id, policy); });
}

std::vector<StoreResult<void>> SqliteStore::renew_sessions(WorkerKey worker,
                                                           std::span<const store::SessionRenewal> holds) {
  return write_each<void>(holds, Order::first, [=](WorkingSet& set, const store::SessionRenewal& renewal) {
    return rules::renew_session(set.tx(), worker, renewal);
  });
}

std::vector<StoreResult<void>> SqliteStore::release_sessions(
    WorkerKey worker, std::span<const store::SessionRelease> releases) {
  return write_each<void>(releases, Order::middle, [=](WorkingSet& set, const store::SessionRelease& item) {
    return release_session(set, worker, item);
  });
}

StoreResult<bool> SqliteStore::close_session(std::string_view id, store::SessionReason reason) {
  return write<bool>([=](WorkingSet& set) { return rules::close_session(set.tx(), id, reason); });
}

StoreResult<store::WishAnswer> SqliteStore::ask_for_session(std::string_view id,
                                                            const store::SessionWish& wish) {
  return write<store::WishAnswer>([&](WorkingSet& set) {
    set.bring_all_workers();
    return rules::ask_for_session(set.tx(), id, wish);
  });
}

StoreResult<std::vector<store::WantedSession>> SqliteStore::wanted_sessions(WorkerKey worker) {
  return read<std::vector<store::WantedSession>>(
      [=](WorkingSet& set) { return sqlite_store::wanted_sessions(set, worker); });
}

StoreResult<void> SqliteStore::acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) {
  return write<void>([=](WorkingSet& set) -> StoreResult<void> {
    for (const store::SessionHold& hold : holds) rules::acknowledge_end(set.tx(), worker, hold);
    return {};
  });
}

StoreResult<bool> SqliteStore::discard_session_state(std::string_view id) {
  return write<bool>([=](WorkingSet& set) { return rules::discard_session_state(set.tx(), id); });
}

StoreResult<void> SqliteStore::fail_session(WorkerKey worker, const store::SessionHold& hold,
                                            store::SessionReason reason) {
  return write<void>([&](WorkingSet& set) { return rules::fail_session(set.tx(), worker, hold, reason); });
}

StoreResult<store::SessionView> SqliteStore::session(std::string_view id, store::Saved saved) {
  return read<store::SessionView>([=](WorkingSet& set) { return rules::session(set.tx(), id, saved); });
}

StoreResult<std::vector<store::SessionView>> SqliteStore::sessions(const store::SessionFilter& filter) {
  return read<std::vector<store::SessionView>>([&](WorkingSet& set) { return view_sessions(set, filter); });
}

StoreResult<store::SessionCounts> SqliteStore::count_sessions() {
  return read<store::SessionCounts>([](WorkingSet& set) { return sqlite_store::count_sessions(set); });
}

StoreResult<std::vector<store::SessionLogEntry>> SqliteStore::session_log(std::string_view id,
                                                                          std::uint64_t after,
                                                                          std::size_t limit) {
  return read<std::vector<store::SessionLogEntry>>(
      [=](WorkingSet& set) { return view_session_log(set, id, after, limit); });
}

// ---- clients ------------------------------------------------------------------------------------

std::vector<StoreResult<store::StartAnswer>> SqliteStore::start(
    std::span<const store::StartRequest> requests) {
  return write_each<store::StartAnswer>(
      requests, Order::middle,
      [](WorkingSet& set, const store::StartRequest& request) { return rules::start(set.tx(), request); });
}

std::vector<StoreResult<InstanceKey>> SqliteStore::send(std::span<const store::ClientMessage> messages) {
  return write_each<InstanceKey>(
      messages, Order::middle,
      [](WorkingSet& set, const store::ClientMessage& message) { return rules::send(set.tx(), message); });
}

std::vector<StoreResult<InstanceKey>> SqliteStore::set_suspended(std::span<const store::Suspension> wishes) {
  return write_each<InstanceKey>(wishes, Order::middle, [](WorkingSet& set, const store::Suspension& wish) {
    return rules::set_suspended(set.tx(), wish);
  });
}

StoreResult<store::InstanceView> SqliteStore::find(std::string_view instance) {
  return read<store::InstanceView>([=](WorkingSet& set) { return sqlite_store::find(set, instance); });
}

StoreResult<std::vector<std::optional<store::InstanceView>>> SqliteStore::look(
    std::span<const InstanceKey> keys) {
  return read<std::vector<std::optional<store::InstanceView>>>(
      [=](WorkingSet& set) { return sqlite_store::look(set, keys); });
}

StoreResult<store::InstanceDetail> SqliteStore::describe(std::string_view instance) {
  return read<store::InstanceDetail>([=](WorkingSet& set) { return sqlite_store::describe(set, instance); });
}

StoreResult<store::InstancePage> SqliteStore::list(const store::InstanceFilter& filter) {
  return read<store::InstancePage>([&](WorkingSet& set) { return sqlite_store::list(set, filter); });
}

StoreResult<store::InstanceCount> SqliteStore::count(const store::InstanceFilter& filter) {
  return read<store::InstanceCount>([&](WorkingSet& set) { return sqlite_store::count(set, filter); });
}

StoreResult<store::StatusCounts> SqliteStore::count_by_status() {
  return read<store::StatusCounts>([](WorkingSet& set) { return sqlite_store::count_by_status(set); });
}

StoreResult<std::vector<store::ExecutionView>> SqliteStore::executions(InstanceKey key) {
  return read<std::vector<store::ExecutionView>>(
      [=](WorkingSet& set) { return sqlite_store::executions(set, key); });
}

StoreResult<std::optional<std::string>> SqliteStore::value(std::string_view instance, std::string_view key) {
  return read<std::optional<std::string>>(
      [=](WorkingSet& set) { return rules::value(set.tx(), instance, key); });
}

std::vector<StoreResult<void>> SqliteStore::delete_instances(std::span<const store::Deletion> deletions) {
  return write_each<void>(deletions, Order::middle, [](WorkingSet& set, const store::Deletion& deletion) {
    return rules::delete_instance(set.tx(), deletion);
  });
}

StoreResult<std::uint64_t> SqliteStore::prune_executions(std::string_view instance, std::uint64_t keep) {
  return write<std::uint64_t>(
      [=](WorkingSet& set) { return sqlite_store::prune_executions(set, instance, keep); });
}

StoreResult<bool> SqliteStore::prune_execution(std::string_view instance, ExecutionNumber execution) {
  return write<bool>(
      [=](WorkingSet& set) { return sqlite_store::prune_execution(set, instance, execution); });
}

StoreResult<std::vector<store::SetAsideRow>> SqliteStore::set_aside(std::uint64_t after, std::size_t limit) {
  return read<std::vector<store::SetAsideRow>>(
      [=](WorkingSet& set) { return view_set_aside(set, after, limit); });
}

// ---- questions ----------------------------------------------------------------------------------

// Nothing of these has to reach the disk: they come with what is renewed.
std::vector<StoreResult<void>> SqliteStore::ask(std::span<const store::Ask> asks) {
  return write_each<void>(asks, Order::first, [](WorkingSet& set, const store::Ask& item) {
    AskRows asked(set);
    auto answer = rules::ask(asked.rows(), set.tx().now, item, set.tx().news);
    asked.write_back();
    return answer;
  });
}

// Those who look now and then find nothing, as a rule, and write nothing then.
StoreResult<std::vector<store::Ask>> SqliteStore::fetch_asks(const store::AskRequest& request) {
  using Fetched = std::vector<store::Ask>;
  const auto any = read<bool>([](WorkingSet& set) -> StoreResult<bool> { return is_anything_asked(set); });
  if (!any) return Unexpected(any.error());
  if (!*any) return Fetched{};
  return write<Fetched>(
      [&](WorkingSet& set) -> StoreResult<Fetched> {
        AskRows asked(set);
        Fetched fetched = rules::fetch_asks(asked.rows(), set.tx().now, request);
        asked.write_back();
        return fetched;
      },
      Order::first);
}

std::vector<StoreResult<void>> SqliteStore::answer(std::span<const store::AskAnswer> answers) {
  return write_each<void>(answers, Order::first, [](WorkingSet& set, const store::AskAnswer& item) {
    AskRows asked(set);
    auto answer = rules::answer(asked.rows(), set.tx().now, item, set.tx().news);
    asked.write_back();
    return answer;
  });
}

StoreResult<std::vector<store::AskAnswer>> SqliteStore::take_answers(std::span<const store::AskId> asks) {
  using Answers = std::vector<store::AskAnswer>;
  return write<Answers>(
      [&](WorkingSet& set) -> StoreResult<Answers> {
        AskRows asked(set);
        Answers answers = rules::take_answers(asked.rows(), set.tx().now, asks);
        asked.write_back();
        return answers;
      },
      Order::first);
}

// ---- keeping order ------------------------------------------------------------------------------

StoreResult<store::Swept> SqliteStore::sweep(const store::SweepRequest& request) {
  return write<store::Swept>([&](WorkingSet& set) {
    if (in_doubt_.exchange(false)) lapses_.clear();
    return sqlite_store::sweep(set, request, lapses_);
  });
}

std::unique_ptr<store::Listener> SqliteStore::listen(store::WorkMask mask, WorkerKey worker) {
  return wakes_->listen(mask, worker);
}

StoreResult<store::StoreState> SqliteStore::state() {
  return read<store::StoreState>([](WorkingSet& set) { return sqlite_store::state(set); });
}

}  // namespace holdfast::sqlite_store

namespace holdfast {

std::string_view to_string(Durability durability) noexcept { return detail::enum_name(durability); }

std::shared_ptr<Store> sqlite(const std::string& path, SqliteOptions options) {
  store::check_namespace(options.ns);
  if (path.find('\0') != std::string::npos)
    throw StoreOpenError(StoreOpenError::Kind::invalid,
                         "the path has a byte of zero in it, where SQLite would cut it");
  try {
    return std::make_shared<sqlite_store::SqliteStore>(path, std::move(options));
  } catch (const sqlite_store::SqlError& error) {
    sqlite_store::throw_open_error(error, path);
  }
}

}  // namespace holdfast
