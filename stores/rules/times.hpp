// Lease time in rows.
#pragma once

#include "base/moments.hpp"

namespace holdfast::rules {

/// A moment that doesn't come.
inline constexpr BootTime kNever = BootTime::max();

/// Up to when something must have happened that was kept for so long and is kept no more.
[[nodiscard]] constexpr BootTime kept_until(BootTime now, Duration kept) noexcept {
  return kept == never ? kLongAgo : after(now, -kept);
}

}  // namespace holdfast::rules
