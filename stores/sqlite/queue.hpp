// How activities are found that a worker may take: from the lanes of `queued` into the space.
#pragma once

#include "working_set.hpp"

#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <optional>

namespace holdfast::sqlite_store {

struct Wanted {
  WorkerKey worker{};
  const store::Abilities& abilities;
  std::size_t max = 0;         ///< so many could be taken
  std::optional<int> above{};  ///< only those of a higher priority than this
  bool owned_only = false;     ///< only those of sessions that the worker holds
};

/// Brings all that the rules need to choose: of each lane that the worker's abilities allow, and of each
/// priority, one more than could be taken of what it may have, and one more session than it could claim; and
/// all activities of sessions that it holds. Lanes that it can't serve cost one step each, however full they
/// are. Answers when the first of those that are not ready yet will be.
BootTime bring_candidates(WorkingSet& set, const Wanted& wanted);

}  // namespace holdfast::sqlite_store
