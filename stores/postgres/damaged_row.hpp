// Rows that can't be read.
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast::postgres_store {

[[noreturn]] inline void damaged(const std::string& what) {
  throw std::runtime_error("a damaged row: " + what);
}

}  // namespace holdfast::postgres_store
