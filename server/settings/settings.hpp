// The settings of `holdfast server`: from a file in TOML, the environment, and flags, the later ones first.
#pragma once

#include <holdfast/log.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::server {

enum class LogFormat : std::uint8_t { text, json };

struct Settings {
  std::string store{};
  std::vector<std::string> namespaces{};
  std::string listen{};
  std::string tls_certificate{};
  std::string tls_key{};
  std::string tokens{};
  bool insecure = false;
  std::vector<std::string> hosts{};
  bool schedules = true;

  std::size_t max_header = 0;
  std::size_t max_body = 0;
  std::size_t max_bodies = 0;
  std::size_t max_connections = 0;
  std::size_t max_connections_per_address = 0;
  std::size_t max_requests_per_token = 0;
  std::size_t max_waiting = 0;
  std::size_t store_threads = 0;
  Duration header_time{};
  Duration body_time{};
  Duration write_time{};
  Duration idle_time{};
  Duration poll_time{};
  Duration store_time{};
  Duration stop_time{};

  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::text;
};

/// One setting, as all of its forms are made from it.
struct Setting {
  enum class Kind : std::uint8_t { text, list, yes_or_no };

  std::string_view name{};  ///< in the file; HOLDFAST_NAME in the environment, and --name
  Kind kind = Kind::text;
  std::string_view value_name{};  ///< what stands behind the flag
  std::string_view standard{};    ///< as it would be written; of a list, its only value
  std::string_view help{};
  /// Throws std::invalid_argument.
  std::function<void(Settings&, const std::vector<std::string>&)> set{};

  [[nodiscard]] std::string flag() const;         ///< "--tls-key"
  [[nodiscard]] std::string environment() const;  ///< "HOLDFAST_TLS_KEY"
};
[[nodiscard]] const std::vector<Setting>& all_settings();

/// What is wrong with a setting, and where it was given.
class SettingsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Values that were given in one place.
struct Given {
  std::string name{};
  std::vector<std::string> values{};
  std::string where{};  ///< for messages: "--listen", "line 3 of holdfast.toml"
};
/// Reads a file in TOML. Throws SettingsError, which names the line.
[[nodiscard]] std::vector<Given> read_settings_file(const std::string& path);

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// That of this process.
[[nodiscard]] std::optional<std::string> process_environment(const std::string& name);

/// `flags` count before the environment, that before `file`, that before the defaults. Throws SettingsError.
[[nodiscard]] Settings make_settings(const std::vector<Given>& file, const Environment& environment,
                                     const std::vector<Given>& flags);

/// The table of settings for the documentation.
[[nodiscard]] std::string settings_table();

}  // namespace holdfast::server
