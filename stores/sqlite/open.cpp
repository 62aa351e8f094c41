#include "open.hpp"

#include "log_trust.hpp"

#include <holdfast/errors.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast::sqlite_store {

namespace fs = std::filesystem;

namespace {

using OpenKind = StoreOpenError::Kind;

constexpr std::uint64_t kRoomForANewFile = 1U << 20U;

[[noreturn]] void refuse(OpenKind kind, const std::string& file, const std::string& why) {
  throw StoreOpenError(kind, "can't open the store '" + file + "': " + why);
}

// ---- the place -----------------------------------------------------------------------------------

std::int64_t statfs_magic(const std::string& folder) {
  struct statfs about{};
  return ::statfs(folder.c_str(), &about) == 0 ? std::int64_t{about.f_type} : 0;
}

// Never by opening it: closing a file drops the locks that this process may hold on it elsewhere.
bool may(int rights, const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), rights, AT_EACCESS) == 0;
}

void check_folder(const std::string& file, const std::string& folder, bool writes, const OpenSeams& seams) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) {
    refuse(OpenKind::no_directory, file, "there is no folder '" + folder + "'; make it, or correct the path");
  }
  const auto magic = seams.file_system ? seams.file_system(folder) : statfs_magic(folder);
  if (const auto name = network_file_system(magic); !name.empty()) {
    refuse(
        OpenKind::network_mount, file,
        "its folder is on a network file system (" + std::string(name) +
            "), where locks and shared memory don't work; put the file on a local disk, or use a store that "
            "several machines can share");
  }
  if (writes && !may(R_OK | W_OK, folder)) {
    refuse(OpenKind::read_only, file,
           "the folder '" + folder + "' can't be written (" + std::strerror(errno) +
               "), but the store also needs files beside its own; give this user the right to write there");
  }
}

// Payloads are nobody else's business; SQLite makes the files beside it in the same way. Not by opening it:
// see may(). When it can't be made, or is there by now, SQLite finds out.
void make_private(const std::string& file) {
  static_cast<void>(::mknod(file.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0));
}

// True when there is something in it.
bool check_existing(const std::string& file, const std::string& folder, const SqliteOptions& options) {
  std::error_code failed;
  const fs::file_status status = fs::status(file, failed);
  if (status.type() == fs::file_type::not_found ||
      (fs::is_regular_file(status) && fs::is_empty(file, failed))) {
    if (options.read_only || !options.create) {
      refuse(OpenKind::missing, file,
             std::string("there is no such file, and it is not to be created; correct the path, or ") +
                 (options.read_only ? "open it once without read_only" : "set SqliteOptions::create"));
    }
    if (room_on_disk(folder) < kRoomForANewFile) {
      refuse(OpenKind::disk_full, file, "the disk is full; make room on it");
    }
    if (status.type() == fs::file_type::not_found) {
      make_private(file);
      return false;
    }
  } else if (!fs::is_regular_file(status)) {
    refuse(OpenKind::not_a_store, file, "it is not a regular file; correct the path");
  }
  if (!may(options.read_only ? R_OK : R_OK | W_OK, file)) {
    const bool reads = options.read_only;
    refuse(reads ? OpenKind::no_access : OpenKind::read_only, file,
           "the file can't be " + std::string(reads ? "read (" : "written (") + std::strerror(errno) +
               "); give this user the right to read " + (reads ? "it" : "and write it"));
  }
  return !fs::is_empty(file, failed);
}

// ---- the file ------------------------------------------------------------------------------------

// The first bytes, before SQLite takes a lock or repairs anything.
std::array<unsigned char, 100> header_of(Connection& database) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  std::array<unsigned char, 100> header{};
  if (file != nullptr && file->pMethods != nullptr) {
    // What is missing in a short file is read as zeroes.
    file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0);
  }
  return header;
}

