// The two orchestrations that the store and the runtime are measured with, as what they ask of a store, and
// what one round of running them gives.
#pragma once

#include "bench/harness.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

using Clock = std::chrono::steady_clock;

/// Both run five activities that do nothing: `p5` all at once, `s5` one after the other.
enum class Shape : std::uint8_t { p5, s5 };
std::string_view to_string(Shape shape) noexcept;

/// What one turn does: it takes in `completes` outcomes, schedules `schedules` activities and writes a
/// segment of as many bytes as the engine does for that.
struct TurnPlan {
  std::uint64_t first_event = 0;
  std::size_t segment_bytes = 0;
  std::uint64_t first_activity = 0;  ///< event of the first activity that it schedules; the others follow
  std::uint32_t completes = 0;
  std::uint32_t schedules = 0;
  [[nodiscard]] bool ends() const noexcept { return schedules == 0; }
};
/// From the first turn to the one that ends.
std::span<const TurnPlan> turns_of(Shape shape) noexcept;

inline constexpr std::string_view kOrchestrationName = "order";
inline constexpr std::string_view kActivityName = "charge_card";
inline constexpr std::size_t kBodyBytes = 40;  ///< of start messages, activities and outputs
/// Ids as users make them.
std::string instance_id(std::uint64_t number);

/// What happened while the clock ran.
struct Round {
  std::uint64_t steps = 0;  ///< activities whose completion was committed
  double seconds = 0;
  std::vector<double> latencies{};  ///< microseconds from before the start to after the end was durable

  [[nodiscard]] double steps_per_s() const { return static_cast<double>(steps) / seconds; }
};

/// Something that runs orchestrations and can be measured again and again.
class Contender {
 public:
  virtual ~Contender() = default;
  /// Keeps instances in flight for this long, then lets them end; only what was done in time counts.
  virtual Round run(std::chrono::nanoseconds length) = 0;
};

/// Rounds of one contender.
struct Measured {
  Times step_time{};                ///< nanoseconds per step
  std::vector<double> latencies{};  ///< of all rounds

  [[nodiscard]] double steps_per_s() const { return 1e9 / step_time.median(); }
  [[nodiscard]] double latency(double quantile) const;  ///< microseconds; 0.5 = the median
};

struct Rounds {
  int count = 7;
  std::chrono::milliseconds length{400};
};

/// The contenders in turns, round by round, after one round for nothing that warms them up.
std::vector<Measured> contest(std::span<Contender* const> contenders, const Rounds& rounds);
/// One load by itself for as long as `--seconds` says, for a profiler; prints what it did and what a step
/// cost.
void run_alone(const Suite& suite, Contender& load, std::string_view name);

}  // namespace holdfast::bench
