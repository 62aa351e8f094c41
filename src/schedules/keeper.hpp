// The orchestration behind each schedule.
#pragma once

#include "schedules/state.hpp"

#include <holdfast/context.hpp>
#include <holdfast/task.hpp>

namespace holdfast::schedules {

/// Starts what the schedule says, until no time is left. Every worker has it, under kOrchestration.
Task<void> keep_schedule(Context& ctx, State state);

}  // namespace holdfast::schedules
