// Any number of latencies in memory that does not grow: a load that runs for an hour must not be seen to grow
// by what is noted about it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

/// How many latencies fell into each bucket. Buckets are 1 % apart, from a microsecond to 20 minutes.
class Spread {
 public:
  static constexpr std::size_t kBuckets = 2100;
  static std::size_t bucket_of(double microseconds) noexcept;

  void add(std::size_t bucket, std::uint64_t count) {
    counts_[bucket] += count;
    total_ += count;
  }
  void add(const Spread& other);
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// 0.5 = the median; 0 when there is nothing.
  [[nodiscard]] double ms(double quantile) const noexcept;

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
};

/// Any thread may note; one takes.
class Latencies {
 public:
  void note(double microseconds) noexcept {
    counts_[Spread::bucket_of(microseconds)].fetch_add(1, std::memory_order_relaxed);
  }
  /// Those since the last call.
  Spread take() noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, Spread::kBuckets> counts_{};
};

}  // namespace holdfast::bench
