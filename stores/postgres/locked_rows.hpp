// LockedRows: what somebody else was seen to have locked, so that calls which need it wait apart from the
// others.
#pragma once

#include "connection.hpp"
#include "working_set.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::postgres_store {

/// Looking costs one round trip, however many rows are looked at, and never waits: rows are asked for with
/// SKIP LOCKED, and those that exist and don't come are locked. For whoever leads.
class LockedRows {
 public:
  /// Whether something was locked when it was last looked at.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// Whether one of the rows that are needed was.
  [[nodiscard]] bool concern(const Needs& needs) const;

  /// A transaction has just waited in vain.
  void waited() { waited_at_ = Clock::now(); }
  /// Whether one has lately: the next one may, too.
  [[nodiscard]] bool waited_lately() const;

  /// Looks at what is needed, and once more at what was locked the last time. Throws SqlError; then nothing
  /// is known to be locked. The connection is in no transaction before and after.
  void look(Connection& connection, std::int32_t ns, Needs needed);
  /// Whether the last look was so short ago that the next one can wait.
  [[nodiscard]] bool looked_just_now() const;
  /// Nobody has asked for what was locked for a while: nobody knows whether it still is.
  void forget_old();

 private:
  using Clock = std::chrono::steady_clock;

  void take(const std::vector<Answer>& answers);

  Needs locked_{};
  bool any_ = false;
  std::optional<Clock::time_point> looked_at_{};
  std::optional<Clock::time_point> waited_at_{};
};

}  // namespace holdfast::postgres_store
