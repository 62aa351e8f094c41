// SQLite's C API with owners, exceptions and types; nothing of the store itself. (The namespace is not called
// `sqlite`, as that is the function that opens a store.)
#pragma once

#include <holdfast/ids.hpp>
#include <holdfast/store/error.hpp>

#include <sqlite3.h>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::sqlite_store {

/// What SQLite answered instead of a result. Thrown inside the store only, never out of it.
struct SqlError : std::exception {
  SqlError(int code_, std::string message_) : code(code_), message(std::move(message_)) {}
  [[nodiscard]] const char* what() const noexcept override { return message.c_str(); }
  /// Without the details of the extended code: SQLITE_IOERR for SQLITE_IOERR_WRITE.
  [[nodiscard]] int primary() const noexcept { return code & 0xff; }
  /// Also when it is the log's index that could not grow.
  [[nodiscard]] bool is_disk_full() const noexcept {
    return primary() == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE;
  }

  int code;  ///< extended
  std::string message;
};

/// How a caller of the store sees it: `unavailable`, with a message that says what to do.
StoreError to_store_error(const SqlError& error);
inline StoreError store_error(StoreError::Kind kind, std::string message) {
  return {.kind = kind, .message = std::move(message)};
}

/// Bytes as a blob; std::string_view alone means text.
struct Blob {
  std::string_view bytes{};
};

namespace detail {
[[noreturn]] void throw_error(sqlite3* database, int code, const char* doing);
void store_big_endian(unsigned char* to, std::uint64_t number) noexcept;
std::uint64_t load_big_endian(const unsigned char* from) noexcept;
}  // namespace detail

/// One prepared statement of a connection, which outlives it. Text and blobs are bound without a copy: they
/// stay where they are until the statement has run or is reset. Not moved while it runs. Positions of
/// parameters count from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* database, std::string_view sql);

  /// Binds all parameters in order and runs to the end: for statements without rows, or whose rows don't
  /// matter. For the others there is Cursor.
  template <class... Values>
  void run(const Values&... values) {
    const Reset reset(*this);
    bind_all(values...);
    while (step()) {
    }
  }

  template <class... Values>
  void bind_all(const Values&... values) {
    int position = 0;
    (bind(++position, values), ...);
  }

  template <std::signed_integral T>
  void bind(int position, T value) {
    check(sqlite3_bind_int64(get(), position, value));
  }
  template <std::unsigned_integral T>
  void bind(int position, T value) {
    check(sqlite3_bind_int64(get(), position, static_cast<sqlite3_int64>(value)));
  }
  template <class Tag>
  void bind(int position, Number<Tag> value) {
    bind(position, value.value);
  }
  /// 16 bytes, the higher ones first: hex() shows what to_string() does.
  template <class Tag>
  void bind(int position, Token<Tag> value) {
    bind_token(position, value.high, value.low);
  }
  void bind(int position, std::string_view text) {
    // A null pointer would mean NULL, not an empty text.
    check(sqlite3_bind_text64(get(), position, text.data() == nullptr ? "" : text.data(), text.size(),
                              nullptr, SQLITE_UTF8));
  }
  void bind(int position, Blob blob) {
    check(sqlite3_bind_blob64(get(), position, blob.bytes.data() == nullptr ? "" : blob.bytes.data(),
                              blob.bytes.size(), nullptr));
  }
  void bind(int position, std::nullptr_t) { check(sqlite3_bind_null(get(), position)); }
  template <class T>
  void bind(int position, const std::optional<T>& value) {
    if (value) {
      bind(position, *value);
    } else {
      bind(position, nullptr);
    }
  }

  /// True when there is a row, false at the end.
  bool step() {
    const int code = sqlite3_step(get());
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) [[unlikely]]
      fail(code);
    return false;
  }
  /// Ready to be bound and run again. Never fails: an error was reported by step() already.
  void reset() noexcept {
    sqlite3_reset(get());
    tokens_used_ = 0;
  }

  // The columns of the row that step() stopped at. Views hold until the next step or reset.
  [[nodiscard]] std::int64_t int64(int column) const noexcept { return sqlite3_column_int64(get(), column); }
  [[nodiscard]] std::uint64_t uint64(int column) const noexcept {
    return static_cast<std::uint64_t>(sqlite3_column_int64(get(), column));
  }
  [[nodiscard]] int integer(int column) const noexcept { return sqlite3_column_int(get(), column); }
  [[nodiscard]] bool truth(int column) const noexcept { return int64(column) != 0; }
  template <class NumberType>
  [[nodiscard]] NumberType number(int column) const noexcept {
    return NumberType{uint64(column)};
  }
  /// Empty when the column is NULL or no blob of 16 bytes.
  template <class TokenType>
  [[nodiscard]] TokenType token(int column) const noexcept {
    const std::string_view bytes = blob(column);
    if (bytes.size() != 16) return {};
    const auto* start = static_cast<const unsigned char*>(static_cast<const void*>(bytes.data()));
    return {detail::load_big_endian(start), detail::load_big_endian(start + 8)};
  }
  [[nodiscard]] std::string_view text(int column) const noexcept {
    const auto* start = sqlite3_column_text(get(), column);
    return view(start, column);
  }
  [[nodiscard]] std::string_view blob(int column) const noexcept {
    const void* start = sqlite3_column_blob(get(), column);
    return view(start, column);
  }
  [[nodiscard]] bool is_null(int column) const noexcept {
    return sqlite3_column_type(get(), column) == SQLITE_NULL;
  }

  [[nodiscard]] sqlite3_stmt* get() const noexcept { return statement_.get(); }

  /// Resets the statement when it goes out of scope.
  class Reset {
   public:
    explicit Reset(Statement& statement) noexcept : statement_(statement) {}
    ~Reset() { statement_.reset(); }
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;

   private:
    Statement& statement_;
  };

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };

  void check(int code) {
    if (code != SQLITE_OK) [[unlikely]]
      fail(code);
  }
  [[noreturn]] void fail(int code) const;
  void bind_token(int position, std::uint64_t high, std::uint64_t low);
  [[nodiscard]] std::string_view view(const void* start, int column) const noexcept {
    if (start == nullptr) return {};
    return {static_cast<const char*>(start), static_cast<std::size_t>(sqlite3_column_bytes(get(), column))};
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  // Where bound tokens stay until the statement has run.
  std::array<std::array<unsigned char, 16>, 4> tokens_{};
  std::size_t tokens_used_ = 0;
};

