// DamagedRow: a row that can't be what this version wrote.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::sqlite_store {

/// Thrown inside the store where nothing can take the row's place; whoever asked for it is answered
/// `damaged`, and nobody else.
struct DamagedRow : std::runtime_error {
  DamagedRow(std::string_view what, std::int64_t number)
      : std::runtime_error("the database is damaged: " + std::string(what) + " " + std::to_string(number) +
                           " is missing or unreadable; run PRAGMA integrity_check, and restore a backup") {}
};

}  // namespace holdfast::sqlite_store
