// Fault injection: where a test may make production code fail, in the two ways that matter to a caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace holdfast {

/// The fault to inject into one operation.
enum class Fault : std::uint8_t {
  none,
  fail_before,  ///< fail without having done it
  lose_answer,  ///< do it, commit included, and then fail as if the answer had been lost on the way
};
std::string_view to_string(Fault fault) noexcept;

/// Decides which operations fail. Called from any thread, once before each operation that can fail. At each
/// operation of a transaction both faults roll the transaction back, except for lose_answer at its commit.
class FaultPlan {
 public:
  virtual ~FaultPlan() = default;
  /// `point` names the operation: "turn.insert_history", "turn.commit". It is not kept.
  virtual Fault at(std::string_view point) = 0;
};

/// What production code calls; without a plan it costs one branch.
///
///     const Fault fault = fault_at(faults_, "turn.commit");
///     if (fault == Fault::fail_before) return Unexpected(StoreError{StoreError::Kind::unavailable});
///     commit();
///     if (fault == Fault::lose_answer) return Unexpected(StoreError{StoreError::Kind::unavailable});
inline Fault fault_at(FaultPlan* plan, std::string_view point) {
  return plan == nullptr ? Fault::none : plan->at(point);
}

/// A plan that counts how often each point is passed, and injects what it was told to. Thread-safe.
///
/// To fail a call at every point where it can fail: run it once and read `passed()`; then, for each point,
/// each passage and each fault, restore the state, call `inject()`, and run it again.
class FaultScript final : public FaultPlan {
 public:
  /// Injects `fault` at the `nth` passage of `point` from now on; the next one is the first. A later call for
  /// the same passage replaces an earlier one. Throws std::invalid_argument when `nth` is 0.
  void inject(std::string_view point, std::uint64_t nth, Fault fault);

  Fault at(std::string_view point) override;

  /// How often each point was passed, with or without a fault; points that were never passed are left out.
  [[nodiscard]] std::map<std::string, std::uint64_t> passed() const;
  [[nodiscard]] std::uint64_t passed(std::string_view point) const;
  /// How many injected faults have not happened yet: 0 at the end of a test that expects all of them.
  [[nodiscard]] std::size_t pending() const;
  /// Forgets the counts and the pending faults.
  void clear();

 private:
  struct Point {
    std::uint64_t passed = 0;
    std::map<std::uint64_t, Fault> planned{};  // by the count that the passage will have
  };

  mutable std::mutex mutex_;
  std::map<std::string, Point, std::less<>> points_;
};

}  // namespace holdfast
