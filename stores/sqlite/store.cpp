#include "store.hpp"

#include "activities.hpp"
#include "clients.hpp"
#include "schema.hpp"
#include "turns.hpp"
#include "workers.hpp"

#include <array>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

constexpr std::array kMigrations{Migration{.number = 1, .name = "the first schema", .sql = kSchema}};

/// A call with one answer.
template <class Answer, class Call>
class OneAnswer final : public Job {
 public:
  OneAnswer(Call call, bool urgent) : Job(1, urgent), call_(std::move(call)) {}
  void run(Transaction& tx, std::size_t) override { answer_.emplace(call_(tx)); }
  void fail(std::size_t, const StoreError& error) override { answer_.emplace(Unexpected(error)); }
  StoreResult<Answer> take() { return *std::move(answer_); }

 private:
  Call call_;
  std::optional<StoreResult<Answer>> answer_{};
};

/// A call with an answer for each of its items.
template <class Answer, class Item, class Call>
class ManyAnswers final : public Job {
 public:
  ManyAnswers(std::span<const Item> items, Call call, bool urgent)
      : Job(items.size(), urgent), items_(items), call_(std::move(call)) {
    answers_.reserve(items.size());
  }
  // Items run in their order, so each answer is the next one, or replaces one after a rollback.
  void run(Transaction& tx, std::size_t item) override { keep(item, call_(tx, items_[item])); }
  void fail(std::size_t item, const StoreError& error) override { keep(item, Unexpected(error)); }
  std::vector<StoreResult<Answer>> take() { return std::move(answers_); }

 private:
  void keep(std::size_t item, StoreResult<Answer> answer) {
    if (item < answers_.size()) {
      answers_[item] = std::move(answer);
    } else {
      answers_.push_back(std::move(answer));
    }
  }

  std::span<const Item> items_;
  Call call_;
  std::vector<StoreResult<Answer>> answers_{};
};

std::int64_t intern_namespace(Connection& connection, const std::string& name) {
  Statements sql;
  connection.begin_immediate();
  sql.insert_namespace.use(connection, nullptr).run(name);
  std::int64_t number = 0;
  if (Cursor row(sql.namespace_id.use(connection, nullptr), name); row.next()) number = row->int64(0);
  connection.commit();
  return number;
}

}  // namespace

SqliteStore::SqliteStore(const std::filesystem::path& path, SqliteOptions options)
    : options_(std::move(options)) {
  if (options_.clock == nullptr) options_.clock = &real_clock();
  database_ = open_database(path, options_, MigrationPlan{.migrations = kMigrations});
  const std::int64_t number = intern_namespace(database_.writer, options_.ns);
  link_ = std::make_unique<Link>(std::move(database_.writer), number, options_.faults);
  lease_clock_ = std::make_unique<LeaseClock>(link_->connection, *options_.clock);
  bus_ = std::make_unique<store::WakeBus>(*options_.clock);
  writer_ = std::make_unique<Writer>(
      *link_, *options_.clock,
      Writer::Hooks{.begin = [this] { link_->connection.begin_immediate(); },
                    .lease_now = [this] { return lease_clock_->now(); },
                    .publish = [this](const store::News& news) { bus_->publish(news); },
                    .after_batch = [] {}});
}

SqliteStore::~SqliteStore() = default;

std::string SqliteStore::description() const {
  constexpr std::array kNames{"FULL", "NORMAL", "OFF"};
  const std::string file =
      database_.path.empty() ? ":memory:" : std::filesystem::path(database_.path).filename().string();
  return "sqlite " + file + " (synchronous=" + kNames.at(static_cast<std::size_t>(options_.durability)) + ")";
}

template <class Answer, class Call>
StoreResult<Answer> SqliteStore::write(Call call) {
  OneAnswer<Answer, Call> job(std::move(call), false);
  writer_->run(job);
  return job.take();
}

