#include "side_file.hpp"

#include "futex.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace holdfast::sqlite_store {

namespace {

constexpr std::size_t kSize = 4096;
static_assert(sizeof(SharedWords) <= kSize);

// The file belongs to whom the database belongs to, so that all who may use that may use this.
int open_like(const std::string& path, const std::string& database) {
  struct stat like{};
  if (::stat(database.c_str(), &like) != 0) return -1;
  const int found = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (found >= 0 || errno != ENOENT) return found;
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (made < 0) return errno == EEXIST ? ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
  if (::geteuid() == 0 && ::fchown(made, like.st_uid, like.st_gid) != 0) errno = 0;
  if (::fchmod(made, like.st_mode & 0777U) != 0) errno = 0;
  return made;
}

// Room that is really there: a write to a mapped page of a full disk would kill the process.
bool allocate(int file) {
  if (::fallocate(file, 0, 0, kSize) == 0) return true;
  if (errno != EOPNOTSUPP) return false;
  struct stat now{};
  if (::fstat(file, &now) != 0) return false;
  if (static_cast<std::size_t>(now.st_size) >= kSize) return true;
  const std::array<char, kSize> zeroes{};
  return ::pwrite(file, zeroes.data(), zeroes.size(), 0) == static_cast<ssize_t>(kSize);
}

bool same_layout(SharedWords& words) {
  std::uint32_t found = words.layout.load();
  // Nobody knows what was before a new file.
  if (found == 0) words.commits_begun.fetch_add(1);
  found = 0;
  return words.layout.compare_exchange_strong(found, SharedPage::kLayout) || found == SharedPage::kLayout;
}

}  // namespace

// Zeroes, as a new file has them, are what the words start from.
SharedPage::SharedPage(int file, void* memory) noexcept
    : file_(file), words_(std::launder(static_cast<SharedWords*>(memory))) {}

SharedPage::~SharedPage() {
  ::munmap(words_, kSize);
  if (file_ >= 0) ::close(file_);
}

std::shared_ptr<SharedPage> SharedPage::map(const std::string& path, const std::string& database,
                                            std::string& why) {
  const int file = open_like(path, database);
  if (file < 0 || !allocate(file)) {
    why = std::strerror(errno);
    if (file >= 0) ::close(file);
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    why = std::strerror(errno);
    ::close(file);
    return nullptr;
  }
  std::shared_ptr<SharedPage> page(new SharedPage(file, memory));
  if (same_layout(page->words())) return page;
  why = "it was written by another version of Holdfast";
  return nullptr;
}

std::shared_ptr<SharedPage> SharedPage::alone() {
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  std::shared_ptr<SharedPage> page(new SharedPage(-1, memory));
  page->words().commits_begun.store(1);  // nobody knows what was before
  return page;
}

bool SharedPage::is_at(const std::string& path) const noexcept {
  struct stat mine{};
  struct stat there{};
  return ::fstat(file_, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev && static_cast<std::size_t>(there.st_size) >= kSize;
}

SideFile::SideFile(const std::string& database, Logger* logger, std::chrono::milliseconds look_every)
    : database_(database),
      path_(database.empty() ? "" : database + "-wake"),
      logger_(logger),
      look_every_(look_every) {
  Remark remark;
  {
    const MutexLock lock(mutex_);
    remark = attach();
  }
  say(remark);
}

std::shared_ptr<SharedPage> SideFile::page() const {
  const MutexLock lock(mutex_);
  return page_;
}

bool SideFile::look_after() {
  if (path_.empty()) return false;
  Remark remark;
  bool moved = false;
  {
    const MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < look_every_) return false;
    const auto before = page_;
    if (page_->file() < 0 || !page_->is_at(path_)) remark = attach();
    looked_ = now;
    moved = page_ != before;
    if (moved) {
      before->words().sequence.fetch_add(1);  // so that who sleeps there comes over
      futex_wake_all(before->words().sequence);
    }
  }
  say(remark);
  return moved;
}

SideFile::Remark SideFile::attach() {
  looked_ = std::chrono::steady_clock::now();
  std::string why;
  auto mapped = path_.empty() ? nullptr : SharedPage::map(path_, database_, why);
  if (mapped == nullptr) {
    if (page_ == nullptr || page_->file() >= 0) page_ = SharedPage::alone();
    if (path_.empty() || std::exchange(complained_, true)) return {};
    return {.kind = Remark::Kind::unusable, .why = std::move(why)};
  }
  page_ = std::move(mapped);
  if (!std::exchange(complained_, false)) return {};
  return {.kind = Remark::Kind::usable_again};
}

void SideFile::say(const Remark& remark) const {
  if (logger_ == nullptr || remark.kind == Remark::Kind::none) return;
  if (remark.kind == Remark::Kind::usable_again) {
    log(*logger_, LogLevel::info, "the side file of the store can be used again", {{"file", path_}});
    return;
  }
  log(*logger_, LogLevel::warn,
      "the side file of the store can't be used: work of other processes is looked for once per second",
      {{"file", path_}, {"reason", remark.why}});
}

}  // namespace holdfast::sqlite_store
