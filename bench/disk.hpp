// A folder on the disk that is measured, and what that disk can do by itself.
#pragma once

#include "bench/workload.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace holdfast::bench {

/// A folder of its own beside the running program, removed with all that is in it at the end. It is there,
/// and not where temporary files usually are, because that may be memory.
class DiskFolder {
 public:
  DiskFolder();
  ~DiskFolder();
  DiskFolder(const DiskFolder&) = delete;
  DiskFolder& operator=(const DiskFolder&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  /// "ext4", as far as it is known.
  [[nodiscard]] std::string file_system() const;

 private:
  std::filesystem::path path_;
};

/// Microseconds, the median, until one page that was written over is on the disk.
double sync_time(const DiskFolder& folder, bool data_only);

/// The least that can be durable: an append-only log, with one write and one fdatasync() for whatever all
/// instances have to say. Its file is written over from the front when it is full, as a log that is recycled:
/// a file that grows would cost more.
std::unique_ptr<Contender> append_log(const DiskFolder& folder, Shape shape, std::size_t in_flight);

}  // namespace holdfast::bench
