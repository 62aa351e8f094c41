// Witness: hears what the store truly did, and says when it was not allowed to.
#pragma once

#include "base/moments.hpp"

#include <holdfast/activity_context.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::simulator {

/// Keeps a small model of who holds what, and of what happened to each operation and message. It hears of
/// every call after it was made, with the store's own answer; what the caller is told plays no role.
class Witness {
 public:
  /// `broken` is called with a sentence whenever something happened that must not.
  Witness(const Clock& clock, std::function<void(std::string)> broken)
      : clock_(clock), broken_(std::move(broken)) {}

  void fetched(const store::TurnRequest& request, const store::FetchedTurns& answer);
  void committed(const store::CommitRequest& request, const store::TurnCommit& commit,
                 const StoreResult<store::Committed>& answer);
  void released(const store::TurnRelease& release, const StoreResult<void>& answer);
  void renewed(Duration lease, const store::TurnRenewal& renewal, const StoreResult<void>& answer);

  void fetched(const store::ActivityRequest& request, const store::FetchedActivities& answer);
  void finished(const store::ActivityResult& result, const StoreResult<void>& answer);
  void renewed(Duration lease, const store::ActivityRenewal& renewal, const StoreResult<void>& answer);

  /// A fetch is about to be heard of, by a process that did not hear what others have done, which used the
  /// tokens in `unanswered`. What they locked is to be given back by this one.
  void check_given_back(const store::TurnRequest& request, const std::set<LockToken>& unanswered);
  void check_given_back(const store::ActivityRequest& request, const std::set<LockToken>& unanswered);

  void started(const store::StartRequest& request, const StoreResult<store::StartAnswer>& answer);
  void deleted(InstanceKey key);
  void set_suspended(const store::Suspension& wish, InstanceKey key);

  /// How long the activity is locked for the process that runs this code; none when that is not known.
  [[nodiscard]] std::optional<BootTime> lease_of(const ActivityContext& running) const;
  /// Whether the same worker had it right before, in the delivery before.
  [[nodiscard]] bool was_taken_again(const ActivityContext& running) const;
  /// When it was taken away from the process that runs this code, which had it locked: nobody wants it any
  /// more.
  [[nodiscard]] std::optional<BootTime> taken_away_at(const ActivityContext& running) const;
  /// The code of an activity comes to its end.
  void ends(const ActivityContext& running);
  /// A process is about to tell the store how an attempt has ended.
  void answering(const store::ActivityResult& result);
  /// From here on, workers hear at once of what was taken away from them.
  void expect_news() { news_since_ = std::min(news_since_, clock_.boot_now()); }
  /// From here on, the store hears at once of attempts that have failed: no answer waits for another.
  void expect_prompt_answers() { prompt_answers_since_ = std::min(prompt_answers_since_, clock_.boot_now()); }
  /// From here on, whoever has locked something and lives gives it back: nobody waits for a lease to end.
  void expect_no_lapses() { no_lapses_since_ = std::min(no_lapses_since_, clock_.boot_now()); }
  /// A worker died, was taken for gone, or left while code ran that ignores requests to stop, and what it had
  /// locked waits.
  void allow_lapses() { no_lapses_since_ = BootTime::max(); }
  /// From here on, whoever holds an instance that has something to do does it.
  void expect_progress() { progress_since_ = std::min(progress_since_, clock_.boot_now()); }

  /// Compares the whole store with what was heard.
  void inspect(const store::StoreState& state);

  /// How many commits ended an instance so far, and how many instances were started: whoever waits for the
  /// end looks again when one of them changes.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }

 private:
  struct Lock {
    LockToken token{};
    WorkerKey worker{};
    BootTime since = kLongAgo;
    Duration lease{};
    BootTime until = kLongAgo;
  };
  /// An instance that has something to do, in these hands.
  struct Waiting {
    TurnStamp stamp{};
    LockToken token{};
    BootTime since = kLongAgo;
  };
  struct Instance {
    std::string id{};
    std::optional<Lock> lock{};
    BootTime not_before = kLongAgo;  ///< a release asked for a delay
    std::optional<Waiting> waiting{};
    TurnStamp stamp{};
    bool ended = false;
    bool suspended = false;
    ExecutionNumber execution{1};
    EventId next_event{1};
    std::set<EventId> open{};  ///< operations of this execution without an outcome
    std::set<MessageId> consumed{};
  };
  /// What one hand-out was, and until when it was locked.
  struct HandOut {
    int attempt = 0;
    int delivery = 0;
    WorkerKey worker{};
    BootTime until = kLongAgo;
    std::optional<BootTime> ended{};       ///< its code has, and nobody has answered for it yet
    std::optional<BootTime> taken_away{};  ///< while it was locked
  };
  struct Activity {
    std::optional<Lock> lock{};
    std::uint32_t attempt = 1;
    std::uint32_t delivery = 0;
    bool over = false;
    std::vector<HandOut> hand_outs{};
  };

  void broken(std::string what) { broken_(std::move(what)); }
  Instance& instance(InstanceKey key) { return instances_[key]; }
  [[nodiscard]] Lock new_lock(LockToken token, WorkerKey worker, Duration lease) const;
  void check_lapse(const std::optional<Lock>& lock, const std::string& who);
  void check_progress(Instance& instance, const store::InstanceRow& row, bool pending);
  [[nodiscard]] std::string name(InstanceKey key) const;
  [[nodiscard]] std::string name(const store::ActivityId& id) const;
  void take(Instance& instance, const store::TurnRequest& request, const store::LockedTurn& turn);
  void read_segment(InstanceKey key, Instance& instance, const store::TurnCommit& commit);
  void check_completions(const Instance& instance, const store::TurnCommit& commit);
  void consume(InstanceKey key, Instance& instance, const store::TurnCommit& commit);
  void schedule(const store::CommitRequest& request, const store::TurnCommit& commit,
                const store::Committed& answer);
  void hand_out(const store::LockedActivity& locked, const Lock& lock);
  /// Of the activity whose code this is; and the place of the last one that was what runs there.
  struct HandOuts {
    store::ActivityId id{};
    std::span<const HandOut> all{};
    std::size_t place = 0;
  };
  [[nodiscard]] HandOuts hand_outs_of(const ActivityContext& running) const;
  template <class Rows>
  void check_given_back(LockToken token, const std::set<LockToken>& unanswered, const Rows& rows);
  void end_activity(const store::ActivityId& id);
  void take_away(const store::ActivityId& id);
  void end_execution(InstanceKey key, ExecutionNumber execution);

  const Clock& clock_;
  std::function<void(std::string)> broken_;
  std::map<InstanceKey, Instance> instances_;
  std::map<store::ActivityId, Activity> activities_;
  BootTime no_lapses_since_ = BootTime::max();
  BootTime progress_since_ = BootTime::max();
  BootTime news_since_ = BootTime::max();
  BootTime prompt_answers_since_ = BootTime::max();
  std::uint64_t changes_ = 0;
  std::set<RequestId> suspensions_{};  ///< those that took effect
  std::uint64_t turns_ = 0;
};

}  // namespace holdfast::simulator
