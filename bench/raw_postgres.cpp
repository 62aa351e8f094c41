#include "bench/raw_postgres.hpp"

#include "bench/lockstep.hpp"
#include "stores/postgres/connection.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using postgres_store::Bytes;
using postgres_store::Connection;
using postgres_store::Parameters;
using postgres_store::Rows;
using postgres_store::Statement;

constexpr std::string_view kTables =
    "CREATE TABLE instances (key bigint PRIMARY KEY, id text COLLATE \"C\" NOT NULL UNIQUE, status smallint"
    " NOT NULL, output bytea) WITH (fillfactor = 70);"
    "CREATE TABLE history (key bigint, first_event bigint, bytes bytea, PRIMARY KEY (key, first_event));"
    "CREATE TABLE activities (key bigint, event bigint, locked boolean, until bigint, name text, body bytea,"
    " PRIMARY KEY (key, event));"
    "CREATE INDEX activities_free ON activities (key, event) WHERE NOT locked;"
    "CREATE TABLE messages (key bigint, event bigint, body bytea, PRIMARY KEY (key, event));";

constexpr Statement kBegin{"bench.begin", "BEGIN"};
constexpr Statement kCommit{"bench.commit", "COMMIT"};
constexpr Statement kStart{"bench.start",
                           "INSERT INTO instances (key, id, status) SELECT k, i, 0"
                           " FROM unnest($1::bigint[], $2::text[]) AS n (k, i)"};
constexpr Statement kEnd{"bench.end",
                         "UPDATE instances AS i SET status = 3, output = n.output FROM"
                         " unnest($1::bigint[], $2::bytea[]) AS n (key, output) WHERE i.key = n.key"};
constexpr Statement kSegment{"bench.segment",
                             "INSERT INTO history (key, first_event, bytes)"
                             " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"};
constexpr Statement kSchedule{"bench.schedule",
                              "INSERT INTO activities (key, event, locked, until, name, body)"
                              " SELECT k, e, $1, 0, 'charge_card', b"
                              " FROM unnest($2::bigint[], $3::bigint[], $4::bytea[]) AS n (k, e, b)"};
constexpr Statement kFetch{"bench.fetch",
                           "UPDATE activities AS a SET locked = true FROM (SELECT key, event FROM activities"
                           " WHERE NOT locked LIMIT $1 FOR UPDATE SKIP LOCKED) AS f"
                           " WHERE a.key = f.key AND a.event = f.event RETURNING a.key, a.event, a.body"};
constexpr Statement kDelete{"bench.delete",
                            "DELETE FROM activities AS a USING unnest($1::bigint[], $2::bigint[]) AS d (k, e)"
                            " WHERE a.key = d.k AND a.event = d.e"};
constexpr Statement kAnswer{"bench.answer",
                            "INSERT INTO messages (key, event, body)"
                            " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"};
constexpr Statement kRead{"bench.read",
                          "SELECT m.body FROM unnest($1::bigint[], $2::bigint[]) AS w (k, e)"
                          " JOIN messages AS m ON m.key = w.k AND m.event = w.e"};
constexpr Statement kConsume{"bench.consume",
                             "DELETE FROM messages AS m USING unnest($1::bigint[], $2::bigint[]) AS d (k, e)"
                             " WHERE m.key = d.k AND m.event = d.e"};

/// What a transaction writes.
struct Written {
  Rows<std::uint64_t, std::string> starts{};
  Rows<std::uint64_t, Bytes> ends{};
  Rows<std::uint64_t, std::uint64_t, Bytes> segments{};
  Rows<std::uint64_t, std::uint64_t> completed{};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> scheduled{};
};

class RawPostgres final : public Lockstep {
 public:
  RawPostgres(const std::string& uri, const std::string& schema, Way way, Shape shape, std::size_t in_flight)
      : Lockstep(shape, in_flight, Start::apart),
        way_(way),
        connection_({.uri = uri,
                     .schema = schema,
                     .settings = "SET jit = off; SET plan_cache_mode = force_generic_plan;"
                                 "SET enable_seqscan = off; SET enable_hashjoin = off;"
                                 "SET enable_mergejoin = off; SET enable_bitmapscan = off"}) {
    connection_.run("CREATE SCHEMA " + schema + ";" + std::string(kTables));
  }

