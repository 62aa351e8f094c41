// Place: the folder of one run, the files in it, and the store that everybody works on.
#pragma once

#include <holdfast/store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {
class Logger;
}

namespace holdfast::torture {

class Place {
 public:
  explicit Place(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// The file, unless there is a server.
  [[nodiscard]] std::string database() const { return folder_ + "/torture.db"; }
  /// All processes work on this PostgreSQL server instead of a file. Before any of them is started.
  void use_server(const std::string& uri) const;
  [[nodiscard]] std::optional<std::string> server() const;
  /// One more handle of the store. Throws StoreOpenError.
  [[nodiscard]] std::shared_ptr<Store> open(Logger* logger = nullptr) const;

  /// Of one client; the first is 0.
  [[nodiscard]] std::string journal(std::uint64_t client) const {
    return folder_ + "/journal-" + std::to_string(client);
  }
  /// What a process said.
  [[nodiscard]] std::string log(const std::string& process) const { return folder_ + "/" + process + ".log"; }

 private:
  std::string folder_;
};

}  // namespace holdfast::torture