std::uint32_t number_at(const std::array<unsigned char, 100>& header, std::size_t at) {
  return (std::uint32_t{header.at(at)} << 24U) | (std::uint32_t{header.at(at + 1)} << 16U) |
         (std::uint32_t{header.at(at + 2)} << 8U) | header.at(at + 3);
}

[[noreturn]] void refuse_foreign(const std::string& file, const std::string& what) {
  refuse(OpenKind::not_a_store, file, what + "; correct the path, or choose another for the store");
}

[[noreturn]] void refuse_newer(const std::string& file, const std::string& what) {
  refuse(OpenKind::newer, file, what + "; run the version that wrote it, or a later one");
}

[[noreturn]] void refuse_newer_schema(const std::string& file, std::int64_t there,
                                      const MigrationPlan& plan) {
  refuse_newer(file, "its schema is " + std::to_string(there) +
                         ", written by a newer version of Holdfast; this one knows schemas up to " +
                         std::to_string(plan.newest()));
}

// A file of ours has our id in its first bytes from the first commit on, and SQLite must not touch another's,
// not even to roll back what a crash left behind.
void check_header(Connection& database, const std::string& file, const MigrationPlan& plan) {
  const auto header = header_of(database);
  const bool is_sqlite = std::memcmp(header.data(), "SQLite format 3", 16) == 0;
  const std::uint32_t application = is_sqlite ? number_at(header, 68) : 0;
  if (application == static_cast<std::uint32_t>(kApplicationId)) {
    const std::uint32_t version = number_at(header, 60);
    if (version <= static_cast<std::uint32_t>(plan.newest())) return;
    refuse_newer_schema(file, version, plan);
  }
  if (application != 0) refuse_foreign(file, "it is the database of another program");
  // The first commit itself may have been cut off: then SQLite has to undo it before the file can be judged.
  std::error_code failed;
  if (const auto size = fs::file_size(file + "-journal", failed); !failed && size > 0) return;
  refuse_foreign(file, is_sqlite ? "it is the database of another program" : "it is no database");
}

std::string_view synchronous(Durability durability) {
  switch (durability) {
    case Durability::full:
      return "FULL";
    case Durability::normal:
      return "NORMAL";
    case Durability::off:
      return "OFF";
  }
  return "FULL";
}

