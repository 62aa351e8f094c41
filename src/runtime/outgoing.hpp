// The outcome of a turn in the words of the store.
#pragma once

#include "engine/turn.hpp"
#include "runtime/cache.hpp"
#include "runtime/incoming.hpp"

#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <functional>

namespace holdfast::runtime {

/// What a commit needs to know besides the outcome.
struct Surroundings {
  std::function<std::uint64_t()> random{};                    ///< seeds of executions that begin
  std::function<bool(const store::NewActivity&)> hand_off{};  ///< whether this worker would run it at once
};

/// Adds everything that the engine's outcome asks for. The frame of `instance` is the one that made it.
void add_outcome(store::TurnCommit& commit, const CachedInstance& instance, engine::Outcome&& outcome,
                 const Surroundings& around);

/// Adds the answers that a turn owes to those who wanted to start something under this id.
void add_start_answers(store::TurnCommit& commit, const CachedInstance& instance, const Incoming& incoming);

/// The policy of a session as the code gave it.
store::SessionPolicy policy_of(const detail::SessionSettings& settings);

}  // namespace holdfast::runtime
