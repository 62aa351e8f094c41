// Opening a schema: what must be true of it, and how it is made and brought up to date.
#pragma once

#include "connection.hpp"

#include <holdfast/postgres.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::postgres_store {

/// A step from one version of the schema to the next: SQL, which also notes its number in `migrations`.
struct Migration {
  std::int32_t number = 0;
  std::string_view sql{};
};
/// All of them, in order.
std::span<const Migration> migrations();

/// Throws StoreOpenError when neither libpq nor the server could do anything with them.
ConnectionSetup connection_setup(std::string_view uri, const PostgresOptions& options);

/// Brings the schema up to date, under a lock: many processes may start at once. Where the role may not, it
/// must be up to date. Answers the number of the namespace. Throws StoreOpenError.
std::int32_t open_schema(const ConnectionSetup& setup, const PostgresOptions& options,
                         std::span<const Migration> known);

/// The number of the namespace, which is given one now if it has none.
std::int32_t intern_namespace(Connection& connection, const std::string& ns);

}  // namespace holdfast::postgres_store
