#include "bench/raw_sql.hpp"

#include <sqlite3.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::bench {

namespace {

constexpr std::string_view kSchema = R"(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA secure_delete = OFF;
PRAGMA cache_size = -65536;
CREATE TABLE instances (id TEXT PRIMARY KEY, key INTEGER, status INTEGER, output BLOB) WITHOUT ROWID;
CREATE TABLE history (key INTEGER, first_event INTEGER, stamp BLOB, bytes BLOB,
                      PRIMARY KEY (key, first_event)) WITHOUT ROWID;
CREATE TABLE activities (key INTEGER, event INTEGER, token BLOB, until INTEGER, name TEXT, body BLOB,
                         PRIMARY KEY (key, event)) WITHOUT ROWID;
)";

class Database {
 public:
  explicit Database(const std::filesystem::path& path) {
    check(sqlite3_open_v2(path.c_str(), &handle_,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr));
    check(sqlite3_exec(handle_, kSchema.data(), nullptr, nullptr, nullptr));
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(handle_));
  }
  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

/// Bound from the left, in the order of the calls. Bytes must live until run() returns.
class Statement {
 public:
  Statement(Database& database, std::string_view sql) : database_(database) {
    database.check(sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& number(std::uint64_t value) {
    sqlite3_bind_int64(handle_, ++bound_, static_cast<sqlite3_int64>(value));
    return *this;
  }
  Statement& text(std::string_view value) {
    sqlite3_bind_text(handle_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    return *this;
  }
  Statement& blob(std::string_view value) {
    sqlite3_bind_blob(handle_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    return *this;
  }
  void run() {
    if (sqlite3_step(handle_) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database_.handle()));
    sqlite3_reset(handle_);
    bound_ = 0;
  }

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

class RawSql final : public Lockstep {
 public:
  RawSql(const std::filesystem::path& path, Shape shape, std::size_t in_flight, Start start)
      : Lockstep(shape, in_flight, start), database_(path) {}

 private:
  static constexpr std::uint64_t kRunning = 0;
  static constexpr std::uint64_t kCompleted = 3;

  void begin() override { begin_.run(); }
  void commit() override { commit_.run(); }

  void start(const Flight& flight) override {
    const std::string id = instance_id(flight.key);
    insert_instance_.text(id).number(flight.key).number(kRunning).run();
  }
  void write(const Flight& flight, const TurnPlan& turn) override {
    insert_segment_.number(flight.key)
        .number(turn.first_event)
        .blob(token_)
        .blob(std::string_view(bytes_).substr(0, turn.segment_bytes))
        .run();
    for (std::uint64_t i = 0; i < turn.completes; ++i) {
      // An instance of p5 completes all that it has, one of s5 what the turn before scheduled.
      delete_activity_.number(flight.key).number(turn.first_event - turn.completes + i).blob(token_).run();
      if (sqlite3_changes(database_.handle()) != 1) throw std::runtime_error("an activity is missing");
    }
    for (std::uint64_t i = 0; i < turn.schedules; ++i) {
      insert_activity_.number(flight.key)
          .number(turn.first_activity + i)
          .blob(token_)
          .number(kLeaseEnd)
          .text(kActivityName)
          .blob(std::string_view(bytes_).substr(0, kBodyBytes))
          .run();
    }
    if (turn.ends()) {
      const std::string id = instance_id(flight.key);
      end_instance_.number(kCompleted).blob(std::string_view(bytes_).substr(0, kBodyBytes)).text(id).run();
    }
  }

  static constexpr std::uint64_t kLeaseEnd = 1'234'567'890'123;
  const std::string token_ = std::string(16, 't');
  const std::string bytes_ = std::string(1000, 'b');

  Database database_;
  Statement begin_{database_, "BEGIN IMMEDIATE"};
  Statement commit_{database_, "COMMIT"};
  Statement insert_instance_{database_, "INSERT INTO instances (id, key, status) VALUES (?, ?, ?)"};
  Statement end_instance_{database_, "UPDATE instances SET status = ?, output = ? WHERE id = ?"};
  Statement insert_segment_{database_,
                            "INSERT INTO history (key, first_event, stamp, bytes) VALUES (?, ?, ?, ?)"};
  Statement insert_activity_{
      database_, "INSERT INTO activities (key, event, token, until, name, body) VALUES (?, ?, ?, ?, ?, ?)"};
  Statement delete_activity_{database_, "DELETE FROM activities WHERE key = ? AND event = ? AND token = ?"};
};

}  // namespace

std::unique_ptr<Contender> raw_sql(const std::filesystem::path& path, Shape shape, std::size_t in_flight,
                                   Start start) {
  return std::make_unique<RawSql>(path, shape, in_flight, start);
}

}  // namespace holdfast::bench
