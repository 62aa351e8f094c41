// Place: the folder of one run, and the files in it.
#pragma once

#include <string>
#include <utility>

namespace holdfast::torture {

class Place {
 public:
  explicit Place(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::string database() const { return folder_ + "/torture.db"; }
  [[nodiscard]] std::string journal() const { return folder_ + "/journal"; }
  /// What a process said.
  [[nodiscard]] std::string log(const std::string& process) const { return folder_ + "/" + process + ".log"; }

 private:
  std::string folder_;
};

}  // namespace holdfast::torture
