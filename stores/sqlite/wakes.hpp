// Waiting on a database file: news of this process by the wake bus, news of others by the side file.
#pragma once

#include "contract/wake_bus.hpp"
#include "side_file.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/log.hpp>
#include <holdfast/store/waiting.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace holdfast::sqlite_store {

/// Carries news between all who have the file open. Other processes say only what kinds of news there are, so
/// their cancels concern every worker here and their instances may be any. Any thread.
///
/// A process that dies between its commit and its news, or can't use the side file, is not heard: so who
/// waits looks once per second (`floor`) at the files of the database, and takes a change of them for news of
/// all kinds.
class FileWakes {
 public:
  static constexpr std::chrono::milliseconds kFloor{1000};

  /// `database` is the path of the file, empty for one in memory. The clock outlives it and its listeners.
  /// Waits block under real_clock() only, as those of a WakeBus.
  FileWakes(std::string database, std::shared_ptr<SideFile> side_file, const Clock& clock,
            std::chrono::milliseconds floor = kFloor);
  ~FileWakes();
  FileWakes(const FileWakes&) = delete;
  FileWakes& operator=(const FileWakes&) = delete;

  [[nodiscard]] std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker);

  /// Call it after the commit: whoever is woken must find what woke it. Costs no system call while nobody
  /// waits.
  void publish(const store::News& news);

 private:
  class Shared;
  class Ear;
  std::shared_ptr<Shared> shared_;
};

}  // namespace holdfast::sqlite_store
