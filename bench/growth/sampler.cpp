#include "bench/growth/sampler.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace holdfast::bench {

Sampler::Sampler(std::chrono::milliseconds interval, std::function<void(double)> look)
    : thread_([interval, look = std::move(look)](const std::stop_token& stop) {
        const auto began = std::chrono::steady_clock::now();
        std::mutex mutex;
        std::condition_variable_any stopped;
        for (auto next = began + interval;; next += interval) {
          std::unique_lock lock(mutex);
          if (stopped.wait_until(lock, stop, next, [&] { return stop.stop_requested(); })) return;
          look(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
        }
      }) {}

Sampler::~Sampler() = default;

}  // namespace holdfast::bench
