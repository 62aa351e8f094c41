// The file beside a database through which the processes that share it take turns and wake each other.
#pragma once

#include "base/mutex.hpp"

#include <holdfast/log.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::sqlite_store {

/// What stands in the file, in memory that all processes share. Nothing of it has to survive, and nothing
/// here decides about rows: whoever finds nonsense in it waits too long or too short, or writes the log once
/// more than needed, and no more.
struct SharedWords {
  std::atomic<std::uint32_t> layout{};  ///< kLayout
  // Turns at the write lock.
  std::atomic<std::uint32_t> tickets{};       ///< given so far
  std::atomic<std::uint32_t> turns{};         ///< grows with each turn that ends
  std::atomic<std::uint32_t> turn_waiters{};  ///< at least those who wait for `turns`; too many after a crash
  // News.
  std::atomic<std::uint32_t> sequence{};             ///< grows with each commit that had news
  std::atomic<std::uint32_t> waiters{};              ///< of `sequence`, as above
  std::array<std::atomic<std::uint32_t>, 8> news{};  ///< grows with each commit that had news of that kind
  // Doubts about the log: there is one while these two differ. See LogTrust.
  std::atomic<std::uint32_t> commits_begun{};
  std::atomic<std::uint32_t> commits_whole{};  ///< the last one up to which all is on the disk
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Memory that stands for the side file, as long as somebody uses it.
class SharedPage {
 public:
  static constexpr std::uint32_t kLayout = 2;

  /// Maps the file, making it if need be, with the permissions of the database. Null when that is not
  /// possible; `why` says it.
  static std::shared_ptr<SharedPage> map(const std::string& path, const std::string& database,
                                         std::string& why);
  /// Of this process alone.
  static std::shared_ptr<SharedPage> alone();

  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  [[nodiscard]] SharedWords& words() const noexcept { return *words_; }
  /// -1 when no file stands behind it.
  [[nodiscard]] int file() const noexcept { return file_; }
  /// Whether `path` still leads to this file.
  [[nodiscard]] bool is_at(const std::string& path) const noexcept;

 private:
  SharedPage(int file, void* memory) noexcept;

  int file_;
  SharedWords* words_;
};

/// The side file of one database. When it can't be used, or goes away, this process makes do without others
/// hearing of it, says so once, and tries again from time to time. Any thread.
class SideFile {
 public:
  /// Beside `database`; without one (in memory) there is never a file. `logger` may be null.
  SideFile(const std::string& database, Logger* logger,
           std::chrono::milliseconds look_every = std::chrono::seconds{1});

  [[nodiscard]] std::shared_ptr<SharedPage> page() const;
  /// Looks whether the file is still there, at most once per `look_every`. True when page() is another than
  /// before.
  bool look_after();

 private:
  /// What is to be said of the file. The logger is code of the user, and may ask for the page.
  struct Remark {
    enum class Kind : std::uint8_t { none, unusable, usable_again };
    Kind kind = Kind::none;
    std::string why{};
  };
  Remark attach() HOLDFAST_REQUIRES(mutex_);
  void say(const Remark& remark) const HOLDFAST_EXCLUDES(mutex_);

  const std::string database_;
  const std::string path_;
  Logger* const logger_;
  const std::chrono::milliseconds look_every_;
  mutable Mutex mutex_;
  std::shared_ptr<SharedPage> page_ HOLDFAST_GUARDED_BY(mutex_){};
  std::chrono::steady_clock::time_point looked_ HOLDFAST_GUARDED_BY(mutex_){};
  bool complained_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::sqlite_store
