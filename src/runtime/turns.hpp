// TurnStep: fetches instances that are ready, runs their code, commits what it did.
#pragma once

#include "runtime/cache.hpp"
#include "runtime/desk.hpp"
#include "runtime/incoming.hpp"
#include "runtime/turn_watch.hpp"
#include "runtime/worker.hpp"

#include <holdfast/store/turns.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::runtime {

/// Several threads may call step() at once: each runs other instances, and one of them fetches.
class TurnStep {
 public:
  TurnStep(Worker& worker, InstanceCache& cache, ActivityDesk& desk, SessionDesk& sessions)
      : worker_(worker), cache_(cache), desk_(desk), sessions_(sessions), trouble_(worker) {}

  Progress step();
  /// The store may have more.
  void want() noexcept { wanted_ = true; }
  /// Locks of turns whose outcome is in doubt: to be given back as soon as the store answers.
  std::vector<store::TurnRelease> take_doubtful();
  void add_doubtful(store::TurnRelease release);
  [[nodiscard]] TurnWatch& watch() noexcept { return watch_; }

 private:
  struct Prepared {
    InstanceCache::Taken taken{};
    Incoming incoming{};
    std::size_t hand_offs = 0;
    bool requested = false;  ///< somebody asks it to end
    bool forget = false;     ///< the frame was not given all that came: the next turn begins from history
  };

  enum class Fetched : std::uint8_t { nothing, some, elsewhere };

  Fetched fetch();
  bool fetch_alone();
  void keep_one_suspect(std::vector<store::LockedTurn>& turns);
  void clear_suspect(InstanceKey key);
  void run_and_commit(std::vector<InstanceCache::Taken>&& taken);
  std::vector<store::TurnCommit> run(std::vector<InstanceCache::Taken>&& taken,
                                     std::vector<Prepared>& prepared);
  bool prepare(Prepared& turn, store::TurnCommit& commit);
  bool rebuild(CachedInstance& instance, FirstTurn& first);
  template <class Read>
  bool read_history(const CachedInstance& instance, Read read);
  engine::Outcome run_code(Prepared& turn, bool fresh);
  bool end_as_poison(Prepared& turn, store::TurnCommit& commit);
  bool end_without_code(Prepared& turn, store::TurnCommit& commit, std::optional<engine::End> end);
  [[nodiscard]] FirstTurn first_turn(const CachedInstance& instance) const;
  void report(const CachedInstance& instance, const engine::Outcome& outcome, Duration took);
  void answer_after_end(Prepared& turn, store::TurnCommit& commit);
  bool answer_before_start(Prepared& turn, store::TurnCommit& commit);
  void settle(Prepared& turn, store::TurnCommit& commit, StoreResult<store::Committed>&& answer,
              BootTime asked);
  void begin_handed_off(Prepared& turn, const store::TurnCommit& commit, store::Committed& committed,
                        BootTime asked);
  void give_up(Prepared& turn, const StoreError& error);
  void park(Prepared& turn, const std::string& why);
  void release(Prepared& turn, store::TurnRelease release);
  [[nodiscard]] CalendarTime turn_time() const;

  Worker& worker_;
  InstanceCache& cache_;
  ActivityDesk& desk_;
  SessionDesk& sessions_;
  StoreTrouble trouble_;
  std::atomic<bool> wanted_{true};
  std::atomic<BootTime> due_{BootTime{}};  // when a fetch is worth its while without being asked for
  TurnWatch watch_;
  std::mutex fetching_;
  std::atomic<std::uint64_t> suspect_{0};  // the instance that is run by itself, if any
  // The store's calendar at the last fetch, and when that was: local turns go on from there.
  std::atomic<CalendarTime> calendar_{CalendarTime{}};
  std::atomic<BootTime> calendar_read_{BootTime{}};
  std::mutex doubtful_mutex_;
  std::vector<store::TurnRelease> doubtful_;
};

}  // namespace holdfast::runtime
