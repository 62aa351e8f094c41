// Verbs: what the program of a simulated worker asks its runtime for.
#pragma once

#include "testkit/simulator/process.hpp"
#include "testkit/simulator/session_witness.hpp"

#include <holdfast/testing/simulator.hpp>

#include <string_view>
#include <utility>

namespace holdfast::simulator {

/// The witness hears what the program was told: that it holds a session.
class Verbs final : public testing::SimulatedWorker {
 public:
  Verbs(Process& process, SessionWitness& witness) : process_(process), witness_(witness) {}

  SessionAcquired acquire_session(std::string_view id, SessionOptions options) override {
    const BootTime asked = process_.now();
    SessionAcquired acquired = process_.acquire_session(id, options);
    if (acquired.held()) tell(id, asked);
    return acquired;
  }
  SessionOutcome renew_session(std::string_view id) override {
    const BootTime asked = process_.now();
    const SessionOutcome outcome = process_.renew_session(id);
    if (outcome == SessionOutcome::reused) tell(id, asked);
    return outcome;
  }
  SessionOutcome close_session(std::string_view id) override { return process_.close_session(id); }

 private:
  void tell(std::string_view id, BootTime asked) {
    witness_.promised(process_.worker(), id, asked, process_.options().session_idle_timeout);
  }

  Process& process_;
  SessionWitness& witness_;
};

}  // namespace holdfast::simulator
