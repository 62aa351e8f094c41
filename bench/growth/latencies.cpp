#include "bench/growth/latencies.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::bench {

namespace {
const double kStep = std::log(1.01);
}  // namespace

std::size_t Spread::bucket_of(double microseconds) noexcept {
  const double place = std::log(std::max(microseconds, 1.0)) / kStep;
  return std::min(static_cast<std::size_t>(place), kBuckets - 1);
}

void Spread::add(const Spread& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) add(i, other.counts_[i]);
}

double Spread::ms(double quantile) const noexcept {
  const double wanted = quantile * static_cast<double>(total_);
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    passed += counts_[i];
    if (counts_[i] > 0 && static_cast<double>(passed) >= wanted) {
      return std::exp((static_cast<double>(i) + 0.5) * kStep) / 1000;
    }
  }
  return 0;
}

Spread Latencies::take() noexcept {
  Spread spread;
  for (std::size_t i = 0; i < Spread::kBuckets; ++i) {
    spread.add(i, counts_[i].exchange(0, std::memory_order_relaxed));
  }
  return spread;
}

}  // namespace holdfast::bench
