#include "stores/sqlite/faulty_disk_test.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace holdfast::sqlite_store {

/// As SQLite has it: this, and the real file behind it in the same memory.
struct FaultyDisk::File {
  sqlite3_file base{};
  FaultyDisk* disk = nullptr;
  std::string* path = nullptr;
  Content* content = nullptr;
  bool owes_error = false;  // something was given up since its last sync

  [[nodiscard]] sqlite3_file* real() {
    return static_cast<sqlite3_file*>(
        static_cast<void*>(static_cast<char*>(static_cast<void*>(this)) + sizeof(File)));
  }
  static File& of(sqlite3_file* file) { return *static_cast<File*>(static_cast<void*>(file)); }
};

/// What SQLite calls. Locks and shared memory go to the real file.
struct FaultyDisk::Methods {
  static FaultyDisk& disk(sqlite3_vfs* vfs) { return *static_cast<FaultyDisk*>(vfs->pAppData); }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
    File& opened = *new (file) File{};
    opened.disk = &disk(vfs);
    return opened.disk->open(path, opened, flags, out_flags);
  }
  static int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    return disk(vfs).remove(path, sync_folder);
  }

  static int close(sqlite3_file* file) {
    File& closed = File::of(file);
    closed.disk->close(closed);
    delete closed.path;
    return closed.real()->pMethods->xClose(closed.real());
  }
  static int read(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
    return File::of(file).disk->read(File::of(file), static_cast<char*>(to), size, at);
  }
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
    return File::of(file).disk->write(File::of(file), static_cast<const char*>(from), size, at);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    return File::of(file).disk->truncate(File::of(file), size);
  }
  static int sync(sqlite3_file* file, int) { return File::of(file).disk->sync(File::of(file)); }
  static int size(sqlite3_file* file, sqlite3_int64* size) {
    const std::lock_guard lock(File::of(file).disk->mutex_);
    *size = File::of(file).content->size;
    return SQLITE_OK;
  }
  static int control(sqlite3_file* file, int operation, void* argument) {
    if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
    return File::of(file).real()->pMethods->xFileControl(File::of(file).real(), operation, argument);
  }

  static int lock(sqlite3_file* file, int level) {
    return File::of(file).real()->pMethods->xLock(File::of(file).real(), level);
  }
  static int unlock(sqlite3_file* file, int level) {
    return File::of(file).real()->pMethods->xUnlock(File::of(file).real(), level);
  }
  static int is_reserved(sqlite3_file* file, int* result) {
    return File::of(file).real()->pMethods->xCheckReservedLock(File::of(file).real(), result);
  }
  static int sector_size(sqlite3_file*) { return static_cast<int>(kSector); }
  static int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }
  static int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
    return File::of(file).real()->pMethods->xShmMap(File::of(file).real(), page, size, extend, memory);
  }
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    return File::of(file).real()->pMethods->xShmLock(File::of(file).real(), offset, count, flags);
  }
  static void shm_barrier(sqlite3_file* file) {
    File::of(file).real()->pMethods->xShmBarrier(File::of(file).real());
  }
  static int shm_unmap(sqlite3_file* file, int remove_it) {
    return File::of(file).real()->pMethods->xShmUnmap(File::of(file).real(), remove_it);
  }

  static const sqlite3_io_methods* all() {
    static constexpr sqlite3_io_methods kMethods{
        .iVersion = 2,
        .xClose = close,
        .xRead = read,
        .xWrite = write,
        .xTruncate = truncate,
        .xSync = sync,
        .xFileSize = size,
        .xLock = lock,
        .xUnlock = unlock,
        .xCheckReservedLock = is_reserved,
        .xFileControl = control,
        .xSectorSize = sector_size,
        .xDeviceCharacteristics = characteristics,
        .xShmMap = shm_map,
        .xShmLock = shm_lock,
        .xShmBarrier = shm_barrier,
        .xShmUnmap = shm_unmap,
        .xFetch = nullptr,
        .xUnfetch = nullptr,
    };
    return &kMethods;
  }
};

FaultyDisk::FaultyDisk(std::uint64_t seed, As as)
    : real_(sqlite3_vfs_find(nullptr)), name_("faulty-" + std::to_string(seed)), vfs_(*real_), random_(seed) {
  vfs_.zName = name_.c_str();
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = Methods::open;
  vfs_.xDelete = Methods::remove;
  sqlite3_vfs_register(&vfs_, as == As::the_default ? 1 : 0);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
}

