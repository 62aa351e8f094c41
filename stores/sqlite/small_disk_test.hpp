// A small disk in memory, for root only, in a process of its own that other processes don't see.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::sqlite_store {

/// How a process ends that needed a SmallDisk and was not allowed to have one.
inline constexpr int kNotAllowed = 77;

/// Goes with the process that made it.
class SmallDisk {
 public:
  explicit SmallDisk(std::filesystem::path path, const std::string& size = "2m") : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    there_ = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             mount("none", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }

  [[nodiscard]] bool is_there() const { return there_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// To the last byte.
  void fill() const {
    for (int i = 0; i < 2; ++i) {  // what a failed write leaves unused is taken by the next
      std::ofstream file(path_ / ("ballast" + std::to_string(i)));
      const std::string block(4096, 'x');
      while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
      }
    }
  }
  void make_room() const {
    for (int i = 0; i < 2; ++i) std::filesystem::remove(path_ / ("ballast" + std::to_string(i)));
  }
  /// What somebody else has on it, until make_room().
  void put(std::size_t bytes) const {
    std::ofstream file(path_ / "ballast0");
    file << std::string(bytes, 'x');
  }
  /// As an operator would, with a larger disk.
  void grow() const { mount("none", path_.c_str(), "tmpfs", MS_REMOUNT, "size=20m"); }

 private:
  std::filesystem::path path_;
  bool there_ = false;
};

}  // namespace holdfast::sqlite_store
