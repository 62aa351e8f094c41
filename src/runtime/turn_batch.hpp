// TurnBatch: instances that one thread runs one after the other, and commits together or in parts.
#pragma once

#include "engine/turn.hpp"
#include "runtime/cache.hpp"
#include "runtime/frame_home.hpp"
#include "runtime/incoming.hpp"
#include "runtime/outgoing.hpp"
#include "runtime/steps.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/store/turns.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// One instance on its way through a turn.
struct PreparedTurn {
  InstanceCache::Taken taken{};
  Incoming incoming{};
  std::vector<ScheduledActivity> scheduled{};  ///< in the order of their events
  std::size_t hand_offs = 0;
  bool requested = false;            ///< somebody asks it to end
  FirstTurn first{};                 ///< what it begins with, when it has no frame yet
  std::optional<Failure> failure{};  ///< what its code failed with
  std::string problem{};             ///< why it can't go on from its history, if it can't
  std::string recorded_by{};         ///< then: the build of the code that its history fits there
  bool forget = false;  ///< the frame was not given all that came: the next turn begins from history
};

/// What running a turn has come to.
enum class Ran : std::uint8_t {
  code,      ///< its commit has what the code did
  no_code,   ///< its commit has all that there is to say: the code was not needed
  unwanted,  ///< what came is of no use any more: there is nothing to commit
  unread,    ///< the store could not be read, or there is no code for it
  diverged,  ///< its code can't go on from its history
  no_start,  ///< its start message can't be read
};

/// A turn of a batch that is sent to an executor, with all that it needs from the store.
struct SentTurn {
  PreparedTurn turn{};
  store::TurnCommit commit{};
  std::shared_ptr<const detail::OrchestrationCode> code{};  ///< of a frame that has to be made
  std::vector<store::Segment> history{};                    ///< for it
  Ran ran = Ran::unread;
};

/// Belongs to the thread that runs it. When code doesn't come back it belongs to whoever gives that up,
/// except for the instance whose code it is: see TurnWatch. One that is sent to an executor belongs to what
/// runs there, from its beginning to its end.
struct TurnBatch : std::enable_shared_from_this<TurnBatch> {
  TurnBatch(RunId run_of_it, std::vector<InstanceCache::Taken>&& instances) {
    begin(run_of_it, std::move(instances));
  }

  TurnBatch(std::shared_ptr<FrameHome> home_of_it, std::vector<InstanceCache::Taken>&& instances)
      : home(std::move(home_of_it)), waiting(std::move(instances)) {
    sent.reserve(waiting.size());
  }

  /// Nothing is left in it but memory: it becomes another one.
  void begin(RunId run_of_it, std::vector<InstanceCache::Taken>&& instances) {
    run = run_of_it;
    waiting = std::move(instances);
    next = 0;
    prepared.reserve(waiting.size());
    commits.reserve(waiting.size());
  }

  RunId run{};                              ///< of the turn step, in which it is; none on an executor
  const std::shared_ptr<FrameHome> home{};  ///< where its frames live; null: in place
  BootTime begun{};                         ///< when it was begun for an executor
  std::vector<InstanceCache::Taken> waiting;
  std::size_t next = 0;                  ///< of `waiting`: those before it have had their turn
  std::vector<SentTurn> sent{};          ///< to its home; the turn of the one that runs is the current one
  PreparedTurn current{};                ///< whose code runs; has no instance when there is none
  std::vector<PreparedTurn> prepared{};  ///< and not committed
  std::vector<store::TurnCommit> commits{};  ///< of those; behind them stands memory for the next
  InstanceCache::Abandoned abandoned{};      ///< what code that was given up still uses

  /// Of the turn that is prepared next.
  store::TurnCommit& next_commit() {
    if (commits.size() == prepared.size()) commits.emplace_back();
    return commits[prepared.size()];
  }
  /// Those that stand at the beginning of `commits`.
  [[nodiscard]] std::span<store::TurnCommit> made() noexcept { return {commits.data(), prepared.size()}; }

  // Memory of turns that were run, for the next.
  engine::Outcome spare_outcome{};
  std::vector<engine::Message> spare_messages{};
};

}  // namespace holdfast::runtime
