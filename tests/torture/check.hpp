// What must hold of the file when everybody has gone in peace.
#pragma once

#include "place.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::torture {

/// What is wrong, a line each.
std::vector<std::string> check(const Place& place, std::uint64_t seed);

}  // namespace holdfast::torture
