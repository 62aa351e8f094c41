// Lease time in rows.
#pragma once

#include "base/moments.hpp"

namespace holdfast::rules {

/// A moment that doesn't come.
inline constexpr BootTime kNever = BootTime::max();

}  // namespace holdfast::rules
