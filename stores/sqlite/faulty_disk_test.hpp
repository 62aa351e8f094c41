// A disk for tests: it forgets what was not synced when its power is cut, its syncs and writes fail as Linux
// lets them fail, and it fills up.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sqlite_store {

/// A VFS of SQLite over the default one. Between syncs, what is written is kept in memory, where all
/// connections see it; a sync brings it to the real files, without waiting for the real disk. Locks and
/// shared memory are the real ones. Connections through it are closed before it goes. Any thread.
class FaultyDisk {
 public:
  enum class As : std::uint8_t { an_extra, the_default };

  explicit FaultyDisk(std::uint64_t seed, As as = As::an_extra);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }

  /// The power is cut in the n-th sync from now, the next one being the first: of all that was not synced by
  /// then any part may be on the disk, in pieces of 512 bytes. From then on everything fails.
  void cut_power_at_sync(int nth);
  void cut_power_now();
  [[nodiscard]] bool power_is_off() const;
  [[nodiscard]] int syncs() const;

  // Linux brings what was written to the disk when it likes. Where that fails it does not try again: the
  // bytes stay readable for a while, count as clean, and no later sync takes them along. Everybody who has
  // the file open at that moment is told so once, by the next sync, and so is whoever opens it before anybody
  // was told (since Linux 4.17). `file` is how the file's name ends: "-wal", ".db".

  /// What was written to the file and not synced is given up.
  void give_up_unsynced(std::string_view file);
  /// The next sync of that file finds that it fails: as above, and it says so.
  void fail_next_sync(std::string_view file);
  [[nodiscard]] int failed_syncs() const;
  /// What was given up is read from the disk again, where it never was.
  void evict_given_up();
  /// The n-th write from now, the next one being the first, fails with a part of it done.
  void fail_write(int nth);

  /// How much all files together may grow from now on, until the next call.
  void set_room(std::int64_t bytes);

 private:
  static constexpr std::size_t kSector = 512;
  using Sector = std::array<char, kSector>;
  struct File;

  /// One file, shared by all who have it open.
  struct Content {
    std::map<std::int64_t, Sector> unsynced{};  // by number
    std::map<std::int64_t, Sector> given_up{};  // readable, and never to be on the disk
    std::int64_t size = 0;                      // as its users see it
    std::int64_t real_size = 0;                 // as far as the real file still counts
    bool next_sync_fails = false;
    bool nobody_was_told = false;  // that something was given up
    std::vector<File*> users{};
  };
  struct Methods;

  int open(const char* path, File& file, int flags, int* out_flags);
  int remove(const char* path, int sync_folder);
  int read(File& file, char* to, int size, std::int64_t at);
  int write(File& file, const char* from, int size, std::int64_t at);
  int truncate(File& file, std::int64_t size);
  void put(File& file, const char* from, std::int64_t size, std::int64_t at);
  int sync(File& file);
  Sector load(const File& file, std::int64_t number) const;
  void close(File& file);
  static void give_up(Content& content);
  void cut_power();
  static void bring_to_real_file(sqlite3_file* real, Content& content);

  sqlite3_vfs* const real_;
  const std::string name_;
  sqlite3_vfs vfs_;
  mutable std::mutex mutex_{};
  std::mt19937_64 random_;
  std::map<std::string, Content> contents_{};
  int syncs_ = 0;
  int failed_syncs_ = 0;
  int cut_at_ = 0;
  int writes_until_failure_ = 0;  // 0: none fails
  bool off_ = false;
  std::int64_t room_ = INT64_MAX;
};

}  // namespace holdfast::sqlite_store
