// TurnsAway: turns whose frames live on executors: sends them there in batches, and settles what comes back.
#pragma once

#include "runtime/commit_builder.hpp"
#include "runtime/crossing.hpp"
#include "runtime/settings.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_committer.hpp"
#include "runtime/turn_fetch.hpp"
#include "runtime/turn_runner.hpp"
#include "runtime/turn_settling.hpp"
#include "runtime/waker.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// A batch is read for by a thread of turns, runs on its executor in one job, and is committed by a thread of
/// turns. Nobody waits for an executor: one that is slow, stuck or gone holds up its own turns only. Several
/// threads may call it at once; the limits step gives up what does not come back.
class TurnsAway {
 public:
  TurnsAway(const Settings& settings, Waker& waker, TurnFetch& fetch, TurnRunner& runner,
            CommitBuilder& builder, TurnSettling& settling, TurnCommitter& committer);
  ~TurnsAway();
  TurnsAway(const TurnsAway&) = delete;
  TurnsAway& operator=(const TurnsAway&) = delete;

  /// What must live as long as a batch runs on an executor.
  void keep_alive(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  /// Takes out those whose frames live on executors.
  void take(std::vector<InstanceCache::Taken>& taken);
  /// Sends what waits, and settles what has come back. True when there was any.
  bool step();
  /// This batch has taken too long; see TurnRunner::give_up_overdue().
  void give_up(TurnBatch& batch);
  /// Instances that wait for executors, are there, or have come back and are not settled.
  [[nodiscard]] std::size_t in_hand() const noexcept { return in_hand_; }
  /// Gives back all that is in hand: for after the last step. What still runs is dropped when it comes back.
  void close();

 private:
  /// Knows whether this is still here. For what is posted.
  struct Link {
    std::atomic<bool> closed{false};
  };

  [[nodiscard]] std::shared_ptr<FrameHome> home_of(const InstanceCache::Taken& taken) const;
  [[nodiscard]] Crossing& crossing_to(const FrameHome& home);
  bool send_next(Crossing& crossing);
  void prepare(TurnBatch& batch);
  void send(Crossing& crossing, const std::shared_ptr<TurnBatch>& batch);
  void run(Crossing& crossing, TurnBatch& batch);
  void come_back_late(Crossing& crossing, const TurnBatch& batch);
  void settle(TurnBatch& batch);
  void release(std::vector<InstanceCache::Taken>&& taken);

  const Settings& settings_;
  Waker& waker_;
  TurnFetch& fetch_;
  TurnRunner& runner_;
  CommitBuilder& builder_;
  TurnSettling& settling_;
  TurnCommitter& committer_;
  std::weak_ptr<const void> owner_;
  std::deque<Crossing> crossings_;  // one for each home
  std::atomic<std::size_t> in_hand_{0};
  const std::shared_ptr<Link> link_ = std::make_shared<Link>();
};

}  // namespace holdfast::runtime
