// What work costs a process besides time on the clock.
#pragma once

#include <cstdint>

namespace holdfast::bench {

/// Of all threads of this process, since its beginning.
struct Costs {
  double cpu_us = 0;              ///< in user code and in the kernel
  double kernel_us = 0;           ///< the latter alone
  std::uint64_t switches = 0;     ///< threads that gave up their processor, or had to
  std::uint64_t allocations = 0;  ///< calls of operator new

  friend Costs operator-(const Costs& a, const Costs& b) {
    return {.cpu_us = a.cpu_us - b.cpu_us,
            .kernel_us = a.kernel_us - b.kernel_us,
            .switches = a.switches - b.switches,
            .allocations = a.allocations - b.allocations};
  }
};

/// A program that links this counts its allocations.
Costs costs_so_far();

}  // namespace holdfast::bench
