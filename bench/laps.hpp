// How long each round of an instance takes.
#pragma once

#include <holdfast/context.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace holdfast::bench {

/// Times by a clock that the code of the instance reads against the rules; of one instance at a time.
class Laps {
 public:
  void begin() { last_ = std::chrono::steady_clock::now(); }
  void note(const Context& ctx) {
    if (ctx.replaying()) return;
    const auto now = std::chrono::steady_clock::now();
    ms_.push_back(std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count());
  }
  std::vector<double> take() { return std::exchange(ms_, {}); }

 private:
  std::chrono::steady_clock::time_point last_{};
  std::vector<double> ms_;
};

}  // namespace holdfast::bench
