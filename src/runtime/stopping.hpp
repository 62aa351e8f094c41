// Stopping: one attempt that has to come to its end: when it is asked, when it is ended, when it is given up.
#pragma once

#include "base/moments.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace holdfast::runtime {

/// Time goes in, orders come out: it calls nobody. Its code is asked to stop, and has its grace for it. A
/// coroutine that goes on is ended, for which it has a moment; what goes on after that, and any other code
/// after its grace, is abandoned. Not thread-safe.
class Stopping {
 public:
  /// A coroutine that was ended needs no more than this for it, unless it ignores that.
  static constexpr Duration kMomentToEnd = std::chrono::seconds(1);

  /// It has to stop within `grace`; who asks again can only make that shorter. True the first time: its code
  /// has to be told, and the reason stays.
  bool ask(CancelReason reason, BootTime now, Duration grace) {
    until_ = std::min(until_, after(now, grace));
    if (reason_) return false;
    reason_ = reason;
    return true;
  }

  enum class Order : std::uint8_t { none, end, abandon };
  /// What to do about code that still runs.
  Order check(BootTime now, bool can_be_ended) {
    if (until_ > now) return Order::none;
    if (!can_be_ended || std::exchange(ended_, true)) return Order::abandon;
    until_ = after(now, kMomentToEnd);
    return Order::end;
  }

  /// Why it was asked to stop, if it was.
  [[nodiscard]] const std::optional<CancelReason>& reason() const noexcept { return reason_; }
  /// When check() has an order, if its code still runs then.
  [[nodiscard]] BootTime due() const noexcept { return until_; }

 private:
  BootTime until_ = BootTime::max();
  std::optional<CancelReason> reason_;
  bool ended_ = false;
};

}  // namespace holdfast::runtime
