#include "connection.hpp"

#include "uri.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace holdfast::postgres_store {

namespace {

std::string without_newline(const char* text) {
  std::string message = text == nullptr ? "" : text;
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return message;
}

SqlError error_of(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return {state == nullptr ? "" : state,
          primary != nullptr ? primary : without_newline(PQresultErrorMessage(result))};
}

}  // namespace

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

bool SqlError::is_passing() const noexcept { return state == "40001" || state == "40P01"; }

bool SqlError::is_locked() const noexcept { return state == "55P03"; }

// A division by zero, and the only one.
bool SqlError::is_broken_guard() const noexcept { return state == "22012"; }

bool SqlError::is_duplicate() const noexcept { return state == "23505"; }

bool SqlError::is_about_values() const noexcept {
  return state.starts_with("22") || state.starts_with("23") || state.starts_with("54");
}

bool SqlError::is_damage() const noexcept {
  return state.starts_with("XX00") ? state != "XX000"
                                   : state == "42P01" || state == "42703" || state == "3F000";
}

SqlError missing_deployment() {
  return {kIncomplete, "the row of the table 'deployment' is missing: restore it from a backup"};
}

// ---- answers -------------------------------------------------------------------------------------

Answer::Answer(pg_result* result) : result_(result), rows_(PQntuples(result)) {}

void Answer::Free::operator()(pg_result* result) const noexcept { PQclear(result); }

std::uint64_t Answer::changed() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

bool Answer::is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

std::string_view Answer::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

// Integers of all sizes and truth values are the same to those who read them.
std::int64_t Answer::integer(int row, int column) const {
  const std::string_view raw = bytes(row, column);
  if (raw.empty()) return 0;
  std::uint64_t value = static_cast<signed char>(raw[0]) < 0 ? ~std::uint64_t{0} : 0;
  for (const char c : raw) value = (value << 8U) | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(value);
}

std::pair<std::uint64_t, std::uint64_t> halves(std::string_view bytes) {
  std::pair<std::uint64_t, std::uint64_t> both;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint64_t& half = i < 8 ? both.first : both.second;
    half = (half << 8U) | static_cast<unsigned char>(bytes[i]);
  }
  return both;
}

// ---- the connection ------------------------------------------------------------------------------

void Connection::Close::operator()(pg_conn* connection) const noexcept { PQfinish(connection); }

namespace {

/// How libpq is asked. A server that went away without a word must not hold up a call for long: the kernel
/// gives up what is not acknowledged, and next_result() what is not answered. The user's words come last.
class Wishes {
 public:
  explicit Wishes(const ConnectionSetup& setup)
      : uri_(setup.uri),
        patience_(setup.silence.count() > 0 ? std::clamp(ceil<std::chrono::seconds>(setup.silence),
                                                         std::chrono::seconds(2), kMostPatience)
                                            : kMostPatience),
        connect_(std::to_string(patience_.count())),
        silence_(std::to_string(setup.silence.count())) {}

  [[nodiscard]] const char* const* names() const { return kNames.data(); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }
  [[nodiscard]] std::chrono::seconds patience() const { return patience_; }

 private:
  static constexpr std::chrono::seconds kMostPatience{10};
  static constexpr std::array<const char*, 9> kNames{
      "application_name", "keepalives_idle",  "keepalives_interval",
      "keepalives_count", "tcp_user_timeout", "connect_timeout",
      "client_encoding",  "dbname",           nullptr};
  std::string uri_;
  std::chrono::seconds patience_;
  std::string connect_;
  std::string silence_;
  std::array<const char*, 9> values_{"holdfast",       "10",   "5",          "3",    silence_.c_str(),
                                     connect_.c_str(), "UTF8", uri_.c_str(), nullptr};
};

}  // namespace

