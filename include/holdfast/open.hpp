// open(): opens a store by its address, such as one from a configuration file. Link holdfast::postgres.
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

/// The options that all stores have. sqlite() and postgres() have more.
struct OpenOptions {
  std::string ns = "default";
  /// False: a store or namespace that doesn't exist is an error (StoreOpenError, missing).
  bool create = true;
  /// True: nothing is created or upgraded, and calls that would change something are refused (ClientError,
  /// invalid). Not for "memory:", which is always new.
  bool read_only = false;
  Logger* logger = nullptr;
};

/// `address` is "sqlite:path", "memory:", or a connection string of libpq ("postgresql://...", "host=...
/// dbname=..."). Throws StoreOpenError: invalid when it is none of these, otherwise as sqlite() and
/// postgres() do.
std::shared_ptr<Store> open(std::string_view address, OpenOptions options = {});

}  // namespace holdfast
