// For tests that take long: without it, a test that has not ended after two minutes counts as hung.
#pragma once

#include <chrono>
#include <cstdio>

namespace holdfast {

/// Says to who watches the test how long it may take, from its beginning.
inline void needs_time(std::chrono::seconds time) {
  std::printf("[ NEEDS    ] %lld s\n", static_cast<long long>(time.count()));
  std::fflush(stdout);
}

}  // namespace holdfast
