// A disk of a few megabytes, for tests of what happens when it is full.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace holdfast::support {

/// How a process ends that needed a SmallDisk and was not allowed to have one.
inline constexpr int kNotAllowed = 77;

/// Memory, mounted on a folder where this user may do so (root): for this process and those that it starts
/// from now on, from this thread or from threads that are younger. Nobody else sees it, and it is gone with
/// them, however they end.
class SmallDisk {
 public:
  explicit SmallDisk(std::filesystem::path path, const std::string& size = "2m") : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("none", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
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
  void grow() const { ::mount("none", path_.c_str(), "tmpfs", MS_REMOUNT, "size=20m"); }

 private:
  std::filesystem::path path_;
  bool mounted_ = false;
};

}  // namespace holdfast::support
