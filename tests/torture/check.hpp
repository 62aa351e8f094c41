// What must hold of the store when everybody has gone in peace.
#pragma once

#include "place.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::torture {

/// What is wrong, a line each.
using Problems = std::vector<std::string>;

/// `engines`: those whose logs are read.
Problems check(const Place& place, std::uint64_t seed, const std::vector<std::string>& engines);

/// The journals of all clients that have been there.
std::uint64_t clients_in(const Place& place);

}  // namespace holdfast::torture
