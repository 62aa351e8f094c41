// Tokens: who may call the server, for what, and until when. They are kept in a file, as hashes.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server {

/// Each may do what the ones before it may do, but for `worker`, which is by itself.
enum class Role : std::uint8_t {
  worker,   ///< polls for work and answers
  operate,  ///< sees everything in its namespaces, and acts on it; written "operator"
  admin,    ///< and manages the server
};
std::string_view to_string(Role role) noexcept;
/// Throws std::invalid_argument for what is none.
[[nodiscard]] Role parse_role(std::string_view text);

/// A token without its secret, as a line of the file: JSON.
struct TokenRecord {
  std::string id{};    ///< names it in logs; 16 hexadecimal digits
  std::string name{};  ///< for people: whose it is
  std::string role{};
  std::vector<std::string> namespaces{};  ///< "*": all
  std::string sha256{};                   ///< of the whole text
  CalendarTime created{};
  std::optional<CalendarTime> expires{};

  [[nodiscard]] bool covers(std::string_view ns) const noexcept;
};

/// A token that was just made: nobody can read its text again.
struct NewToken {
  TokenRecord record{};
  std::string text{};  ///< "hft_<id>_<secret>"
};
/// Throws std::invalid_argument when there is no namespace, or the name holds control characters.
[[nodiscard]] NewToken make_token(std::string name, Role role, std::vector<std::string> namespaces,
                                  CalendarTime now, std::optional<Duration> life);

struct TokenList {
  std::vector<TokenRecord> tokens{};
  std::vector<std::string> problems{};  ///< lines that can't be read, and why; they count for nobody
};

/// The file. Several processes may change it at the same time; readers see it before or after each change.
class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Throws std::runtime_error when it can't be read, or others than its owner may write it.
  [[nodiscard]] TokenList read() const;
  /// Creates the file if there is none. Throws std::runtime_error.
  void add(const TokenRecord& token) const;
  /// False when there is none of that id.
  [[nodiscard]] bool remove(std::string_view id) const;
  /// Changes when the file does; empty when there is none.
  [[nodiscard]] std::string version() const;

 private:
  template <class Change>
  bool change(Change change_lines) const;

  std::string path_;
};

}  // namespace holdfast::server
