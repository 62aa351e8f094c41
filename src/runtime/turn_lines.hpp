// What a worker says of its turns.
#pragma once

#include "engine/turn.hpp"
#include "runtime/settings.hpp"
#include "runtime/turn_batch.hpp"

#include <holdfast/store/turns.hpp>

#include <string_view>

namespace holdfast::runtime {

// The logger is code of the user: none of these is called with a mutex held.

/// It was handed out before, and nobody committed it.
void say_taken_over(const Settings& settings, const store::LockedTurn& turn);
void say_suspect(const Settings& settings, const store::LockedTurn& turn);
/// What its code could not read, and limits that it comes near to.
void say_outcome(const Settings& settings, const CachedInstance& instance, const engine::Outcome& outcome);
/// What became of a turn that was committed: its code failed, what it sent goes nowhere, an id was taken.
void say_committed(const Settings& settings, const PreparedTurn& turn, const store::TurnCommit& commit,
                   const store::Committed& committed);
void say_parked(const Settings& settings, const CachedInstance& instance, std::string_view why);
/// Its history fits the code of another build, and workers of that are there.
void say_left_to_others(const Settings& settings, const CachedInstance& instance,
                        std::string_view recorded_by, std::string_view why);
/// Its code has not come back; so many threads are left to such code now.
void say_overdue(const Settings& settings, const CachedInstance& instance, int stuck);
/// The same on an executor.
void say_overdue_elsewhere(const Settings& settings, const CachedInstance& instance, const FrameHome& home);
/// An executor has not begun with turns that were posted to it, has come back, or is gone.
void say_away(const Settings& settings, const FrameHome& home);
void say_back(const Settings& settings, const FrameHome& home);
void say_gone(const Settings& settings, const FrameHome& home);

}  // namespace holdfast::runtime
