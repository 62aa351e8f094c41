// The outcome of a turn in the words of the store.
#pragma once

#include "client/bodies.hpp"
#include "engine/turn.hpp"
#include "runtime/cache.hpp"
#include "runtime/incoming.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::runtime {

/// What a commit needs to know besides the outcome.
struct Surroundings {
  CalendarTime now{};                       ///< of the turn
  std::optional<Duration> retry_in{};       ///< a child that failed begins anew after this
  Duration activity_lease{};                ///< of this worker; see problem_of()
  const history::Parent* parent = nullptr;  ///< who waits for its end, where no frame knows it
};

/// An activity as it stands in its row: when it is handed off, it need not be read from there.
struct ScheduledActivity {
  EventId event{};
  bodies::Activity body{};
};

/// Adds everything that the engine's outcome asks for; of its activities none is handed off yet. The frame of
/// `instance` is the one that made it, or there is none and the outcome has no actions. Gives what it has
/// scheduled, in the order of the events.
std::vector<ScheduledActivity> add_outcome(store::TurnCommit& commit, const CachedInstance& instance,
                                           engine::Outcome&& outcome, const Surroundings& around);

/// What is left of the total deadline of a child that failed, if it may begin anew.
std::optional<Duration> time_to_retry(const CachedInstance& instance, CalendarTime now);

/// Adds the answers that a turn owes to those who wanted to start something under this id.
void add_start_answers(store::TurnCommit& commit, const CachedInstance& instance, const Incoming& incoming);

/// The policy of a session as the code gave it.
store::SessionPolicy policy_of(const detail::SessionSettings& settings);

}  // namespace holdfast::runtime
