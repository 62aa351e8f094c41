// open(): a store by its address, as it stands in a configuration file. Link holdfast::postgres.
//
//   auto store = holdfast::open("sqlite:app.db");
//   auto store = holdfast::open("postgresql://db.example/orders", {.ns = "shop"});
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

class Logger;
class Store;

/// What all stores understand. For the rest there are sqlite() and postgres().
struct OpenOptions {
  std::string ns = "default";
  bool create = true;  ///< false: what doesn't exist yet is an error (StoreOpenError, missing)
  /// True: what does not exist is an error, and calls that would change something are refused (ClientError,
  /// invalid).
  bool read_only = false;
  Logger* logger = nullptr;
};

/// "sqlite:path", "postgresql://..." or "host=... dbname=..." with all that libpq understands, "memory:".
/// Throws StoreOpenError: invalid when it is none of these, else as sqlite() and postgres() do.
std::shared_ptr<Store> open(std::string_view address, OpenOptions options = {});

}  // namespace holdfast
