// What the tests of this folder share.
#pragma once

#include "tests/e2e/stores_test.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/fault.hpp>

#include <functional>
#include <string>

namespace holdfast::control {

using namespace e2e;

/// "conflict: instance 'x' has ended", or "fine".
inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ClientError& e) {
    return std::string(to_string(e.kind())) + ": " + e.failure().message;
  }
  return "fine";
}

}  // namespace holdfast::control
