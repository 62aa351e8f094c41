// Instances that all take their next turn in the same transaction: how the ceilings run a workload, on one
// thread.
#pragma once

#include "bench/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::bench {

/// One that is in flight.
struct Flight {
  std::uint64_t key = 0;
  std::size_t turn = 0;  ///< which one is next
  Clock::time_point started{};
};

/// A derived class says how a turn is written and how a group of them becomes durable.
class Lockstep : public Contender {
 public:
  Lockstep(Shape shape, std::size_t in_flight) : plan_(turns_of(shape)), in_flight_(in_flight) {}
  Round run(std::chrono::nanoseconds length) override;

 protected:
  virtual void begin() {}
  virtual void write(const Flight& flight, const TurnPlan& turn) = 0;
  virtual void commit() = 0;

 private:
  std::span<const TurnPlan> plan_;
  std::size_t in_flight_;
  std::uint64_t last_key_ = 0;
};

}  // namespace holdfast::bench
