// The outcome of a turn in the words of the store.
#pragma once

#include "engine/turn.hpp"
#include "runtime/cache.hpp"
#include "runtime/incoming.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace holdfast::runtime {

/// What a commit needs to know besides the outcome.
struct Surroundings {
  std::function<bool(const store::NewActivity&)> hand_off{};  ///< whether this worker would run it at once
  CalendarTime now{};                                         ///< of the turn
  /// When a child that failed begins anew, if it does.
  std::function<std::optional<Duration>(const history::Retrying&, const Failure&, Duration total_left)>
      back_off{};
  /// What is wrong with the policy of a session, in words, if anything is.
  std::function<std::optional<std::string>(const store::SessionPolicy&)> problem_of{};
  const history::Parent* parent = nullptr;  ///< who waits for its end, where no frame knows it
};

/// Adds everything that the engine's outcome asks for. The frame of `instance` is the one that made it, or
/// there is none and the outcome has no actions.
void add_outcome(store::TurnCommit& commit, const CachedInstance& instance, engine::Outcome&& outcome,
                 const Surroundings& around);

/// Adds the answers that a turn owes to those who wanted to start something under this id.
void add_start_answers(store::TurnCommit& commit, const CachedInstance& instance, const Incoming& incoming);

/// The policy of a session as the code gave it.
store::SessionPolicy policy_of(const detail::SessionSettings& settings);

}  // namespace holdfast::runtime
