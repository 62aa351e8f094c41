// TurnStep: fetches instances that are ready, runs their code, commits what it did.
#pragma once

#include "base/mutex.hpp"
#include "engine/last_turn.hpp"
#include "runtime/cache.hpp"
#include "runtime/chance.hpp"
#include "runtime/desk.hpp"
#include "runtime/incoming.hpp"
#include "runtime/locked_out.hpp"
#include "runtime/outbox.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_watch.hpp"
#include "runtime/waker.hpp"

#include <holdfast/store/turns.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::runtime {

/// Several threads may call step() at once: each runs other instances, and one of them fetches.
class TurnStep {
 public:
  TurnStep(const Settings& settings, Standing& standing, Waker& waker, Chance& chance, InstanceCache& cache,
           ActivityDesk& desk, SessionDesk& sessions, Outbox& outbox)
      : settings_(settings),
        standing_(standing),
        waker_(waker),
        chance_(chance),
        cache_(cache),
        desk_(desk),
        sessions_(sessions),
        outbox_(outbox),
        trouble_(settings) {}

  Progress step();
  /// The store may have more.
  void want() noexcept { wanted_ = true; }
  /// Gives up turns that have taken too long: their instances are parked, and what else their threads had in
  /// hand goes to others. Returns those threads.
  std::vector<std::thread::id> give_up_overdue();
  /// When there may be one.
  [[nodiscard]] BootTime next_overdue() const { return watch_.next_due(); }
  /// Threads that were given up, and are still in their turns.
  [[nodiscard]] int stuck() const noexcept { return stuck_; }

 private:
  struct GivenUp {};  // thrown once code has come back too late
  enum class Fetched : std::uint8_t { nothing, some, elsewhere };

  Fetched fetch();
  bool fetch_alone() HOLDFAST_REQUIRES(fetching_);
  void keep_one_suspect(std::vector<store::LockedTurn>& turns);
  void clear_suspect(InstanceKey key);
  Progress run_and_commit(std::vector<InstanceCache::Taken>&& taken);
  void run_some(TurnBatch& batch);
  void commit(TurnBatch& batch);
  template <class Code>
  auto watched(TurnBatch& batch, Code code);
  void give_up(TurnBatch& batch);
  bool prepare(TurnBatch& batch, store::TurnCommit& commit);
  [[nodiscard]] std::optional<Duration> retry_in(const PreparedTurn& turn, CalendarTime now);
  void hand_off(PreparedTurn& turn, store::TurnCommit& commit);
  bool drop_unwanted(PreparedTurn& turn);
  bool rebuild(TurnBatch& batch, FirstTurn& first);
  template <class Read>
  bool read_history(const CachedInstance& instance, Read read);
  engine::Outcome run_code(TurnBatch& batch);
  bool end_as_poison(PreparedTurn& turn, store::TurnCommit& commit);
  bool end_without_code(PreparedTurn& turn, store::TurnCommit& commit, std::optional<engine::End> end);
  void end_with(PreparedTurn& turn, store::TurnCommit& commit, engine::LastTurn last, const FirstTurn& first,
                engine::End end);
  [[nodiscard]] FirstTurn first_turn(const CachedInstance& instance) const;
  void report(const CachedInstance& instance, const engine::Outcome& outcome);
  void say_taken_over(const store::LockedTurn& turn);
  void say_failed(const PreparedTurn& turn, const store::TurnCommit& commit);
  void say_parked(const CachedInstance& instance, std::string_view why);
  void say_dropped(const CachedInstance& instance, const store::TurnCommit& commit,
                   const store::Committed& committed);
  void say_refused_launches(const PreparedTurn& turn);
  void answer_after_end(PreparedTurn& turn, store::TurnCommit& commit);
  bool answer_before_start(PreparedTurn& turn, store::TurnCommit& commit);
  void settle(PreparedTurn& turn, store::TurnCommit& commit, StoreResult<store::Committed>&& answer,
              BootTime asked);
  void begin_handed_off(PreparedTurn& turn, const store::TurnCommit& commit, store::Committed& committed,
                        BootTime asked);
  void give_up(PreparedTurn& turn, const StoreError& error);
  void park(PreparedTurn& turn, const std::string& why);
  void release(PreparedTurn& turn, store::TurnRelease release);
  [[nodiscard]] CalendarTime turn_time() const;

  const Settings& settings_;
  Standing& standing_;
  Waker& waker_;
  Chance& chance_;
  InstanceCache& cache_;
  ActivityDesk& desk_;
  SessionDesk& sessions_;
  Outbox& outbox_;
  StoreTrouble trouble_;
  LockedOut locked_out_;
  std::atomic<bool> wanted_{true};
  std::atomic<BootTime> due_{kLongAgo};  // when a fetch is worth its while without being asked for
  TurnWatch watch_;
  std::atomic<int> stuck_{0};
  Mutex fetching_;
  std::optional<LockToken> unanswered_
      HOLDFAST_GUARDED_BY(fetching_);      // of a fetch that may have locked something nobody here knows of
  std::atomic<std::uint64_t> suspect_{0};  // the instance that is run by itself, if any
  // The store's calendar at the last fetch, and when that was: local turns go on from there.
  std::atomic<CalendarTime> calendar_{CalendarTime{}};
  std::atomic<BootTime> calendar_read_{BootTime{}};
};

}  // namespace holdfast::runtime
