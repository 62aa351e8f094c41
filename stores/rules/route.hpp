// Route: which workers may run an instance.
#pragma once

#include <holdfast/store/workers.hpp>

#include <compare>
#include <cstdint>

namespace holdfast::rules {

/// Many instances share one, so databases keep each once, by number.
struct Route {
  store::CodeVersion code{};
  std::uint64_t build = 0;   ///< of the worker that began it; 0: any
  bool terminating = false;  ///< any worker may run it: none of its code is needed to end it
  friend auto operator<=>(const Route&, const Route&) = default;
};

}  // namespace holdfast::rules
