// A folder of its own for each test that needs files; gone with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast::support {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& in = std::filesystem::temp_directory_path())
      : path_((in / "holdfast-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder: " + path_);
  }
  ~TemporaryFolder() {
    if (kept_) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  friend std::string operator/(const TemporaryFolder& folder, std::string_view name) {
    return folder.path_ + "/" + std::string(name);
  }
  /// For people to look into: it stays when this object goes.
  void keep() noexcept { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

}  // namespace holdfast::support
