// CommitBuilder: runs one turn, and writes down what the store has to do for it.
#pragma once

#include "engine/last_turn.hpp"
#include "runtime/chance.hpp"
#include "runtime/desk.hpp"
#include "runtime/incoming.hpp"
#include "runtime/rebuilder.hpp"
#include "runtime/session_desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_fetch.hpp"
#include "runtime/turn_runner.hpp"
#include "runtime/turn_settling.hpp"

#include <holdfast/store/turns.hpp>

#include <optional>

namespace holdfast::runtime {

/// From an instance that is ready to a commit: its code is run, or, where that can't be, it is ended or
/// answered for without. Several threads at once, each with a batch of its own.
class CommitBuilder {
 public:
  CommitBuilder(const Settings& settings, const Standing& standing, Chance& chance, ActivityDesk& desk,
                const SessionDesk& sessions, const TurnFetch& fetch, TurnRunner& runner, Rebuilder& rebuilder,
                TurnSettling& settling)
      : settings_(settings),
        standing_(standing),
        chance_(chance),
        desk_(desk),
        sessions_(sessions),
        fetch_(fetch),
        runner_(runner),
        rebuilder_(rebuilder),
        settling_(settling) {}

  /// Makes the commit of the batch's current turn. False when there is none: then the turn is settled.
  bool build(TurnBatch& batch, store::TurnCommit& commit);

 private:
  void begin(PreparedTurn& turn, store::TurnCommit& commit);
  bool make_frame(TurnBatch& batch, FirstTurn& first, store::TurnCommit& commit, bool& ended);
  bool run_code(TurnBatch& batch, const FirstTurn& first, store::TurnCommit& commit);
  void add_turn(PreparedTurn& turn, const FirstTurn& first, store::TurnCommit& commit);
  [[nodiscard]] std::optional<Duration> retry_in(const PreparedTurn& turn, CalendarTime now);
  void hand_off(PreparedTurn& turn, store::TurnCommit& commit);
  bool drop_unwanted(PreparedTurn& turn);
  bool end_as_poison(PreparedTurn& turn, store::TurnCommit& commit);
  bool end_without_code(PreparedTurn& turn, store::TurnCommit& commit, std::optional<engine::End> end);
  void end_with(PreparedTurn& turn, store::TurnCommit& commit, engine::LastTurn last, const FirstTurn& first,
                engine::End end);
  void answer_after_end(PreparedTurn& turn, store::TurnCommit& commit);
  bool answer_before_start(PreparedTurn& turn, store::TurnCommit& commit);

  const Settings& settings_;
  const Standing& standing_;
  Chance& chance_;
  ActivityDesk& desk_;
  const SessionDesk& sessions_;
  const TurnFetch& fetch_;
  TurnRunner& runner_;
  Rebuilder& rebuilder_;
  TurnSettling& settling_;
};

}  // namespace holdfast::runtime