void set_up(Connection& database, const SqliteOptions& options) {
  // Checkpoints are the writer's business, at moments of its choice. Tables that SQL statements need on the
  // way never become files. What is deleted need not be overwritten: it costs a write each. A text in double
  // quotes is an error, not a string.
  sqlite3_busy_timeout(database.get(), static_cast<int>(options.busy_timeout.count()));
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  // Who only reads leaves the log to those who write.
  if (options.read_only) {
    sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  database.exec("PRAGMA synchronous = " + std::string(synchronous(options.durability)) +
                "; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0; "
                "PRAGMA cache_size = -16384; PRAGMA secure_delete = OFF");
}

// SQLite does not wait by itself for the others to be out of the file.
void switch_to_wal(Connection& database, const std::string& file, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    try {
      const std::string mode = database.text_of("PRAGMA journal_mode = WAL");
      if (mode == "wal") return;
      refuse(OpenKind::unavailable, file,
             "a write-ahead log is not possible there (the journal mode stays '" + mode +
                 "'); put the file on a local disk");
    } catch (const SqlError& error) {
      if (error.primary() != SQLITE_BUSY || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
}

// Damage shows where one looks; this looks at the beginning of each table and index.
void look_at_each_table(Connection& database) {
  std::vector<std::string> names;
  Statement tables = database.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name");
  for (Cursor row(tables); row.next();) names.emplace_back(row->text(0));
  for (const std::string& name : names) {
    std::string quoted = name;
    for (std::size_t at = 0; (at = quoted.find('"', at)) != std::string::npos; at += 2)
      quoted.insert(at, 1, '"');
    static_cast<void>(database.int64_of("SELECT count(*) FROM (SELECT * FROM \"" + quoted + "\" LIMIT 1)"));
  }
}

struct Advice {
  OpenKind kind = OpenKind::unavailable;
  std::string_view text{};
};

Advice advice_for(const SqlError& error, const std::string& folder) {
  switch (error.primary()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {OpenKind::busy, "another process keeps it locked; try again later, or stop that process"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {OpenKind::read_only,
              "it, or a file beside it, can't be written; give this user the right to write them all"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {OpenKind::corrupt,
              "the file is damaged or cut off; copy it and the files beside it, then restore a backup or try "
              "`sqlite3 <file> .recover`"};
    case SQLITE_IOERR:
      if (room_on_disk(folder) >= kRoomForANewFile) {
        return {OpenKind::unavailable, "reading or writing it failed; look at the disk and the system's log"};
      }
      [[fallthrough]];
    case SQLITE_FULL:
      return {OpenKind::disk_full, "the disk is full; make room on it"};
    case SQLITE_CANTOPEN:
      return {
          OpenKind::unavailable,
          "it, or a file beside it, can't be opened; look at the permissions and at the limit of open files"};
    default:
      return {OpenKind::unavailable, "SQLite could not open it, and says why"};
  }
}

[[noreturn]] void refuse_by(const MigrationRefused& refused, const std::string& file) {
  switch (refused.reason) {
    case MigrationRefused::Reason::foreign:
      refuse_foreign(file, refused.what());
    case MigrationRefused::Reason::newer:
      refuse_newer(file, refused.what());
    case MigrationRefused::Reason::older:
      refuse(OpenKind::not_a_store, file, std::string(refused.what()) + "; begin with a new file");
    case MigrationRefused::Reason::engines_at_work:
      break;
  }
  refuse(OpenKind::busy, file, refused.what());
}

void require_newest(Connection& database, const std::string& file, const MigrationPlan& plan) {
  const std::int64_t there = database.schema_number();
  if (there == plan.newest()) return;
  if (there > plan.newest()) refuse_newer_schema(file, there, plan);
  refuse(OpenKind::read_only, file,
         "it is of schema " + std::to_string(there) + ", this library works with schema " +
             std::to_string(plan.newest()) +
             ", and read_only does not upgrade it; open it once without read_only");
}

// As migrate(). When its commit may have left a hole in the log, the next who opens the file is told.
bool migrate_file(Connection& database, const MigrationPlan& plan) {
  try {
    return migrate(database, plan);
  } catch (const SqlError& error) {
    if (may_have_lost_writes(error.code)) {
      sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
      LogTrust::doubt(sqlite3_db_filename(database.get(), "main"));
    }
    throw;
  }
}

// SQLite reads a file with a write-ahead log through its log and the log's index, which it makes when nobody
// has the file open.
[[noreturn]] void refuse_without_index(const std::string& file, const std::string& folder) {
  refuse(
      OpenKind::read_only, file,
      "the folder '" + folder +
          "' can't be written, and SQLite's files beside the store (-wal, -shm), which it needs to read it, "
          "are not there: they are while a process that writes has it open; else open a copy of the file "
          "in a folder of your own");
}

OpenedDatabase open_file_for_reading(const std::string& file, const std::string& folder,
                                     const SqliteOptions& options, const MigrationPlan& plan,
                                     const OpenSeams& seams) try {
  OpenedDatabase opened;
  opened.writer = Connection(file, SQLITE_OPEN_READONLY, seams.vfs);
  Connection& database = opened.writer;
  check_header(database, file, plan);
  set_up(database, options);
  require_newest(database, file, plan);
  look_at_each_table(database);
  opened.path = sqlite3_db_filename(database.get(), "main");
  return opened;
} catch (const SqlError& error) {
  const bool lacks_files = error.primary() == SQLITE_CANTOPEN || error.primary() == SQLITE_READONLY;
  if (!lacks_files || may(W_OK, folder)) throw;
  refuse_without_index(file, folder);
}

// Until the end of it only reads, unless the file is new or of an older schema.
OpenedDatabase open_file(const std::string& file, bool has_content, const SqliteOptions& options,
                         const MigrationPlan& plan, const OpenSeams& seams) {
  OpenedDatabase opened;
  opened.writer = Connection(file, SQLITE_OPEN_READWRITE | (has_content ? 0 : SQLITE_OPEN_CREATE), seams.vfs);
  Connection& database = opened.writer;
  if (has_content) check_header(database, file, plan);
  set_up(database, options);
  // A new file gets its schema before its write-ahead log, so that its first bytes name us whenever it has
  // any.
  const bool changed = migrate_file(database, plan);
  switch_to_wal(database, file, options.busy_timeout);
  if (!changed) look_at_each_table(database);
  opened.path = sqlite3_db_filename(database.get(), "main");
  return opened;
}

OpenedDatabase open_in_memory(const SqliteOptions& options, const MigrationPlan& plan) {
  if (options.read_only) {
    throw StoreOpenError(OpenKind::invalid,
                         "a database in memory is new and empty, so it can't be opened with read_only");
  }
  OpenedDatabase opened;
  opened.writer = Connection(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  set_up(opened.writer, options);
  migrate(opened.writer, plan);
  return opened;
}

}  // namespace

std::uint64_t room_on_disk(const std::string& folder) {
  struct statvfs about{};
  if (::statvfs(folder.c_str(), &about) != 0) return UINT64_MAX;
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

std::string_view network_file_system(std::int64_t magic) noexcept {
  struct Known {
    std::int64_t magic = 0;
    std::string_view name{};
  };
  static constexpr std::array kKnown{
      Known{0x6969, "NFS"},        Known{0x517b, "SMB"},          Known{0xff534d42, "CIFS"},
      Known{0xfe534d42, "SMB2"},   Known{0x01021997, "9p"},       Known{0x5346414f, "AFS"},
      Known{0x6b414653, "AFS"},    Known{0x00c36400, "Ceph"},     Known{0x73757245, "Coda"},
      Known{0x564c, "NCP"},        Known{0x0bd00bd0, "Lustre"},   Known{0x01161970, "GFS2"},
      Known{0x7461636f, "OCFS2"},  Known{0x47504653, "GPFS"},     Known{0x19830326, "BeeGFS"},
      Known{0x786f4256, "vboxsf"}, Known{0x20030528, "OrangeFS"}, Known{0xaad7aaea, "PanFS"},
  };
  const auto found = std::ranges::find(kKnown, magic & 0xffffffff, &Known::magic);
  return found == kKnown.end() ? std::string_view{} : found->name;
}

void throw_open_error(const SqlError& error, const fs::path& path) {
  const fs::path file = fs::absolute(path);
  const Advice advice = advice_for(error, file.parent_path().string());
  refuse(advice.kind, file.string(), std::string(advice.text) + " (SQLite: " + error.message + ")");
}

OpenedDatabase open_database(const fs::path& path, const SqliteOptions& options, const MigrationPlan& plan,
                             const OpenSeams& seams) {
  if (path == ":memory:") return open_in_memory(options, plan);
  if (path.empty()) refuse(OpenKind::no_directory, "", "the path is empty; name a file");
  const std::string file = fs::absolute(path).string();
  const std::string folder = fs::absolute(path).parent_path().string();
  check_folder(file, folder, !options.read_only, seams);
  try {
    const bool has_content = check_existing(file, folder, options);
    if (options.read_only) return open_file_for_reading(file, folder, options, plan, seams);
    return open_file(file, has_content, options, plan, seams);
  } catch (const SqlError& error) {
    throw_open_error(error, path);
  } catch (const MigrationRefused& refused) {
    refuse_by(refused, file);
  }
}

Connection open_reader(const OpenedDatabase& opened, const SqliteOptions& options, const OpenSeams& seams) {
  Connection reader(opened.path, options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE, seams.vfs);
  set_up(reader, options);
  reader.exec("PRAGMA query_only = ON");
  return reader;
}

}  // namespace holdfast::sqlite_store