void FaultyDisk::cut_power_at_sync(int nth) {
  const std::lock_guard lock(mutex_);
  cut_at_ = syncs_ + nth;
}

void FaultyDisk::cut_power_now() {
  const std::lock_guard lock(mutex_);
  if (!off_) cut_power();
}

void FaultyDisk::give_up(Content& content) {
  for (auto& [number, sector] : content.unsynced) content.given_up.insert_or_assign(number, sector);
  content.unsynced.clear();
  content.nobody_was_told = true;
  for (File* const user : content.users) user->owes_error = true;
}

void FaultyDisk::give_up_unsynced(std::string_view file) {
  const std::lock_guard lock(mutex_);
  for (auto& [path, content] : contents_) {
    if (path.ends_with(file) && !content.unsynced.empty()) give_up(content);
  }
}

void FaultyDisk::fail_next_sync(std::string_view file) {
  const std::lock_guard lock(mutex_);
  for (auto& [path, content] : contents_) {
    if (path.ends_with(file)) content.next_sync_fails = true;
  }
}

int FaultyDisk::failed_syncs() const {
  const std::lock_guard lock(mutex_);
  return failed_syncs_;
}

void FaultyDisk::evict_given_up() {
  const std::lock_guard lock(mutex_);
  for (auto& [path, content] : contents_) content.given_up.clear();
}

void FaultyDisk::fail_write(int nth) {
  const std::lock_guard lock(mutex_);
  writes_until_failure_ = nth;
}

bool FaultyDisk::power_is_off() const {
  const std::lock_guard lock(mutex_);
  return off_;
}

int FaultyDisk::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

void FaultyDisk::set_room(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  room_ = bytes;
}

int FaultyDisk::open(const char* path, File& file, int flags, int* out_flags) {
  const std::lock_guard lock(mutex_);
  if (off_) return SQLITE_CANTOPEN;
  const int result = real_->xOpen(real_, path, file.real(), flags, out_flags);
  if (result != SQLITE_OK) return result;
  // A temporary file has no name and no other user.
  file.path = new std::string(path == nullptr ? "temporary " + std::to_string(random_()) : path);
  const auto [content, is_new] = contents_.try_emplace(*file.path);
  file.content = &content->second;
  if (is_new) {
    sqlite3_int64 size = 0;
    file.real()->pMethods->xFileSize(file.real(), &size);
    file.content->size = file.content->real_size = size;
  }
  file.content->users.push_back(&file);
  file.owes_error = file.content->nobody_was_told;
  file.base.pMethods = Methods::all();
  return SQLITE_OK;
}

// Nobody may be left to write what is not synced: in a page cache it would stay, so here it does.
void FaultyDisk::close(File& file) {
  const std::lock_guard lock(mutex_);
  Content& content = *file.content;
  std::erase(content.users, &file);
  if (!content.users.empty() || off_) return;
  bring_to_real_file(file.real(), content);
  if (content.given_up.empty()) contents_.erase(*file.path);
}

int FaultyDisk::remove(const char* path, int sync_folder) {
  const std::lock_guard lock(mutex_);
  if (off_) return SQLITE_IOERR_DELETE;
  if (const auto found = contents_.find(path); found != contents_.end() && found->second.users.empty()) {
    contents_.erase(found);
  }
  return real_->xDelete(real_, path, sync_folder);
}

FaultyDisk::Sector FaultyDisk::load(const File& file, std::int64_t number) const {
  const Content& content = *file.content;
  if (const auto found = content.unsynced.find(number); found != content.unsynced.end()) return found->second;
  if (const auto found = content.given_up.find(number); found != content.given_up.end()) return found->second;
  Sector sector{};
  const std::int64_t start = number * static_cast<std::int64_t>(kSector);
  const std::int64_t there = std::min<std::int64_t>(content.real_size - start, kSector);
  sqlite3_file* real = const_cast<File&>(file).real();
  if (there > 0) real->pMethods->xRead(real, sector.data(), static_cast<int>(there), start);
  return sector;
}

