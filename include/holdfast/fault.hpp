// The seam for faults: where a test may make production code fail, in the two ways that matter to a caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace holdfast {

/// What is to go wrong with one operation.
enum class Fault : std::uint8_t {
  none,
  fail_before,  ///< fail without having done it
  lose_answer,  ///< do it, commit included, and then fail as if the answer had been lost on the way
};

/// Decides what goes wrong. Asked from any thread, once before each operation that can fail. Where several
/// operations make one transaction, both faults undo it at all of them but the commit.
class FaultPlan {
 public:
  virtual ~FaultPlan() = default;
  /// `point` names the operation: "turn.insert_history", "turn.commit". It is not kept.
  virtual Fault at(std::string_view point) = 0;
};

/// What production code calls; without a plan it costs one branch.
///
///     const Fault fault = fault_at(faults_, "turn.commit");
///     if (fault == Fault::fail_before) return Unexpected(StoreError::unavailable);
///     commit();
///     if (fault == Fault::lose_answer) return Unexpected(StoreError::unavailable);
inline Fault fault_at(FaultPlan* plan, std::string_view point) {
  return plan == nullptr ? Fault::none : plan->at(point);
}

/// A plan that counts how often each point is passed, and injects what it was told to. Thread-safe.
///
/// To fail an operation everywhere it can fail: run it once and read `passed()`; then run it again from the
/// same state for each point, each passage of it and each fault, having called `inject()` right before.
class FaultScript final : public FaultPlan {
 public:
  /// The `nth` passage of `point` from now on, the next one being the first, meets `fault`. A later call for
  /// the same passage replaces an earlier one. Throws std::invalid_argument when `nth` is 0.
  void inject(std::string_view point, std::uint64_t nth, Fault fault);

  Fault at(std::string_view point) override;

  /// How often each point was passed, those that met a fault included; points never passed are not there.
  [[nodiscard]] std::map<std::string, std::uint64_t> passed() const;
  [[nodiscard]] std::uint64_t passed(std::string_view point) const;
  /// How many injected faults nobody has met yet: 0 at the end of a test that meant them to happen.
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
