// The resident memory of this process.
#pragma once

#include "bench/growth/chart.hpp"

#include <vector>

namespace holdfast::bench {

double resident_mib();
/// Gives back to the system what was freed: what was measured before is not seen in what is measured now.
void return_freed_memory();
/// How much y grows while x grows by one: the slope of the straight line that is nearest to the points.
double slope(const std::vector<Point>& points);

}  // namespace holdfast::bench
