// RuntimeAccess: how code that is not a C++ function is registered.
#pragma once

#include <holdfast/detail/orchestration.hpp>
#include <holdfast/runtime.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace holdfast::detail {

/// For bindings of other languages, whose code names the executor on which its frames live.
struct RuntimeAccess {
  static Runtime& add_orchestration(Runtime& runtime, std::string_view name, OrchestrationOptions options,
                                    std::shared_ptr<const OrchestrationCode> code) {
    return runtime.add_orchestration(name, options, std::move(code));
  }
};

}  // namespace holdfast::detail
