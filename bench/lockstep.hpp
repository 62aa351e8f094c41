// Instances that all take their next turn in the same transaction: how the ceilings run a workload, on one
// thread.
#pragma once

#include "bench/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::bench {

/// One that is in flight.
struct Flight {
  std::uint64_t key = 0;
  bool started = false;
  std::size_t turn = 0;  ///< which one is next
  Clock::time_point began{};
};

/// Where the start of an instance is written.
enum class Start : std::uint8_t {
  with_first_turn,  ///< as if whoever starts it ran it as well
  apart,            ///< a transaction earlier: a client is answered before anybody runs it
};

/// A derived class says what is written and how a group becomes durable.
class Lockstep : public Contender {
 public:
  Lockstep(Shape shape, std::size_t in_flight, Start start)
      : plan_(turns_of(shape)), in_flight_(in_flight), start_(start) {}
  Round run(std::chrono::nanoseconds length) override;

 protected:
  virtual void begin() {}
  virtual void start(const Flight& flight) = 0;
  virtual void write(const Flight& flight, const TurnPlan& turn) = 0;
  virtual void commit() = 0;

 private:
  [[nodiscard]] bool only_starts(const Flight& flight) const noexcept {
    return !flight.started && start_ == Start::apart;
  }
  void write(const Flight& flight);

  std::span<const TurnPlan> plan_;
  std::size_t in_flight_;
  Start start_;
  std::uint64_t last_key_ = 0;
};

}  // namespace holdfast::bench
