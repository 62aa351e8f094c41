// Saving the states of a session for its next owner.
#pragma once

#include "runtime/session_leavers.hpp"
#include "runtime/session_memory.hpp"
#include "runtime/settings.hpp"

#include <holdfast/store/sessions.hpp>

namespace holdfast::runtime {

/// Calls code of the user, which may take long and may throw; says so if it does. `all_or_nothing`: nothing
/// is saved when a state is there that can't be.
SavedSession save_states(const Settings& settings, SessionMemory& memory, const store::SessionHold& hold,
                         bool all_or_nothing);

}  // namespace holdfast::runtime
