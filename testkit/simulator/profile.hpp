// Profile: what goes wrong in one run, and how often.
#pragma once

#include "testkit/dice.hpp"

#include <holdfast/options.hpp>
#include <holdfast/testing/simulator.hpp>

#include <chrono>
#include <cstdint>

namespace holdfast::simulator {

/// Each seed picks its own: runs in which few things go wrong, but often, find other mistakes than runs in
/// which everything does. `never` and 0 mean that it doesn't happen.
struct Profile {
  // How far apart these are on average.
  Duration kill_every = never;
  Duration pause_every = never;
  Duration replace_every = never;  ///< a process stands still, and another begins under its name
  Duration outage_every = never;
  Duration jump_every = never;
  Duration drain_every = never;
  Duration upgrade_every = never;

  // One in so many.
  std::uint64_t kill_in_call_in = 0;
  std::uint64_t lose_wake_in = 0;
  std::uint64_t delay_wake_in = 0;
  std::uint64_t fail_before_in = 0;
  std::uint64_t lose_answer_in = 0;
  std::uint64_t hang_in = 0;         ///< calls, for longer than most leases
  std::uint64_t refuse_item_in = 0;  ///< of the items of a call
  std::uint64_t slow_activity_in = 0;
  std::uint64_t interleave_in = 0;

  Duration latency{};        ///< of a call to the store, at most
  Duration activity_time{};  ///< of activities that are not slow, at most
  bool uneven = false;

  bool executors = false;              ///< frames of some orchestrations live on an executor
  std::uint64_t late_executor_in = 0;  ///< of what is posted to it

  /// Nobody stands still, and the store is there and answers: whoever has something to do does it.
  [[nodiscard]] bool keeps_going() const noexcept {
    return pause_every == never && replace_every == never && outage_every == never && hang_in == 0 &&
           late_executor_in == 0;
  }
  /// Besides, the store refuses nothing and no answer is lost: whoever is asked to leave can.
  [[nodiscard]] bool lets_leave() const noexcept {
    return keeps_going() && fail_before_in == 0 && lose_answer_in == 0 && refuse_item_in == 0;
  }
  /// Nobody stands still, the store does what it is asked to, if late, and news arrives: whoever has locked
  /// something hears when it is taken away.
  [[nodiscard]] bool tells_in_time() const noexcept {
    return pause_every == never && replace_every == never && outage_every == never && lose_wake_in == 0 &&
           fail_before_in == 0 && lose_answer_in == 0 && refuse_item_in == 0;
  }
  /// Nobody stands still, and calls are short and not made inside of others: whoever has an answer gives it.
  [[nodiscard]] bool answers_at_once() const noexcept {
    return keeps_going() && interleave_in == 0 && latency <= std::chrono::microseconds(500);
  }
  /// Nobody stands still or dies, and no answer is lost: whoever has locked something gives it back.
  [[nodiscard]] bool loses_no_locks() const noexcept {
    return keeps_going() && kill_every == never && upgrade_every == never && drain_every == never &&
           kill_in_call_in == 0 && fail_before_in == 0 && lose_answer_in == 0;
  }
};

Profile draw_profile(testing::Dice& dice, const testing::SimulatedFaults& allowed);
/// What executors do, from dice of their own: a run without them is the same as ever.
void draw_executors(Profile& profile, testing::Dice& dice, const testing::SimulatedFaults& allowed);
/// The same run once nothing goes wrong any more.
Profile without_faults(const Profile& profile);

}  // namespace holdfast::simulator