template <class Answer, class Item, class Call>
std::vector<StoreResult<Answer>> SqliteStore::write_each(std::span<const Item> items, bool urgent,
                                                         Call call) {
  ManyAnswers<Answer, Item, Call> job(items, std::move(call), urgent);
  writer_->run(job);
  return job.take();
}

template <class Answer, class Call>
StoreResult<Answer> SqliteStore::read(Call call) {
  return write<Answer>(std::move(call));
}

// ---- workers ------------------------------------------------------------------------------------

StoreResult<WorkerKey> SqliteStore::join(const store::WorkerInfo& info) {
  return write<WorkerKey>([&](Transaction& tx) { return sqlite_store::join(tx, info); });
}

// ---- turns --------------------------------------------------------------------------------------

StoreResult<store::FetchedTurns> SqliteStore::fetch_turns(const store::TurnRequest& request) {
  return write<store::FetchedTurns>([&](Transaction& tx) { return sqlite_store::fetch_turns(tx, request); });
}

std::vector<StoreResult<store::Committed>> SqliteStore::commit_turns(
    const store::CommitRequest& request, std::span<const store::TurnCommit> commits) {
  return write_each<store::Committed>(commits, false, [&](Transaction& tx, const store::TurnCommit& commit) {
    return commit_turn(tx, request, commit);
  });
}

std::vector<StoreResult<void>> SqliteStore::release_turns(std::span<const store::TurnRelease> releases) {
  return write_each<void>(releases, false, [](Transaction& tx, const store::TurnRelease& release) {
    return release_turn(tx, release);
  });
}

StoreResult<std::vector<store::Segment>> SqliteStore::read_history(InstanceKey key, ExecutionNumber execution,
                                                                   EventId after, std::size_t max_bytes) {
  return read<std::vector<store::Segment>>(
      [=](Transaction& tx) { return sqlite_store::read_history(tx, key, execution, after, max_bytes); });
}

// ---- activities ---------------------------------------------------------------------------------

StoreResult<store::FetchedActivities> SqliteStore::fetch_activities(const store::ActivityRequest& request) {
  return write<store::FetchedActivities>(
      [&](Transaction& tx) { return sqlite_store::fetch_activities(tx, request); });
}

std::vector<StoreResult<void>> SqliteStore::finish_activities(
    std::span<const store::ActivityResult> results) {
  return write_each<void>(results, false, [](Transaction& tx, const store::ActivityResult& result) {
    return finish_activity(tx, result);
  });
}

std::vector<StoreResult<void>> SqliteStore::renew_turns(WorkerKey worker, Duration lease,
                                                        std::span<const store::TurnRenewal> turns) {
  return write_each<void>(turns, true, [=](Transaction& tx, const store::TurnRenewal& renewal) {
    return renew_turn(tx, worker, lease, renewal);
  });
}

std::vector<StoreResult<void>> SqliteStore::renew_activities(
    WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) {
  return write_each<void>(activities, true, [=](Transaction& tx, const store::ActivityRenewal& renewal) {
    return renew_activity(tx, worker, lease, renewal);
  });
}

// ---- clients ------------------------------------------------------------------------------------

std::vector<StoreResult<store::StartAnswer>> SqliteStore::start(
    std::span<const store::StartRequest> requests) {
  return write_each<store::StartAnswer>(
      requests, false,
      [](Transaction& tx, const store::StartRequest& request) { return sqlite_store::start(tx, request); });
}

// ---- waiting ------------------------------------------------------------------------------------

std::unique_ptr<store::Listener> SqliteStore::listen(store::WorkMask mask, WorkerKey worker) {
  return bus_->listen(mask, worker);
}

}  // namespace holdfast::sqlite_store

namespace holdfast {

std::shared_ptr<Store> sqlite(const std::filesystem::path& path, SqliteOptions options) {
  return std::make_shared<sqlite_store::SqliteStore>(path, std::move(options));
}

}  // namespace holdfast
