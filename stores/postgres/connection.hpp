// Connection: one connection to a server, used in pipelines. Statements are queued, and what they answered is
// read together: however many there are, they cost one way there and back.
#pragma once

#include "parameters.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;
struct pg_result;

namespace holdfast::postgres_store {

/// A statement with a name: under it, it is prepared, and tests make it fail. Its text is only asked for when
/// it is prepared, so it may be made then.
class Statement {
 public:
  constexpr Statement(const char* known_as, const char* text) : name(known_as), text_(text) {}
  constexpr Statement(const char* known_as, std::string (*make)()) : name(known_as), make_(make) {}
  [[nodiscard]] std::string sql() const { return make_ == nullptr ? std::string(text_) : make_(); }

  const char* name;

 private:
  const char* text_ = "";
  std::string (*make_)() = nullptr;
};

/// Which columns of many rows have one value, in all of them.
using Shape = std::vector<bool>;

/// A statement over many rows, whose text depends on that: a value that all rows have is sent once, and the
/// server makes no rows of it. Each shape is a statement of its own.
class ShapedStatement {
 public:
  constexpr ShapedStatement(const char* known_as, std::string (*make)(const Shape& shape))
      : name(known_as), make_(make) {}
  [[nodiscard]] std::string sql(const Shape& shape) const { return make_(shape); }

  const char* name;

 private:
  std::string (*make_)(const Shape&);
};

/// What the server, or the way to it, has to say. `state` is the SQLSTATE; empty when the connection broke.
struct SqlError : std::runtime_error {
  SqlError(std::string sql_state, const std::string& message)
      : std::runtime_error(message), state(std::move(sql_state)) {}
  std::string state;

  /// Something that was there is gone, or can't be read any more: pages, tables, columns.
  [[nodiscard]] bool is_damage() const noexcept;
  /// The same transaction may succeed when it is tried again: deadlocks, and what could not be serialised.
  [[nodiscard]] bool is_passing() const noexcept;
  /// Somebody else has locked what it needs.
  [[nodiscard]] bool is_locked() const noexcept;
  /// A guard of this store has found that a row is not what it was taken for (sql::guarded()).
  [[nodiscard]] bool is_broken_guard() const noexcept;
  /// A row is there already.
  [[nodiscard]] bool is_duplicate() const noexcept;
  /// It depends on what was asked for: others are not concerned.
  [[nodiscard]] bool is_about_values() const noexcept;
};

/// The rows that a statement answered.
class Answer {
 public:
  explicit Answer(pg_result* result);
  [[nodiscard]] int rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t changed() const;

  [[nodiscard]] bool is_null(int row, int column) const;
  [[nodiscard]] std::string_view bytes(int row, int column) const;
  [[nodiscard]] std::int64_t integer(int row, int column) const;

 private:
  struct Free {
    void operator()(pg_result* result) const noexcept;
  };
  std::unique_ptr<pg_result, Free> result_;
  int rows_ = 0;
};

/// One row, read column by column.
class Row {
 public:
  Row(const Answer& answer, int row) : answer_(answer), row_(row) {}

  template <class T>
  T next() {
    const int column = column_++;
    return read<T>(column);
  }
  /// A count that may have been changed by hand: never below zero.
  std::uint32_t next_count() {
    const auto count = next<std::int32_t>();
    return count < 0 ? 0U : static_cast<std::uint32_t>(count);
  }
  void skip() { ++column_; }

 private:
  template <class T>
  T read(int column) const;