// libpq tells the state only to those who have asked for it before the server answers, and those have to wait
// for the answer themselves.
std::string state_of_refusal(const ConnectionSetup& setup) {
  const Wishes wishes(setup);
  const std::unique_ptr<PGconn, decltype(&PQfinish)> attempt(
      PQconnectStartParams(wishes.names(), wishes.values(), 1), &PQfinish);
  if (PQstatus(attempt.get()) == CONNECTION_BAD) return "";  // nobody is there
  PQsetErrorVerbosity(attempt.get(), PQERRORS_SQLSTATE);
  const auto deadline = std::chrono::steady_clock::now() + wishes.patience();
  PostgresPollingStatusType wants = PGRES_POLLING_WRITING;
  while (wants == PGRES_POLLING_WRITING || wants == PGRES_POLLING_READING) {
    pollfd wait{.fd = PQsocket(attempt.get()), .events = POLLIN, .revents = 0};
    if (wants == PGRES_POLLING_WRITING) wait.events = POLLOUT;
    const auto left = ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return "";
    wants = PQconnectPoll(attempt.get());
  }
  if (wants == PGRES_POLLING_OK) return "";
  if (PQconnectionNeedsPassword(attempt.get()) != 0) return "28P01";
  constexpr std::size_t kLength = 5;
  const std::string said = without_newline(PQerrorMessage(attempt.get()));
  const std::string state = said.size() < kLength ? "" : said.substr(said.size() - kLength);
  const bool is_state =
      std::ranges::all_of(state, [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
  return is_state ? state : "";
}

bool is_never_tried(const ConnectionSetup& setup) {
  const Wishes wishes(setup);
  const std::unique_ptr<PGconn, decltype(&PQfinish)> attempt(
      PQconnectStartParams(wishes.names(), wishes.values(), 1), &PQfinish);
  if (PQstatus(attempt.get()) != CONNECTION_BAD) return false;
  return PQpingParams(wishes.names(), wishes.values(), 1) == PQPING_NO_ATTEMPT;
}

Connection::Connection(const ConnectionSetup& setup) : silence_(setup.silence) {
  const Wishes wishes(setup);
  connection_.reset(PQconnectdbParams(wishes.names(), wishes.values(), 1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw SqlError("", Secrets(setup.uri).hidden_in(without_newline(PQerrorMessage(connection_.get()))));
  }
  PQsetnonblocking(connection_.get(), 1);
  // A library says nothing on stderr. One notice is an answer: who cancels a commit that waits for a standby
  // makes it a success, with a warning.
  PQsetNoticeReceiver(
      connection_.get(),
      [](void* self, const PGresult* notice) {
        const char* const from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
        if (from != nullptr && std::string_view(from) == "SyncRepWaitForLSN") {
          static_cast<Connection*>(self)->unconfirmed_ = true;
        }
      },
      this);
  run("SET search_path TO " + quoted(setup.schema) + ", pg_temp;" + setup.settings);
  PQenterPipelineMode(connection_.get());
}

Connection::~Connection() = default;

void Connection::queue(const Statement& statement, const Parameters& parameters) {
  send(statement.name, [&] { return statement.sql(); }, parameters);
}

void Connection::queue(const ShapedStatement& statement, const Shape& shape, const Parameters& parameters) {
  std::string name(statement.name);
  name += '/';
  for (const bool is_same : shape) name += is_same ? '1' : '0';
  send(name, [&] { return statement.sql(shape); }, parameters);
}

Shape Connection::shape_for(const ShapedStatement& statement, const Shape& shape) {
  constexpr std::size_t kMost = 16;
  std::set<Shape>& known = shapes_[statement.name];
  if (known.contains(shape)) return shape;
  if (known.size() >= kMost) return Shape(shape.size(), false);
  known.insert(shape);
  return shape;
}

template <class Text>
void Connection::send(std::string_view name, Text text, const Parameters& parameters) {
  if (!prepared_.contains(name)) {
    const std::string known_as(name);
    if (PQsendPrepare(connection_.get(), known_as.c_str(), text().c_str(), 0, nullptr) == 0) fail();
    prepared_.insert(known_as);
    preparing_.emplace_back(known_as);
    pending_.push_back(false);
  }
  const auto& values = parameters.values();
  std::vector<const char*> pointers;
  std::vector<int> lengths;
  for (const auto& value : values) {
    pointers.push_back(value ? value->data() : nullptr);
    lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  const std::vector<int> formats(values.size(), 1);
  const std::string& known_as = *prepared_.find(name);
  if (PQsendQueryPrepared(connection_.get(), known_as.c_str(), static_cast<int>(values.size()),
                          pointers.data(), lengths.data(), formats.data(), 1) == 0) {
    fail();
  }
  pending_.push_back(true);
}

void Connection::fail() {
  SqlError error("", without_newline(PQerrorMessage(connection_.get())));
  drain();
  throw error;
}

void Connection::drain() noexcept {
  pending_.clear();
  for (const auto& name : preparing_) {
    if (name) prepared_.erase(*name);
  }
  preparing_.clear();
}

pg_result* Connection::next_result() {
  const auto began = std::chrono::steady_clock::now();
  for (;;) {
    const int unsent = PQflush(connection_.get());
    if (unsent < 0) fail();
    if (unsent == 0 && PQisBusy(connection_.get()) == 0) return PQgetResult(connection_.get());
    pollfd wait{.fd = socket(), .events = POLLIN, .revents = 0};
    if (unsent > 0) wait.events |= POLLOUT;
    int timeout = -1;
    if (silence_.count() > 0) {
      const auto passed = std::chrono::steady_clock::now() - began;
      timeout = static_cast<int>(std::max(ceil<std::chrono::milliseconds>(silence_ - passed).count(), 0L));
    }
    const int ready = ::poll(&wait, 1, timeout);
    if (ready == 0) {
      connection_.reset();
      drain();
      throw SqlError("", "the server has not answered for " + std::to_string(silence_.count()) + " ms");
    }
    if (ready > 0 && (wait.revents & ~POLLOUT) != 0 && PQconsumeInput(connection_.get()) == 0) fail();
  }
}

std::vector<Answer> Connection::exchange(std::size_t optional) {
  if (pending_.empty()) return {};
  if (PQpipelineSync(connection_.get()) == 0) fail();
  const auto asked = static_cast<std::size_t>(std::ranges::count(pending_, true));
  std::vector<Answer> answers;
  std::optional<SqlError> error;
  auto preparing = preparing_.begin();
  for (const bool counts : pending_) {
    PGresult* const result = next_result();
    if (result == nullptr) fail();
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      Answer answer(result);
      if (counts) answers.push_back(std::move(answer));
      if (!counts) (preparing++)->reset();  // it stays prepared, whatever becomes of the transaction
    } else {
      if (!counts) ++preparing;
      if (!error && status != PGRES_PIPELINE_ABORTED) error = error_of(result);
      PQclear(result);
    }
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
    while (PGresult* const rest = next_result()) PQclear(rest);
  }
  const std::optional<SqlError> at_the_end = finish_pipeline();
  drain();
  if (error && answers.size() + optional < asked) throw *error;
  if (at_the_end && optional == 0) throw *at_the_end;
  if (std::exchange(unconfirmed_, false)) {
    throw SqlError("01000",
                   "it is committed, but the standby has not confirmed it: pg_stat_replication tells why");
  }
  return answers;
}

std::optional<SqlError> Connection::finish_pipeline() {
  std::optional<SqlError> error;
  for (bool over = false; !over;) {
    PGresult* const result = next_result();
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      PQclear(result);
      fail();
    }
    if (result == nullptr) continue;
    over = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
    if (!over && !error) error = error_of(result);
    PQclear(result);
  }
  return error;
}

void Connection::run(const std::string& sql) {
  const bool pipelines = PQpipelineStatus(connection_.get()) != PQ_PIPELINE_OFF;
  if (pipelines) PQexitPipelineMode(connection_.get());
  if (PQsendQuery(connection_.get(), sql.c_str()) == 0) fail();
  std::optional<SqlError> error;
  while (PGresult* const result = next_result()) {
    const ExecStatusType status = PQresultStatus(result);
    const bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
    if (!done && !error) error = error_of(result);
    PQclear(result);
  }
  if (pipelines) PQenterPipelineMode(connection_.get());
  if (error) throw *error;
}

bool Connection::rollback() noexcept {
  try {
    if (!is_usable()) return false;
    if (!pending_.empty()) {
      // Queued and never sent: the way out is the way through.
      try {
        exchange();
      } catch (const SqlError&) {
        if (!is_usable()) return false;
      }
    }
    if (PQtransactionStatus(connection_.get()) != PQTRANS_IDLE) run("ROLLBACK");
    return is_usable();
  } catch (const std::exception&) {
    return false;
  }
}

bool Connection::is_usable() const noexcept { return PQstatus(connection_.get()) == CONNECTION_OK; }

int Connection::socket() const noexcept { return PQsocket(connection_.get()); }
int Connection::backend() const noexcept { return PQbackendPID(connection_.get()); }

std::vector<std::string> Connection::notifications() {
  if (PQconsumeInput(connection_.get()) == 0)
    throw SqlError("", without_newline(PQerrorMessage(connection_.get())));
  std::vector<std::string> payloads;
  while (PGnotify* const notify = PQnotifies(connection_.get())) {
    payloads.emplace_back(notify->extra);
    PQfreemem(notify);
  }
  return payloads;
}

}  // namespace holdfast::postgres_store