 private:
  void start(const Flight& flight) override {
    written_.starts.add(flight.key, instance_id(flight.key));
    if (way_ == Way::one_by_one) commit_turns();
  }

  void write(const Flight& flight, const TurnPlan& turn) override {
    const std::string_view bytes = bytes_;
    written_.segments.add(flight.key, turn.first_event, Bytes{bytes.substr(0, turn.segment_bytes)});
    for (std::uint64_t i = 0; i < turn.completes; ++i) {
      written_.completed.add(flight.key, turn.first_event - turn.completes + i);
    }
    for (std::uint64_t i = 0; i < turn.schedules; ++i) {
      written_.scheduled.emplace_back(flight.key, turn.first_activity + i);
    }
    if (turn.ends()) written_.ends.add(flight.key, Bytes{bytes.substr(0, kBodyBytes)});
    if (way_ == Way::one_by_one) commit_turns();
  }

  // Those that were scheduled are then run, in shared queues by whoever asks.
  void commit() override {
    if (way_ != Way::one_by_one) commit_turns();
    if (way_ == Way::hand_off) return;
    const std::size_t at_once = way_ == Way::shared ? waiting_ : 1;
    while (waiting_ > 0) answer(fetch(at_once));
  }

  void commit_turns() {
    Written all = std::exchange(written_, {});
    connection_.queue(kBegin, {});
    if (!all.completed.empty() && way_ != Way::hand_off) {
      connection_.queue(kRead, all.completed.parameters());
      connection_.queue(kConsume, all.completed.parameters());
    }
    if (!all.starts.empty()) connection_.queue(kStart, all.starts.parameters());
    if (!all.segments.empty()) connection_.queue(kSegment, all.segments.parameters());
    if (!all.completed.empty() && way_ == Way::hand_off) {
      connection_.queue(kDelete, all.completed.parameters());
    }
    if (!all.scheduled.empty())
      connection_.queue(kSchedule, with_bodies(all.scheduled, way_ == Way::hand_off));
    if (!all.ends.empty()) connection_.queue(kEnd, all.ends.parameters());
    connection_.queue(kCommit, {});
    connection_.exchange();
    waiting_ += all.scheduled.size();
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> fetch(std::size_t most) {
    connection_.queue(kFetch, Parameters(static_cast<std::int64_t>(most)));
    const auto answers = connection_.exchange();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> fetched;
    for (int i = 0; i < answers.front().rows(); ++i) {
      fetched.emplace_back(answers.front().integer(i, 0), answers.front().integer(i, 1));
    }
    if (fetched.empty()) throw std::runtime_error("an activity is missing");
    return fetched;
  }

  void answer(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& done) {
    Rows<std::uint64_t, std::uint64_t> removed;
    Rows<std::uint64_t, std::uint64_t, Bytes> told;
    for (const auto& [key, event] : done) {
      removed.add(key, event);
      told.add(key, event, Bytes{std::string_view(bytes_).substr(0, kBodyBytes)});
    }
    connection_.queue(kBegin, {});
    connection_.queue(kDelete, removed.parameters());
    connection_.queue(kAnswer, told.parameters());
    connection_.queue(kCommit, {});
    connection_.exchange();
    waiting_ -= done.size();
  }

  Parameters with_bodies(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& scheduled, bool locked) {
    Rows<std::uint64_t, std::uint64_t, Bytes> rows;
    for (const auto& [key, event] : scheduled) {
      rows.add(key, event, Bytes{std::string_view(bytes_).substr(0, kBodyBytes)});
    }
    return rows.parameters(locked);
  }

  const std::string bytes_ = std::string(1000, 'b');
  Way way_;
  Connection connection_;
  Written written_{};
  std::size_t waiting_ = 0;  // scheduled, and nobody has run them
};

}  // namespace

std::unique_ptr<Contender> raw_postgres(const std::string& uri, const std::string& schema, Way way,
                                        Shape shape, std::size_t in_flight) {
  return std::make_unique<RawPostgres>(uri, schema, way, shape, in_flight);
}

}  // namespace holdfast::bench
