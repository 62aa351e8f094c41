#include "testkit/simulator/profile.hpp"

#include <chrono>

namespace holdfast::simulator {

using namespace std::chrono_literals;

Profile draw_profile(Dice& dice, const testing::SimulatedFaults& allowed) {
  Profile profile;
  profile.latency = dice.pick<Duration>({0us, 50us, 500us, 5ms});
  profile.activity_time = dice.pick<Duration>({0us, 5ms, 10ms, 200ms, 2s});
  // One seed in eight goes well: what fails there is the easiest to understand.
  const bool all_well = dice.one_in(8);
  const auto chosen = [&](bool may) { return dice.one_in(2) && may && !all_well; };
  const auto every = [&](bool may, Duration least, Duration most) {
    // Small ones as often as great ones.
    Duration drawn = least;
    while (drawn < most && dice.one_in(2)) drawn *= 2;
    return chosen(may) ? drawn : never;
  };
  const auto one_in = [&](bool may, std::uint64_t least, std::uint64_t most) -> std::uint64_t {
    const std::uint64_t drawn = least + dice.below(most - least + 1);
    return chosen(may) ? drawn : 0;
  };
  profile.kill_every = every(allowed.kills, 300ms, 20s);
  profile.kill_in_call_in = one_in(allowed.kills, 20, 500);
  profile.pause_every = every(allowed.pauses, 500ms, 20s);
  profile.replace_every = every(allowed.pauses && allowed.kills, 1s, 30s);
  profile.outage_every = every(allowed.outages, 2s, 30s);
  profile.jump_every = every(allowed.clock_jumps, 500ms, 30s);
  profile.drain_every = every(allowed.drains, 500ms, 20s);
  profile.upgrade_every = every(allowed.upgrades, 500ms, 20s);
  profile.lose_wake_in = one_in(allowed.lost_wakes, 1, 10);
  profile.delay_wake_in = one_in(allowed.lost_wakes, 1, 4);
  profile.fail_before_in = one_in(allowed.store_errors, 3, 50);
  profile.lose_answer_in = one_in(allowed.store_errors, 3, 50);
  profile.hang_in = one_in(allowed.hangs, 20, 500);
  profile.refuse_item_in = one_in(allowed.store_errors, 2, 20);
  profile.slow_activity_in = one_in(allowed.slow_activities, 2, 20);
  profile.interleave_in = one_in(allowed.interleaved_steps, 2, 20);
  profile.uneven = chosen(allowed.uneven_workers);
  return profile;
}

void draw_executors(Profile& profile, Dice& dice, const testing::SimulatedFaults& allowed) {
  profile.executors = allowed.executors && dice.one_in(2);
  const std::uint64_t late = dice.one_in(2) ? 2 + dice.below(15) : 0;
  if (profile.executors) profile.late_executor_in = late;
}

Profile without_faults(const Profile& profile) {
  Profile calm;
  calm.latency = profile.latency;
  calm.activity_time = profile.activity_time;
  calm.interleave_in = profile.interleave_in;
  calm.uneven = profile.uneven;
  calm.executors = profile.executors;
  return calm;
}

}  // namespace holdfast::simulator
