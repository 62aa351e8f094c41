// Dice: decisions that follow from the seed.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/random.hpp>

#include <cstdint>
#include <vector>

namespace holdfast::simulator {

/// One stream of decisions. Streams of different names are independent: a draw more in one changes nothing in
/// the others.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : random_(seed) {}

  std::uint64_t number() { return random_.next(); }
  std::uint64_t below(std::uint64_t n) { return holdfast::below(random_, n); }
  /// True once in `n` times on average; never when `n` is 0.
  bool one_in(std::uint64_t n) { return n != 0 && below(n) == 0; }
  /// Both ends included.
  Duration between(Duration least, Duration most) {
    if (most <= least) return least;
    return least + Duration(static_cast<Duration::rep>(
                       below(static_cast<std::uint64_t>((most - least).count()) + 1)));
  }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  SeededRandom random_;
};

}  // namespace holdfast::simulator