  const Answer& answer_;
  int row_;
  int column_ = 0;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsToken : std::false_type {};
template <class Tag>
struct IsToken<Token<Tag>> : std::true_type {};
template <class T>
struct IsNumber : std::false_type {};
template <class Tag>
struct IsNumber<Number<Tag>> : std::true_type {};
template <class T>
struct IsTime : std::false_type {};
template <class Clock, class Duration>
struct IsTime<std::chrono::time_point<Clock, Duration>> : std::true_type {};

/// Two numbers of 64 bits from 16 bytes.
std::pair<std::uint64_t, std::uint64_t> halves(std::string_view bytes);

template <class T>
T Row::read(int column) const {
  if constexpr (IsOptional<T>::value) {
    if (answer_.is_null(row_, column)) return std::nullopt;
    return read<typename T::value_type>(column);
  } else if constexpr (IsToken<T>::value) {
    if (answer_.is_null(row_, column)) return T{};
    const auto [high, low] = halves(answer_.bytes(row_, column));
    return T{high, low};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(answer_.bytes(row_, column));
  } else if constexpr (IsNumber<T>::value) {
    return T{static_cast<std::uint64_t>(answer_.integer(row_, column))};
  } else if constexpr (IsTime<T>::value) {
    return T(std::chrono::microseconds(answer_.integer(row_, column)));
  } else if constexpr (std::is_same_v<T, std::chrono::microseconds>) {
    return T(answer_.integer(row_, column));
  } else {
    return static_cast<T>(answer_.integer(row_, column));
  }
}

/// A name as SQL has it.
std::string quoted(std::string_view name);

/// How connections of a store are made.
struct ConnectionSetup {
  std::string uri{};       ///< all that libpq understands
  std::string schema{};    ///< where the tables are
  std::string settings{};  ///< statements that are run first
  /// How long the server may be silent while an answer is due, before the connection counts as broken; zero:
  /// for ever.
  std::chrono::milliseconds silence{0};
};

/// The state of an error that this store has found itself: a row that every deployment has is missing.
inline constexpr const char* kIncomplete = "HF001";
/// The only row of `deployment` is gone.
SqlError missing_deployment();

/// The SQLSTATE with which the server refuses a connection; empty when it says nothing, or doesn't refuse.
std::string state_of_refusal(const ConnectionSetup& setup);
/// Whether libpq does not even try to reach a server: an option has a value that it doesn't know, or there is
/// no such service.
bool is_never_tried(const ConnectionSetup& setup);

/// One thread at a time.
class Connection {
 public:
  /// Throws SqlError.
  explicit Connection(const ConnectionSetup& setup);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Adds a statement to the pipeline.
  void queue(const Statement& statement, const Parameters& parameters);
  /// The server keeps few shapes of each: see shape_for().
  void queue(const ShapedStatement& statement, const Shape& shape, const Parameters& parameters);
  /// The shape to send such rows in: theirs, or one without any value in common when the server knows many
  /// others.
  Shape shape_for(const ShapedStatement& statement, const Shape& shape);
  /// Sends what was queued, and returns one answer for each statement. Throws the first error, after which
  /// the rest of the pipeline was not run; a transaction that was open must be rolled back. The last
  /// `optional` statements may fail, at their own commit too: their answers are missing then. Throws as well
  /// when a commit was not confirmed by the standby that it has to wait for.
  std::vector<Answer> exchange(std::size_t optional = 0);

  /// Statements without parameters, one after the other; for set-up and transactions.
  void run(const std::string& sql);
  /// Ends a transaction, if one is open. False when the connection is of no more use.
  bool rollback() noexcept;
  [[nodiscard]] bool is_usable() const noexcept;

  /// For those who wait on it.
  [[nodiscard]] int socket() const noexcept;
  [[nodiscard]] int backend() const noexcept;
  /// Payloads of notifications that have come.
  std::vector<std::string> notifications();

 private:
  struct Close {
    void operator()(pg_conn* connection) const noexcept;
  };
  template <class Text>
  void send(std::string_view name, Text text, const Parameters& parameters);
  [[noreturn]] void fail();
  void drain() noexcept;
  /// The next answer, as PQgetResult has it. Throws when the server is silent for too long.
  pg_result* next_result();
  /// Reads to the end of a pipeline. What was not in a transaction is committed there: that may fail.
  std::optional<SqlError> finish_pipeline();

  const std::chrono::milliseconds silence_;

  std::unique_ptr<pg_conn, Close> connection_;
  std::set<std::string, std::less<>> prepared_{};
  std::map<const char*, std::set<Shape>> shapes_{};
  std::vector<bool> pending_{};  // for each that is queued: whether its answer counts, or it only prepares
  std::vector<std::optional<std::string>> preparing_{};
  bool unconfirmed_ = false;  // a commit that no standby has confirmed
};

}  // namespace holdfast::postgres_store
