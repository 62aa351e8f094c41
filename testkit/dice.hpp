// Dice: random choices in few words.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/random.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace holdfast::testing {

/// Draws from a source that outlives it: with SeededRandom, all of its choices follow from the seed.
class Dice {
 public:
  explicit Dice(Random& random) noexcept : random_(random) {}

  [[nodiscard]] std::uint64_t number() { return random_.next(); }
  [[nodiscard]] std::size_t below(std::size_t n) { return holdfast::below(random_, n); }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }
  /// True once in `n` times on average; never when `n` is 0.
  [[nodiscard]] bool one_in(std::size_t n) { return n != 0 && below(n) == 0; }
  /// Both ends included.
  [[nodiscard]] Duration between(Duration least, Duration most) {
    if (most <= least) return least;
    return least +
           Duration(static_cast<Duration::rep>(below(static_cast<std::size_t>((most - least).count()) + 1)));
  }

  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  /// Each with its weight.
  template <class T>
  T weighted(std::initializer_list<std::pair<unsigned, T>> values) {
    std::size_t total = 0;
    for (const auto& [weight, value] : values) total += weight;
    std::size_t at = below(total);
    for (const auto& [weight, value] : values) {
      if (at < weight) return value;
      at -= weight;
    }
    return values.begin()->second;
  }

 private:
  Random& random_;
};

}  // namespace holdfast::testing
