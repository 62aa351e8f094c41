#include "bench/growth/resident.hpp"

#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace holdfast::bench {

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1U << 20U);
}

void return_freed_memory() { ::malloc_trim(0); }

double slope(const std::vector<Point>& points) {
  Point mean;
  for (const Point& point : points) {
    mean.x += point.x / static_cast<double>(points.size());
    mean.y += point.y / static_cast<double>(points.size());
  }
  double together = 0;
  double alone = 0;
  for (const Point& point : points) {
    together += (point.x - mean.x) * (point.y - mean.y);
    alone += (point.x - mean.x) * (point.x - mean.x);
  }
  return alone == 0 ? 0 : together / alone;
}

}  // namespace holdfast::bench
