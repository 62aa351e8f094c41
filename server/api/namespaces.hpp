// The namespaces of a store that one server serves.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/log.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/options.hpp>
#include <holdfast/runtime.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server {

struct NamespacesOptions {
  std::string store{};  ///< an address, or the path of a file
  std::vector<std::string> names{};
  bool schedules = true;  ///< run what keeps schedules
  Duration store_time{};  ///< how long a call is repeated
  std::shared_ptr<Logger> logger{};
  std::shared_ptr<Metrics> metrics{};
};

/// "app.db" as "sqlite:app.db"; what is an address already stays as it is.
[[nodiscard]] std::string store_address(std::string_view text);

/// Thread-safe once it is made.
class Namespaces {
 public:
  /// Opens the store for each. Throws StoreOpenError, ClientError.
  explicit Namespaces(const NamespacesOptions& options);
  /// stop()
  ~Namespaces();
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;

  [[nodiscard]] std::vector<std::string> names() const;
  /// Nothing when it is not served.
  [[nodiscard]] const Client* find(std::string_view name) const;
  /// Asks the store of each namespace something. Throws when one does not answer.
  void probe() const;
  /// Ends waits and calls that were begun; releases what the runtimes hold.
  void stop();

 private:
  struct Served {
    std::string name{};
    Client client;
    std::unique_ptr<Runtime> runtime{};
  };
  std::vector<Served> served_;
};

}  // namespace holdfast::server
