// Opening a database file: what must be true of it and of the place where it lies, and how connections to it
// are set up.
#pragma once

#include "connection.hpp"
#include "migrations.hpp"

#include <holdfast/sqlite.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast::sqlite_store {

struct OpenedDatabase {
  Connection writer{};
  std::string path{};  ///< where the file really is, without links; empty when it is in memory
};

/// What tests put in place of the machine.
struct OpenSeams {
  const char* vfs = nullptr;  ///< SQLite's default when empty
  /// The kind of file system that a folder is on, as statfs(2) names it.
  std::function<std::int64_t(const std::string& folder)> file_system{};
};

/// Opens the file, or makes it, and brings its schema up to date. Throws StoreOpenError, whose message names
/// the file, what is wrong with it and what to do, having changed nothing: no file of another program is ever
/// written, nor are files made beside it.
OpenedDatabase open_database(const std::filesystem::path& path, const SqliteOptions& options,
                             const MigrationPlan& plan, const OpenSeams& seams = {});

/// The StoreOpenError for what SQLite says about a file that is being opened.
[[noreturn]] void throw_open_error(const SqlError& error, const std::filesystem::path& path);

/// One more connection to a file that is open already, for reading only.
Connection open_reader(const OpenedDatabase& opened, const SqliteOptions& options,
                       const OpenSeams& seams = {});

/// How many bytes are left for this user on the disk of that folder; as many as there are numbers when that
/// is not known.
std::uint64_t room_on_disk(const std::string& folder);

/// What a file system is called on which locks or shared memory don't work between all who use it; empty when
/// there is nothing to say against it.
std::string_view network_file_system(std::int64_t magic) noexcept;

}  // namespace holdfast::sqlite_store
