// Runs one snippet in a process of its own and says how it went.
#pragma once

#include "harness.hpp"

#include <string>

namespace holdfast::battery {

struct Observation {
  std::string outcome;  // ok | destroys twice | leaks | wrong result
  std::string output;   // what the snippet, or AddressSanitizer, printed meanwhile
};

/// Runs the snippet to its end, and once for each of its waits up to that wait, where its frame is destroyed.
/// The outcome is `ok` only when all of these runs destroy all that they made, once, free all that they
/// allocated, and the last one returns the snippet's result. A crash counts as `destroys twice`.
Observation observe(const Snippet& snippet);

}  // namespace holdfast::battery
