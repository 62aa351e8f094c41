#include "bench/costs.hpp"

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace holdfast::bench {
namespace {

// Threads count apart from each other, so that counting costs them little.
struct alignas(64) Counter {
  std::atomic<std::uint64_t> allocations{0};
};
constexpr std::size_t kCounters = 64;
constinit std::array<Counter, kCounters> counters{};
constinit std::atomic<std::size_t> next_counter{0};

void count_allocation() noexcept {
  thread_local Counter& own = counters[next_counter.fetch_add(1) % kCounters];
  own.allocations.fetch_add(1, std::memory_order_relaxed);
}

double microseconds(const timeval& time) {
  return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
}

}  // namespace

Costs costs_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Costs costs{.cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
              .kernel_us = microseconds(usage.ru_stime),
              .switches = static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw)};
  for (const Counter& counter : counters) costs.allocations += counter.allocations.load();
  return costs;
}

namespace {

void* allocate(std::size_t size) {
  count_allocation();
  void* const memory = std::malloc(size);  // NOLINT(cppcoreguidelines-no-malloc): it is the allocator
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
}  // namespace holdfast::bench

void* operator new(std::size_t size) { return holdfast::bench::allocate(size); }
void* operator new[](std::size_t size) { return holdfast::bench::allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }    // NOLINT(cppcoreguidelines-no-malloc)
void operator delete[](void* memory) noexcept { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }    // NOLINT
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }  // NOLINT
