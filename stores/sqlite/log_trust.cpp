#include "log_trust.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

// SQLite's own files take 128 KiB less one byte in one write, and cut what is longer without a word.
constexpr std::size_t kChunk = 64U << 10U;

// The write-ahead log's index in shared memory, as SQLite's documentation of that format has it: pieces of 32
// KiB, the first of which begins with two copies of a header of 48 bytes.
constexpr int kIndexPiece = 32 << 10;
constexpr std::size_t kIndexHeaders = 96;

sqlite3_file* file_of(Connection& connection, int which) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.get(), "main", which, &file);
  return file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

void check(int code, const char* doing) {
  if (code == SQLITE_OK) return;
  throw SqlError(code, std::string(sqlite3_errstr(code)) +
                           ": an earlier write to the disk failed, and nothing is accepted before the "
                           "write-ahead log has been written again, which failed, too (" +
                           doing + ")");
}

// What a process leaves that ends while it changes the header: whoever comes next reads the log anew.
void forget_index(Connection& in_transaction) {
  sqlite3_file* const database = file_of(in_transaction, SQLITE_FCNTL_FILE_POINTER);
  if (database == nullptr) return;
  void volatile* index = nullptr;
  check(database->pMethods->xShmMap(database, 0, kIndexPiece, 0, &index), "its index");
  if (index == nullptr) return;
  auto* const bytes = static_cast<unsigned char volatile*>(index);
  std::fill(bytes, bytes + kIndexHeaders, static_cast<unsigned char>(0));
  database->pMethods->xShmBarrier(database);
}

void note_doubt(SharedWords& words) noexcept { words.commits_begun.fetch_add(1); }

bool in_doubt(const SharedWords& words) noexcept {
  return words.commits_whole.load() != words.commits_begun.load();
}

// A process that has committed may not have come to say so yet; in a new side file nobody has.
bool stays_in_doubt(const SharedWords& words) {
  constexpr int kLooks = 40;
  if (words.commits_whole.load() == 0 && in_doubt(words)) return true;
  for (int looks = 0; in_doubt(words); ++looks) {
    if (looks == kLooks) return true;
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  return false;
}

}  // namespace

bool may_have_lost_writes(int code) noexcept {
  if ((code & 0xff) != SQLITE_IOERR) return false;
  return code != SQLITE_IOERR_READ && code != SQLITE_IOERR_SHORT_READ && code != SQLITE_IOERR_SHMSIZE;
}

LogTrust::LogTrust(Connection& writer, SideFile& side_file, Logger* logger) noexcept
    : writer_(writer), side_file_(side_file), logger_(logger) {
  sqlite3_db_config(writer_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void LogTrust::doubt(const std::string& database) {
  SideFile side_file(database, nullptr);
  note_doubt(side_file.page()->words());
}

void LogTrust::require() {
  in_doubt_ = stays_in_doubt(side_file_.page()->words());
  if (in_doubt_) make_whole();
  in_doubt_ = false;
}

void LogTrust::make_whole() {
  forget_index(writer_);
  writer_.commit();
  writer_.begin_immediate();  // reads the log anew
  const std::shared_ptr<SharedPage> page = side_file_.page();
  const std::uint32_t begun = page->words().commits_begun.load();
  const std::uint64_t bytes = write_log_again();
  page->words().commits_whole.store(begun);
  if (logger_ != nullptr && bytes > 0) {
    log(*logger_, LogLevel::info,
        "the write-ahead log was written to the disk again, as a write had failed or a process had ended "
        "within a commit",
        {{"bytes", bytes}});
  }
}

std::uint64_t LogTrust::write_log_again() {
  sqlite3_file* const log = file_of(writer_, SQLITE_FCNTL_JOURNAL_POINTER);
  if (log == nullptr) return 0;
  sqlite3_int64 size = 0;
  check(log->pMethods->xFileSize(log, &size), "its size");
  if (size == 0) return 0;
  std::vector<char> chunk(kChunk);
  for (sqlite3_int64 at = 0; at < size;) {
    const int count = static_cast<int>(std::min<sqlite3_int64>(kChunk, size - at));
    check(log->pMethods->xRead(log, chunk.data(), count, at), "reading it");
    check(log->pMethods->xWrite(log, chunk.data(), count, at), "writing it");
    at += count;
  }
  check(log->pMethods->xSync(log, SQLITE_SYNC_NORMAL), "syncing it");
  return static_cast<std::uint64_t>(size);
}

void LogTrust::commit() {
  const std::shared_ptr<SharedPage> page = side_file_.page();
  const std::uint32_t number = page->words().commits_begun.fetch_add(1) + 1;
  const auto nothing_is_lost = [&] {
    // Not when there is a doubt about an earlier one, or somebody has removed it by now.
    std::uint32_t before = number - 1;
    page->words().commits_whole.compare_exchange_strong(before, number);
  };
  try {
    writer_.commit();
  } catch (const SqlError& error) {
    if (!may_have_lost_writes(error.code)) nothing_is_lost();
    throw;
  }
  nothing_is_lost();
}

void LogTrust::checkpoint_at_close() {
  if (in_doubt_) return;
  const int code =
      sqlite3_wal_checkpoint_v2(writer_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  note(code);
  if (code == SQLITE_OK) sqlite3_db_config(writer_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

void LogTrust::note(int code) {
  if (!may_have_lost_writes(code)) return;
  in_doubt_ = true;
  note_doubt(side_file_.page()->words());
}

}  // namespace holdfast::sqlite_store
