#include <holdfast/errors.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/open.hpp>
#include <holdfast/postgres.hpp>
#include <holdfast/sqlite.hpp>

#include <string>
#include <utility>

namespace holdfast {

std::shared_ptr<Store> open(std::string_view address, OpenOptions options) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.starts_with(kSqlite)) {
    return sqlite(std::string(address.substr(kSqlite.size())), {.ns = std::move(options.ns),
                                                                .create = options.create,
                                                                .read_only = options.read_only,
                                                                .logger = options.logger});
  }
  // libpq knows two forms: "postgresql://host/database" and "host=... dbname=...".
  const bool is_list = address.find('=') < address.find(':');
  if (address.starts_with("postgresql://") || address.starts_with("postgres://") || is_list) {
    return postgres(address, {.ns = std::move(options.ns),
                              .create = options.create,
                              .read_only = options.read_only,
                              .logger = options.logger});
  }
  if (address == "memory:") {
    if (options.read_only) {
      throw StoreOpenError(StoreOpenError::Kind::invalid,
                           "'memory:' is new and empty, so it can't be opened with read_only");
    }
    return memory({.ns = std::move(options.ns)});
  }
  // What is there may be an address with a password.
  const std::string scheme(address.substr(0, address.find(':')));
  throw StoreOpenError(
      StoreOpenError::Kind::invalid,
      (address.find(':') == std::string_view::npos ? "the address of a store begins with its kind"
                                                   : "there is no kind of store '" + scheme + "'") +
          std::string("; write sqlite:app.db, postgresql://host/database or memory:"));
}

}  // namespace holdfast
