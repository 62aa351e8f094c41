// What the simulator runs in our own tests: orchestrations as users write them. Each computes a result that
// shows whether every step of it happened exactly once from the point of view of its code.
#pragma once

#include <holdfast/testing/simulator.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace holdfast::sim {

/// The world outside: what activities did to it, by idempotency key.
class Ledger {
 public:
  /// An attempt with this key had its effect.
  void enter(const std::string& key, const std::string& what) {
    auto [entry, is_new] = entries_.try_emplace(key, what);
    if (!is_new && entry->second != what) mixed_up_ = key;
  }
  [[nodiscard]] bool has(const std::string& key) const { return entries_.contains(key); }
  /// A key that stood for two different things, if any.
  [[nodiscard]] const std::string& mixed_up() const noexcept { return mixed_up_; }

 private:
  std::map<std::string, std::string> entries_;
  std::string mixed_up_;
};

using LedgerPointer = std::shared_ptr<Ledger>;

/// Activities that most workloads use: "step" (an effect, gives its idempotency key), "flaky" (fails until
/// its n-th attempt), "add".
void add_activities(testing::Simulation& sim, const LedgerPointer& ledger);

// Each registers its orchestrations, and starts some of them at times drawn from the seed.
void add_sequences(testing::Simulation& sim, const LedgerPointer& ledger);

/// Some of all workloads, by the seed.
void everything(testing::Simulation& sim);

/// A moment within the first seconds of a run.
Duration some_time(testing::Simulation& sim, Duration latest = std::chrono::seconds(15));

/// sim.fail() when they differ.
template <class T>
void expect_equal(testing::Simulation& sim, const std::string& what, const T& found, const T& expected) {
  if (found == expected) return;
  sim.fail(what + ": found " + encode(found).bytes + ", expected " + encode(expected).bytes);
}

}  // namespace holdfast::sim
