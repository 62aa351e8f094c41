// Whether the write-ahead log is on the disk as far as SQLite believes, and what is done when that is in
// doubt.
#pragma once

#include "connection.hpp"
#include "side_file.hpp"

#include <holdfast/log.hpp>

#include <cstdint>
#include <string>

namespace holdfast::sqlite_store {

/// Whether SQLite's code says that bytes that were written may never be on the disk.
bool may_have_lost_writes(int code) noexcept;

/// Where a write to the disk fails, Linux says so once, to one sync, and gives the bytes up: they stay
/// readable for a while, and no later sync takes them along. What is appended behind them and synced would be
/// acknowledged, and after a power cut SQLite would stop reading the log at the hole before it. The same
/// holds for what a checkpoint has brought to the database file.
///
/// So after such an error nothing is committed before the log has been made whole: SQLite reads it anew, as
/// after a crash, which checks each frame and forgets what was moved into the database file already; then all
/// of its bytes are written again and synced.
///
/// That there is a doubt stands in the side file, where every process sees it, from before each commit until
/// it has succeeded: a process that ends in between leaves it behind. Used where the writer's connection is.
class LogTrust {
 public:
  /// Both outlive it; `logger` may be null, and must not ask the store: it is told with the write lock held.
  /// SQLite's own checkpoint when the last connection closes tells
  /// nobody how it ended, so from now on it is not made: see checkpoint_at_close().
  LogTrust(Connection& writer, SideFile& side_file, Logger* logger) noexcept;

  /// With the write lock held and nothing written yet. When the log is in doubt it is made whole, in which
  /// another process may get the lock in between. Throws SqlError when that can't be done now.
  void require();
  void commit();
  /// A transaction or a checkpoint ended with that code of SQLite.
  void note(int code);
  /// Before the connection is closed, with no transaction open: moves the log into the database file, and
  /// lets the last who closes remove it. When that fails it stays.
  void checkpoint_at_close();
  /// Whether this process knows of an error and the log has not been made whole since: then nothing may be
  /// moved into the database file. Those that it does not know of yet are told to it by its own syncs.
  [[nodiscard]] bool is_in_doubt() const noexcept { return in_doubt_; }

  /// For who has no connection that could be asked: the log beside that database is in doubt.
  static void doubt(const std::string& database);

 private:
  void make_whole();
  std::uint64_t write_log_again();

  Connection& writer_;
  SideFile& side_file_;
  Logger* const logger_;
  bool in_doubt_ = false;
};

}  // namespace holdfast::sqlite_store
