// History for people: what an event says, in a line.
#pragma once

#include "codec/history.hpp"

#include <string>

namespace holdfast::history {

/// What an event says besides its number and kind: `charge {"cents":1200} queue=payments`.
std::string summary(const Body& body);

}  // namespace holdfast::history