/// A run of a statement that gives rows; resets it at the end of its scope.
///
///     for (Cursor row(statements.messages_of, key); row.next();) use(row->int64(0), row->blob(1));
class Cursor {
 public:
  template <class... Values>
  explicit Cursor(Statement& statement, const Values&... values) : statement_(statement), reset_(statement) {
    statement.bind_all(values...);
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  [[nodiscard]] bool next() { return statement_.step(); }
  const Statement* operator->() const noexcept { return &statement_; }

 private:
  Statement& statement_;
  Statement::Reset reset_;
};

/// One connection. One thread at a time uses it and its statements.
class Connection {
 public:
  Connection() = default;
  /// `flags` as for sqlite3_open_v2; SQLITE_OPEN_NOMUTEX and extended error codes are added. `vfs` may be
  /// null: the default one.
  Connection(const std::string& path, int flags, const char* vfs = nullptr);

  /// Runs all statements in the text, ignoring their rows.
  void exec(std::string_view sql);
  [[nodiscard]] Statement prepare(std::string_view sql) { return Statement(get(), sql); }
  /// The first column of the first row, as a number or as text; 0 or empty when there is none.
  [[nodiscard]] std::int64_t int64_of(std::string_view sql);
  [[nodiscard]] std::string text_of(std::string_view sql);

  /// Waits for other writers as long as the busy timeout allows.
  void begin_immediate() { begin_immediate_.run(); }
  /// How long whatever needs a lock waits for it.
  void set_busy_timeout(std::chrono::milliseconds timeout) noexcept {
    sqlite3_busy_timeout(get(), static_cast<int>(timeout.count()));
  }
  /// When it throws the transaction may still be open; rollback() ends it in any case.
  void commit() { commit_.run(); }
  /// Does nothing when no transaction is open, as some errors roll back by themselves.
  void rollback() noexcept;
  [[nodiscard]] bool in_transaction() const noexcept { return sqlite3_get_autocommit(get()) == 0; }

  /// Changes when another connection has changed the file, and only then. Exact within a transaction.
  [[nodiscard]] std::int64_t data_version();
  /// The number of the file's schema (PRAGMA user_version). Exact within a transaction.
  [[nodiscard]] std::int64_t schema_number();
  /// Throws when the file is no longer where it was opened: whatever is written then goes with this process.
  void require_in_place() const;
  /// Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const noexcept { return sqlite3_changes64(get()); }

  [[nodiscard]] sqlite3* get() const noexcept { return database_.get(); }
  explicit operator bool() const noexcept { return database_ != nullptr; }

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
  };

  std::unique_ptr<sqlite3, Close> database_;
  Statement begin_immediate_;
  Statement commit_;
  Statement rollback_;
  Statement data_version_;
  Statement schema_number_;
};

}  // namespace holdfast::sqlite_store
