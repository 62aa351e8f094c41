// Authority: says who a request comes from.
#pragma once

#include "server/auth/tokens.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/log.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::server {

/// Who calls.
struct Caller {
  std::string id{};    ///< of the token; "local" without tokens
  std::string name{};  ///< of the token
  Role role = Role::worker;
  std::vector<std::string> namespaces{};

  [[nodiscard]] bool may(Role wanted) const noexcept;
  [[nodiscard]] bool covers(std::string_view ns) const noexcept;
};

/// Without a file everybody is an admin: the server is then reached from this machine only. With one, tokens
/// that are added and removed there count within a second. While it can't be read nobody is let in. One
/// thread at a time.
class Authority {
 public:
  Authority(std::optional<TokenFile> file, std::shared_ptr<Logger> logger, const Clock& clock = real_clock());

  [[nodiscard]] bool open() const noexcept { return !file_; }
  /// How many tokens would be let in now.
  [[nodiscard]] std::size_t tokens();
  /// `authorization` is the header of that name. Nothing: it is not known, or its time is over, which nobody
  /// outside can tell apart.
  [[nodiscard]] std::optional<Caller> caller(std::optional<std::string_view> authorization);

 private:
  void look();
  void load();
  [[nodiscard]] bool valid(const TokenRecord& record) const;

  const std::optional<TokenFile> file_;
  const std::shared_ptr<Logger> logger_;
  const Clock& clock_;
  std::unordered_map<std::string, TokenRecord> tokens_;  // by id
  std::optional<std::string> version_;
  std::optional<BootTime> looked_;
};

}  // namespace holdfast::server
