// Looks at something again and again while a load runs.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace holdfast::bench {

/// A thread that calls `look` at the end of each interval, with the seconds since the sampler was made, until
/// it is destroyed.
class Sampler {
 public:
  Sampler(std::chrono::milliseconds interval, std::function<void(double seconds)> look);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace holdfast::bench
