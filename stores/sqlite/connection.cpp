#include "connection.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::sqlite_store {

namespace detail {

void throw_error(sqlite3* database, int code, const char* doing) {
  // Without a connection there is only the text of the code; with one, its own, unless that is of another
  // error.
  std::string message;
  if (database != nullptr && sqlite3_extended_errcode(database) == code) {
    message = sqlite3_errmsg(database);
  } else {
    message = sqlite3_errstr(code);
  }
  if (doing != nullptr) message.append(" (").append(doing).append(")");
  throw SqlError(code, std::move(message));
}

void store_big_endian(unsigned char* to, std::uint64_t number) noexcept {
  for (int at = 7; at >= 0; --at, number >>= 8U) to[at] = static_cast<unsigned char>(number & 0xffU);
}

std::uint64_t load_big_endian(const unsigned char* from) noexcept {
  std::uint64_t number = 0;
  for (int at = 0; at < 8; ++at) number = (number << 8U) | from[at];
  return number;
}

}  // namespace detail

StoreError to_store_error(const SqlError& error) {
  using ErrorKind = StoreError::Kind;
  const auto say = [&](std::string_view advice, ErrorKind kind = ErrorKind::unavailable) {
    return StoreError{.kind = kind, .message = "SQLite: " + error.message + std::string(advice)};
  };
  if (error.code == SQLITE_READONLY_DBMOVED) {
    return say("; nothing is accepted until it is back where it was, or this process is started again");
  }
  if (error.is_disk_full()) {
    return say(": the disk is full; nothing was lost, and work goes on once there is room");
  }
  switch (error.primary()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return say(": other processes kept the file locked for longer than busy_timeout; try again later");
    case SQLITE_IOERR:
      return say(": reading or writing the file failed; look at the disk and the system's log");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return say(": the file can't be written; look at its permissions and at those of its folder");
    case SQLITE_CANTOPEN:
      return say(": the file, or a file beside it, can't be opened; is it still there?");
    case SQLITE_NOMEM:
      return say(": there is not enough memory");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return say(
          ": THE DATABASE FILE IS DAMAGED. Stop all processes that use it, copy it and the files beside it, "
          "then restore a backup or try `sqlite3 <file> .recover`",
          ErrorKind::damaged);
    case SQLITE_SCHEMA:
      return say(
          ": stop this process, and start the version of Holdfast that upgraded the file, or a later one");
    default:
      return say("");
  }
}

Statement::Statement(sqlite3* database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) detail::throw_error(database, code, std::string(sql).c_str());
  statement_.reset(statement);
}

void Statement::fail(int code) const {
  detail::throw_error(sqlite3_db_handle(get()), code, sqlite3_sql(get()));
}

void Statement::bind_token(int position, std::uint64_t high, std::uint64_t low) {
  std::array<unsigned char, 16> copied{};
  const bool fits = tokens_used_ < tokens_.size();
  std::array<unsigned char, 16>& bytes = fits ? tokens_[tokens_used_++] : copied;
  detail::store_big_endian(bytes.data(), high);
  detail::store_big_endian(bytes.data() + 8, low);
  check(sqlite3_bind_blob(get(), position, bytes.data(), 16, fits ? nullptr : SQLITE_TRANSIENT));
}

Connection::Connection(const std::string& path, int flags, const char* vfs) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);
  database_.reset(database);  // also given when it failed, to ask it why
  if (code != SQLITE_OK) detail::throw_error(database, code, path.c_str());
  begin_immediate_ = prepare("BEGIN IMMEDIATE");
  commit_ = prepare("COMMIT");
  rollback_ = prepare("ROLLBACK");
  data_version_ = prepare("PRAGMA data_version");
  schema_number_ = prepare("PRAGMA user_version");
}

void Connection::exec(std::string_view sql) {
  const int code = sqlite3_exec(get(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) detail::throw_error(get(), code, std::string(sql.substr(0, 100)).c_str());
}

std::int64_t Connection::int64_of(std::string_view sql) {
  Statement statement = prepare(sql);
  return statement.step() ? statement.int64(0) : 0;
}

std::string Connection::text_of(std::string_view sql) {
  Statement statement = prepare(sql);
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

void Connection::rollback() noexcept {
  if (!in_transaction()) return;
  sqlite3_step(rollback_.get());
  rollback_.reset();
}

void Connection::require_in_place() const {
  int moved = 0;
  const int code = sqlite3_file_control(get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code == SQLITE_OK && moved != 0) {
    throw SqlError(SQLITE_READONLY_DBMOVED, "the file has been moved or deleted");
  }
}

std::int64_t Connection::schema_number() {
  Cursor row(schema_number_);
  return row.next() ? row->int64(0) : 0;
}

std::int64_t Connection::data_version() {
  Cursor row(data_version_);
  return row.next() ? row->int64(0) : 0;
}

}  // namespace holdfast::sqlite_store
