// TurnCommitter: commits the turns of a batch.
#pragma once

#include "runtime/desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_settling.hpp"

namespace holdfast::runtime {

/// The only part that commits. Several threads at once, each with a batch of its own.
class TurnCommitter {
 public:
  TurnCommitter(const Settings& settings, const Standing& standing, ActivityDesk& desk,
                TurnSettling& settling)
      : settings_(settings), standing_(standing), desk_(desk), settling_(settling) {}

  /// Commits what is prepared, in one call, and settles each turn by its answer.
  void commit(TurnBatch& batch);

 private:
  const Settings& settings_;
  const Standing& standing_;
  ActivityDesk& desk_;
  TurnSettling& settling_;
};

}  // namespace holdfast::runtime
