// What a store answers, in programs that can't go on when it isn't what they expect.
#pragma once

#include <holdfast/store/error.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast::bench {

/// The value, or an exception that says what was asked and what the store said.
template <class T>
std::add_lvalue_reference_t<T> require(StoreResult<T>& result, std::string_view what) {
  if (!result) {
    throw std::runtime_error(std::string(what) + ": " + std::string(to_string(result.error().kind)) + ", " +
                             result.error().message);
  }
  if constexpr (!std::is_void_v<T>) return *result;
}

}  // namespace holdfast::bench
