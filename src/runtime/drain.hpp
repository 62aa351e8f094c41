// Drain: how a worker that takes nothing new comes to its end.
#pragma once

#include "base/moments.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>

namespace holdfast::runtime {

/// What runs may end by itself until the deadline. Then it is asked to stop, and has its grace. Then
/// coroutines are ended, which takes a moment, and those that go on all the same are given up. The worker
/// leaves as soon as nothing is left to wait for. Time goes in, orders come out: it calls nobody. Not
/// thread-safe.
class Drain {
 public:
  /// How long coroutines that are ended, and answers that are on their way, are waited for at the end.
  static constexpr Duration kMomentToEnd = std::chrono::seconds(2);

  Drain(BootTime deadline, Duration grace) : grace_(grace), until_(deadline) {}

  /// What a worker says of itself. Asked once for each look: a step that finds nothing to do makes it look
  /// busy again for a moment.
  struct Look {
    bool quiet = false;      ///< nothing runs, and the store knows everything
    bool ends_soon = false;  ///< it will be quiet without anybody's help
  };
  enum class Order : std::uint8_t {
    wait,             ///< and look again soon, at due() at the latest
    stop_activities,  ///< ask what runs to stop
    leave,            ///< end all threads, give back what is left, leave the store
  };
  Order next(BootTime now, Look look) {
    if (phase_ == Phase::finishing) {
      if (look.quiet) return leave(true);
      if (now < until_) return Order::wait;
      phase_ = Phase::stopping;
      until_ = after(now, grace_);
      return Order::stop_activities;
    }
    if (phase_ == Phase::stopping) {
      if (!look.quiet && now < until_) return Order::wait;
      phase_ = Phase::ending;
      until_ = after(now, kMomentToEnd);
    }
    return look.ends_soon && now < until_ ? Order::wait : leave(false);
  }
  /// Whether next() would give an order, or go on to wait for something else.
  [[nodiscard]] bool goes_on(BootTime now, Look look) const {
    Drain then = *this;
    return then.next(now, look) != Order::wait || then.phase_ != phase_;
  }
  /// When it goes on at the latest.
  [[nodiscard]] BootTime due() const noexcept { return until_; }
  /// From then on a store that does not answer is asked nothing more. For the beginning.
  [[nodiscard]] BootTime store_until() const { return after(until_, grace_); }
  /// Whether what runs may still end by itself.
  [[nodiscard]] bool is_finishing() const noexcept { return phase_ == Phase::finishing; }
  /// Whether everything had ended by itself.
  [[nodiscard]] bool ended_by_itself() const noexcept { return by_itself_; }

 private:
  enum class Phase : std::uint8_t { finishing, stopping, ending, leaving };

  Order leave(bool by_itself) {
    if (phase_ == Phase::finishing) by_itself_ = by_itself;
    phase_ = Phase::leaving;
    until_ = BootTime::max();
    return Order::leave;
  }

  const Duration grace_;
  Phase phase_ = Phase::finishing;
  BootTime until_;
  bool by_itself_ = false;
};

}  // namespace holdfast::runtime
