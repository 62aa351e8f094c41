// What names a database. It may hold passwords, which no message ever shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::postgres_store {

/// Throws StoreOpenError when libpq could not read it, or would read a part of a password as something else.
void check_uri(const std::string& uri);

/// The secrets in a uri that libpq can read, as they stand there and as they are meant.
class Secrets {
 public:
  explicit Secrets(const std::string& uri);
  /// The text with stars in their places.
  [[nodiscard]] std::string hidden_in(std::string text) const;

 private:
  std::vector<std::string> secrets_{};
};

}  // namespace holdfast::postgres_store
