#include "bench/lockstep.hpp"

#include <algorithm>

namespace holdfast::bench {

Round Lockstep::run(std::chrono::nanoseconds length) {
  Round round;
  const auto began = Clock::now();
  std::vector<Flight> flights(in_flight_);
  for (Flight& flight : flights) flight = {.key = ++last_key_, .began = began};

  while (!flights.empty()) {
    begin();
    for (const Flight& flight : flights) write(flight);
    commit();

    const auto now = Clock::now();
    const bool in_time = now - began < length;
    if (in_time) round.seconds = std::chrono::duration<double>(now - began).count();
    for (Flight& flight : flights) {
      const bool turned = !only_starts(flight);
      flight.started = true;
      if (!turned) continue;
      if (in_time) round.steps += plan_[flight.turn].completes;
      if (++flight.turn < plan_.size()) continue;
      round.latencies.push_back(std::chrono::duration<double, std::micro>(now - flight.began).count());
      if (in_time) flight = {.key = ++last_key_, .began = now};
    }
    std::erase_if(flights, [this](const Flight& flight) { return flight.turn == plan_.size(); });
  }
  return round;
}

void Lockstep::write(const Flight& flight) {
  if (!flight.started) start(flight);
  if (!only_starts(flight)) write(flight, plan_[flight.turn]);
}

}  // namespace holdfast::bench
