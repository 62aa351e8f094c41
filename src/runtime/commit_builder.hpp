// CommitBuilder: has one turn run, and writes down what the store has to do for it.
#pragma once

#include "engine/last_turn.hpp"
#include "runtime/chance.hpp"
#include "runtime/desk.hpp"
#include "runtime/incoming.hpp"
#include "runtime/other_builds.hpp"
#include "runtime/rebuilder.hpp"
#include "runtime/session_desk.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_fetch.hpp"
#include "runtime/turn_runner.hpp"
#include "runtime/turn_settling.hpp"

#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <optional>

namespace holdfast::runtime {

/// From an instance that is ready to a commit: its code is run, or, where that can't be, it is ended or
/// answered for without. Three parts: what comes before the code and may ask the store; the code, and
/// whatever asks its frame; what comes after it. Several threads at once, each with a batch of its own.
class CommitBuilder {
 public:
  CommitBuilder(const Settings& settings, const Standing& standing, Chance& chance, ActivityDesk& desk,
                const SessionDesk& sessions, OtherBuilds& builds, const TurnFetch& fetch, TurnRunner& runner,
                Rebuilder& rebuilder, TurnSettling& settling)
      : settings_(settings),
        standing_(standing),
        chance_(chance),
        desk_(desk),
        sessions_(sessions),
        builds_(builds),
        fetch_(fetch),
        runner_(runner),
        rebuilder_(rebuilder),
        settling_(settling) {}

  /// Makes the commit of the batch's current turn, whose frame lives in place. False when there is none: then
  /// the turn is settled.
  bool build(TurnBatch& batch, store::TurnCommit& commit);

  // The parts of that, for a turn whose frame lives on an executor.

  enum class Next : std::uint8_t {
    code,     ///< run()
    commit,   ///< the commit is complete
    nothing,  ///< the turn is settled
  };
  /// Reads what there is to read.
  Next prepare(SentTurn& sent);
  /// On the executor: makes its frame if there is none, and runs the batch's current turn.
  void run(TurnBatch& batch, SentTurn& sent);
  /// Completes the commit. False when there is none: then the turn is settled.
  bool finish(SentTurn& sent) { return finish(sent.turn, sent.commit, sent.ran); }

 private:
  void begin(PreparedTurn& turn, store::TurnCommit& commit);
  Next before_code(PreparedTurn& turn, store::TurnCommit& commit);
  Ran run_in_place(TurnBatch& batch, store::TurnCommit& commit);
  Ran run_code(TurnBatch& batch, store::TurnCommit& commit);
  bool finish(PreparedTurn& turn, store::TurnCommit& commit, Ran ran);
  void give_back_unread(PreparedTurn& turn);
  void park_or_leave(PreparedTurn& turn);
  void add_turn(PreparedTurn& turn, store::TurnCommit& commit);
  [[nodiscard]] std::optional<Duration> retry_in(const PreparedTurn& turn, CalendarTime now);
  void hand_off(PreparedTurn& turn, store::TurnCommit& commit);
  bool drop_unwanted(PreparedTurn& turn);
  bool end_as_poison(PreparedTurn& turn, store::TurnCommit& commit);
  /// Of an instance whose code is not run. `unread`: the store did not answer, the turn is settled.
  enum class Ending : std::uint8_t { done, not_asked, unreadable, unread };
  Ending end_without_code(PreparedTurn& turn, store::TurnCommit& commit, std::optional<engine::End> end);
  Next end_from_history(PreparedTurn& turn, store::TurnCommit& commit);
  void end_with(PreparedTurn& turn, store::TurnCommit& commit, engine::LastTurn last, const FirstTurn& first,
                engine::End end);
  void answer_after_end(PreparedTurn& turn, store::TurnCommit& commit);
  Ran answer_before_start(PreparedTurn& turn, store::TurnCommit& commit);

  const Settings& settings_;
  const Standing& standing_;
  Chance& chance_;
  ActivityDesk& desk_;
  const SessionDesk& sessions_;
  OtherBuilds& builds_;
  const TurnFetch& fetch_;
  TurnRunner& runner_;
  Rebuilder& rebuilder_;
  TurnSettling& settling_;
};

}  // namespace holdfast::runtime