int FaultyDisk::read(File& file, char* to, int size, std::int64_t at) {
  const std::lock_guard lock(mutex_);
  if (off_) return SQLITE_IOERR_READ;
  const std::int64_t end = std::min<std::int64_t>(at + size, file.content->size);
  std::memset(to, 0, static_cast<std::size_t>(size));
  for (std::int64_t from = at; from < end;) {
    const Sector sector = load(file, from / static_cast<std::int64_t>(kSector));
    const auto skip = static_cast<std::size_t>(from) % kSector;
    const auto count = std::min<std::size_t>(kSector - skip, static_cast<std::size_t>(end - from));
    std::memcpy(to + (from - at), sector.data() + skip, count);
    from += static_cast<std::int64_t>(count);
  }
  return end < at + size ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

int FaultyDisk::write(File& file, const char* from, int size, std::int64_t at) {
  const std::lock_guard lock(mutex_);
  if (off_) return SQLITE_IOERR_WRITE;
  const std::int64_t growth = std::max<std::int64_t>(at + size - file.content->size, 0);
  if (growth > room_) return SQLITE_FULL;
  if (writes_until_failure_ > 0 && --writes_until_failure_ == 0) {
    put(file, from, static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(size)), at);
    return SQLITE_IOERR_WRITE;
  }
  put(file, from, size, at);
  return SQLITE_OK;
}

void FaultyDisk::put(File& file, const char* from, std::int64_t size, std::int64_t at) {
  Content& content = *file.content;
  const std::int64_t growth = std::max<std::int64_t>(at + size - content.size, 0);
  room_ -= growth;
  for (std::int64_t to = at; to < at + size;) {
    const std::int64_t number = to / static_cast<std::int64_t>(kSector);
    const auto skip = static_cast<std::size_t>(to) % kSector;
    const auto count = std::min<std::size_t>(kSector - skip, static_cast<std::size_t>(at + size - to));
    Sector sector = load(file, number);
    std::memcpy(sector.data() + skip, from + (to - at), count);
    content.unsynced[number] = sector;
    content.given_up.erase(number);
    to += static_cast<std::int64_t>(count);
  }
  content.size += growth;
}

int FaultyDisk::truncate(File& file, std::int64_t size) {
  const std::lock_guard lock(mutex_);
  if (off_) return SQLITE_IOERR_TRUNCATE;
  Content& content = *file.content;
  const std::int64_t kept =
      (size + static_cast<std::int64_t>(kSector) - 1) / static_cast<std::int64_t>(kSector);
  content.unsynced.erase(content.unsynced.lower_bound(kept), content.unsynced.end());
  content.given_up.erase(content.given_up.lower_bound(kept), content.given_up.end());
  const std::int64_t freed = std::max<std::int64_t>(content.size - size, 0);
  room_ += std::min(freed, INT64_MAX - room_);
  content.size = size;
  content.real_size = std::min(content.real_size, size);
  return SQLITE_OK;
}

void FaultyDisk::bring_to_real_file(sqlite3_file* real, Content& content) {
  real->pMethods->xTruncate(real, content.real_size);
  for (const auto& [number, sector] : content.unsynced) {
    real->pMethods->xWrite(real, sector.data(), static_cast<int>(kSector),
                           number * static_cast<std::int64_t>(kSector));
  }
  real->pMethods->xTruncate(real, content.size);
  content.unsynced.clear();
  content.real_size = content.size;
}

int FaultyDisk::sync(File& file) {
  const std::lock_guard lock(mutex_);
  if (off_) return SQLITE_IOERR_FSYNC;
  if (++syncs_ == cut_at_) {
    cut_power();
    return SQLITE_IOERR_FSYNC;
  }
  if (std::exchange(file.content->next_sync_fails, false)) give_up(*file.content);
  if (std::exchange(file.owes_error, false)) {
    ++failed_syncs_;
    file.content->nobody_was_told = false;
    return SQLITE_IOERR_FSYNC;
  }
  bring_to_real_file(file.real(), *file.content);
  return SQLITE_OK;
}

void FaultyDisk::cut_power() {
  off_ = true;
  for (auto& [path, content] : contents_) {
    if (content.users.empty()) continue;
    sqlite3_file* const real = content.users.front()->real();
    // From none to all of it, so that the rare cases come up as well.
    const std::uint64_t share = random_() % 5;
    std::erase_if(content.unsynced, [&](const auto&) { return random_() % 4 >= share; });
    sqlite3_int64 durable_size = 0;
    real->pMethods->xFileSize(real, &durable_size);
    const bool shortened = content.real_size < durable_size && random_() % 2 == 0;
    std::int64_t size = shortened ? content.real_size : std::int64_t{durable_size};
    if (!content.unsynced.empty()) {
      const std::int64_t end = (content.unsynced.rbegin()->first + 1) * static_cast<std::int64_t>(kSector);
      size = std::max(size, std::min(end, content.size));
    }
    content.real_size = shortened ? content.real_size : std::int64_t{durable_size};
    content.size = size;
    bring_to_real_file(real, content);
  }
}

}  // namespace holdfast::sqlite_store
