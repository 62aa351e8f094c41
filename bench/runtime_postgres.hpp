// The suite of the runtime on PostgreSQL: through the public API, beside what the server allows in the same
// rounds.
#pragma once

#include "bench/harness.hpp"

namespace holdfast::bench {

void run_on_postgres(Suite& suite, bool quick);

}  // namespace holdfast::bench
