// The outcome of a turn in the words of the store.
#pragma once

#include "engine/turn.hpp"
#include "runtime/cache.hpp"
#include "runtime/incoming.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::runtime {

/// What a commit needs to know besides the outcome.
struct Surroundings {
  CalendarTime now{};                       ///< of the turn
  std::optional<Duration> retry_in{};       ///< a child that failed begins anew after this
  Duration activity_lease{};                ///< of this worker; see problem_of()
  const history::Parent* parent = nullptr;  ///< who waits for its end, where no frame knows it
};

/// Adds everything that the engine's outcome asks for; of its activities none is handed off yet. The frame of
/// `instance` is the one that made it, or there is none and the outcome has no actions.
void add_outcome(store::TurnCommit& commit, const CachedInstance& instance, engine::Outcome&& outcome,
                 const Surroundings& around);

/// What is left of the total deadline of a child that failed, if it may begin anew.
std::optional<Duration> time_to_retry(const CachedInstance& instance, CalendarTime now);

/// Adds the answers that a turn owes to those who wanted to start something under this id.
void add_start_answers(store::TurnCommit& commit, const CachedInstance& instance, const Incoming& incoming);

/// The policy of a session as the code gave it.
store::SessionPolicy policy_of(const detail::SessionSettings& settings);

}  // namespace holdfast::runtime
