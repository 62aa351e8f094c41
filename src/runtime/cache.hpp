// InstanceCache: the instances that a worker has in memory: suspended frames, and locks that are kept between
// turns.
#pragma once

#include "base/block_containers.hpp"
#include "base/mutex.hpp"
#include "runtime/frame.hpp"
#include "runtime/local_done.hpp"
#include "runtime/outbox.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/turns.hpp>

#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// One instance. While `busy`, it belongs to the thread that took it, except for what others may change under
/// the cache's mutex: `inbox`, `done`, `next`, `running_here`, and `held`, when the lock is lost.
struct CachedInstance {
  InstanceKey key{};
  std::string id{};
  store::CodeVersion code{};
  std::uint64_t build = 0;
  ExecutionNumber execution{};
  store::InstanceStatus status = store::InstanceStatus::running;
  std::uint32_t delivery = 0;

  Frame frame{};  ///< valid for `stamp` only
  TurnStamp stamp{};
  std::optional<std::vector<Address>> waits{};  ///< as committed, if known

  bool held = false;  ///< locked by this worker, with `token`
  LockToken token{};
  BootTime idle_since{};
  MessageId fetched{};   ///< the last message that came into the inbox
  MessageId given{};     ///< the last message that the frame was given
  int running_here = 0;  ///< activities of it that this process runs or has just run

  bool busy = false;
  bool listed = false;  ///< in the list of those that wait for a turn
  std::vector<store::Message> inbox{};
  std::vector<LocalDone> done{};
  /// Fetched again, under a new lock, by another thread than the one that runs it and has yet to hear that
  /// its own lock went.
  std::unique_ptr<store::LockedTurn> next{};
  BlockList<InstanceKey>::iterator recent{};
};

/// Thread-safe. Completions that came for an instance, and that none of its turns here will take, it hands to
/// the outbox itself. Frames are code of the user, whose destructors may do anything: it lets go of them
/// without its mutex.
class InstanceCache {
 public:
  InstanceCache(std::size_t capacity, const Clock& clock, Outbox& outbox)
      : capacity_(capacity), clock_(clock), outbox_(outbox) {}

  /// A turn that was fetched: its messages go to the inbox, and it waits for its turn. A frame in memory is
  /// kept if its stamp is still the store's.
  void add(store::LockedTurn&& turn);
  /// An activity ended. True when a turn of this process will take it.
  bool add_done(LocalDone&& done);

  /// An instance to run, with what it got; the caller owns it until put_back() or drop(). Whatever is in
  /// `done` by then was of no use: the store is told.
  struct Taken {
    CachedInstance* instance = nullptr;
    std::vector<store::Message> messages{};
    std::vector<LocalDone> done{};
    MessageId seen{};
    int running_here = 0;
  };
  std::vector<Taken> take_ready(std::size_t max);
  [[nodiscard]] bool has_ready() const;

  /// After a commit that ended one execution and began the next.
  void begin_execution(CachedInstance& instance, std::string version);
  /// After a commit.
  void put_back(Taken& taken, bool still_held);
  /// Its frame can't be trusted any more, or it has ended.
  void drop(Taken& taken);
  /// An instance that is forgotten here, but still used by code that doesn't come back.
  using Abandoned = BlockMap<InstanceKey, CachedInstance>::node_type;
  /// drop() of an instance that lives on at its place until the caller destroys it.
  void abandon(Taken& taken, Abandoned& abandoned);

  /// What the holder tells the store when it fetches; sorted by key.
  [[nodiscard]] std::vector<store::HeldInstance> held() const;
  /// All locks that have to be renewed, those of running turns included.
  [[nodiscard]] std::vector<store::TurnRenewal> locks() const;

  /// Locks that were kept for longer than `hold` without a turn; they are no longer held here.
  std::vector<store::TurnRelease> release_idle(Duration hold);
  /// The lock of this instance is another's.
  void lost(InstanceKey key, LockToken token);
  /// Forgets frames that were not used for `idle`.
  void evict_idle(Duration idle);
  /// Forgets all frames that live on executors. For after the last turn.
  void evict_elsewhere();
  /// When release_idle or evict_idle has something to do.
  [[nodiscard]] BootTime next_due(Duration hold, Duration idle) const;

  void activity_started(InstanceKey key);
  void activity_over(InstanceKey key);

  /// Whether it is locked by this worker.
  [[nodiscard]] bool holds(InstanceKey key) const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t held_count() const;

 private:
  using Map = BlockMap<InstanceKey, CachedInstance>;
  /// What is let go of. Made before the mutex is locked, it goes to the outbox, and frames are destroyed,
  /// after it was unlocked: those that live on executors together.
  struct LetGo {
    explicit LetGo(Outbox& to) : outbox(to) {}
    ~LetGo() {
      outbox.answer(std::move(done));
      FrameBurial burial;
      for (Abandoned& one : instances) burial.take(one.mapped().frame);
      for (Frame& frame : frames) burial.take(frame);
    }
    LetGo(const LetGo&) = delete;
    LetGo& operator=(const LetGo&) = delete;

    void take_done(std::vector<LocalDone>& from) {
      done.insert(done.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
      from.clear();
    }

    Outbox& outbox;
    std::vector<LocalDone> done{};
    std::vector<Abandoned> instances{};
    std::vector<Frame> frames{};
  };
  void add_locked(store::LockedTurn&& turn, LetGo& let_go) HOLDFAST_REQUIRES(mutex_);
  void begin_lock(CachedInstance& instance, store::LockedTurn& turn, LetGo& let_go) HOLDFAST_REQUIRES(mutex_);
  void list(CachedInstance& instance) HOLDFAST_REQUIRES(mutex_);
  void touch(CachedInstance& instance) HOLDFAST_REQUIRES(mutex_);
  Abandoned extract(Map::iterator it) HOLDFAST_REQUIRES(mutex_);
  void evict_over_capacity(LetGo& let_go) HOLDFAST_REQUIRES(mutex_);

  const std::size_t capacity_;
  const Clock& clock_;
  Outbox& outbox_;
  mutable Mutex mutex_;
  Map instances_ HOLDFAST_GUARDED_BY(mutex_);
  BlockList<InstanceKey> recent_ HOLDFAST_GUARDED_BY(mutex_);  // the least recently used first
  std::deque<InstanceKey> ready_ HOLDFAST_GUARDED_BY(mutex_);
  BlockMap<InstanceKey, CachedInstance*> held_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
