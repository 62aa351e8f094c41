// Dice: random choices in few words.
#pragma once

#include <holdfast/random.hpp>

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace holdfast::testing::model {

class Dice {
 public:
  explicit Dice(Random& random) : random_(random) {}

  [[nodiscard]] std::size_t below(std::size_t n) { return holdfast::below(random_, n); }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }

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

}  // namespace holdfast::testing::model
