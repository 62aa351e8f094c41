// TurnBatch: instances that one thread runs one after the other, and commits together or in parts.
#pragma once

#include "runtime/cache.hpp"
#include "runtime/incoming.hpp"
#include "runtime/steps.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/store/turns.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// One instance on its way through a turn.
struct PreparedTurn {
  InstanceCache::Taken taken{};
  Incoming incoming{};
  std::size_t hand_offs = 0;
  bool requested = false;            ///< somebody asks it to end
  std::optional<Failure> failure{};  ///< what its code failed with
  bool forget = false;  ///< the frame was not given all that came: the next turn begins from history
};

/// Belongs to the thread that runs it. When code doesn't come back it belongs to whoever gives that up,
/// except for the instance whose code it is: see TurnWatch.
struct TurnBatch : std::enable_shared_from_this<TurnBatch> {
  TurnBatch(RunId run_of_it, std::vector<InstanceCache::Taken>&& instances)
      : run(run_of_it), waiting(std::move(instances)) {
    prepared.reserve(waiting.size());
    commits.reserve(waiting.size());
  }

  const RunId run;  ///< of the turn step, in which it is
  std::vector<InstanceCache::Taken> waiting;
  std::size_t next = 0;  ///< of `waiting`: those before it have had their turn
  PreparedTurn current{};
  std::vector<PreparedTurn> prepared{};      ///< and not committed
  std::vector<store::TurnCommit> commits{};  ///< of those
  InstanceCache::Abandoned abandoned{};      ///< what code that was given up still uses
};

}  // namespace holdfast::runtime
