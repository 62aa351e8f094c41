// One instance in flight, as the process that runs it knows it: enough of an engine to make its turns.
#pragma once

#include "bench/workload.hpp"

#include <holdfast/random.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

/// In one thread at a time.
class Frame {
 public:
  /// `number` is where to find it again: bodies of messages and activities begin with it.
  Frame(Shape shape, bool hand_off, std::size_t number);

  // What is filled in below was used for others before, and keeps its memory: what is measured is the store.
  /// A new life, with this id.
  void start(std::uint64_t id, Random& random, store::StartRequest& request);
  /// Its lock and its messages came from a fetch.
  void fetched(const store::LockedTurn& turn);
  /// The commit of its next turn, which takes in all that came since the last.
  void next_turn(Random& random, store::TurnCommit& commit);
  /// How that commit went. Activities that were handed off are done at once.
  void committed(const store::Committed& answer);

  [[nodiscard]] bool ended() const noexcept { return done_ == kActivities; }
  /// Activities whose completion the last commit took in.
  [[nodiscard]] std::uint32_t steps() const noexcept { return steps_; }
  [[nodiscard]] Clock::time_point started() const noexcept { return started_; }

  static std::size_t number_in(std::string_view body);

 private:
  static constexpr std::uint32_t kActivities = 5;

  void schedule(store::TurnCommit& commit, std::uint32_t count);

  Shape shape_;
  bool hand_off_;
  std::string body_;
  Clock::time_point started_{};

  InstanceKey key_{};
  LockToken token_{};
  TurnStamp stamp_{};
  MessageId seen_{};
  std::vector<MessageId> unread_;
  std::vector<store::LocalCompletion> completed_;  // handed off, and done
  std::uint32_t outcomes_ = 0;                     // that came as messages
  std::uint64_t next_event_ = 1;
  std::uint32_t done_ = 0;
  std::uint32_t steps_ = 0;

  // Of the turn that is being committed.
  TurnStamp new_stamp_{};
  LockToken activity_token_{};
};

}  // namespace holdfast::bench
