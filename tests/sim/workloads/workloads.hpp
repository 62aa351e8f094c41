// What the simulator runs in our own tests: orchestrations as users write them. Each computes a result that
// shows whether every step of it happened exactly once from the point of view of its code.
#pragma once

#include <holdfast/testing/simulator.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::sim {

using testing::Simulation;

/// The world outside: what activities did to it, by idempotency key.
class Ledger {
 public:
  /// An attempt with this key had its effect.
  void enter(const std::string& key, const std::string& what) {
    const auto [entry, is_new] = entries_.try_emplace(key, what);
    if (!is_new && entry->second != what) mixed_up_ = key;
  }
  [[nodiscard]] bool has(const std::string& key) const { return entries_.contains(key); }
  /// Whether an effect with this label ever happened.
  [[nodiscard]] bool has_label(const std::string& label) const {
    for (const auto& [key, what] : entries_) {
      if (what == label) return true;
    }
    return false;
  }
  /// A key that stood for two different things, if any.
  [[nodiscard]] const std::string& mixed_up() const noexcept { return mixed_up_; }

 private:
  std::map<std::string, std::string> entries_;
  std::string mixed_up_;
};

/// What all workloads of one run share.
struct Shared {
  Simulation& sim;
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
  std::shared_ptr<std::set<std::string>> registered = std::make_shared<std::set<std::string>>();

  /// Registers an orchestration that several workloads use.
  template <class F>
  void share(const std::string& name, F function) const {
    if (registered->insert(name).second) sim.orchestration(name, function);
  }

  /// A moment within the first seconds of the run.
  [[nodiscard]] Duration some_time(Duration latest = std::chrono::seconds(15)) const {
    // Many at once now and then.
    if (sim.draw(3) == 0) latest /= 20;
    return Duration(static_cast<Duration::rep>(sim.draw(static_cast<std::uint64_t>(latest.count()) + 1)));
  }
  [[nodiscard]] int number(int least, int most) const {
    return least + static_cast<int>(sim.draw(static_cast<std::uint64_t>(most - least + 1)));
  }
  /// Starts an instance at some time.
  template <class... In>
  void start(const std::string& orchestration, const std::string& id, const In&... in) const {
    sim.at(some_time(), "start " + id,
           [orchestration, id, in...](Client& client) { client.start(orchestration, {.id = id}, in...); });
  }
  /// sim.fail() when they differ.
  template <class T>
  void expect(const std::string& what, const T& found, const T& expected) const {
    if (found == expected) return;
    sim.fail(what + ": found " + encode(found).bytes + ", expected " + encode(expected).bytes);
  }
  /// Results of the activity "step": each of a step that ran, with the label at its place, and none twice.
  void expect_steps(const std::string& id, const std::vector<std::string>& done,
                    const std::vector<std::string>& labels) const;
  /// A failure of this type, or a value.
  template <class T>
  void expect_failure(const std::string& id, const Result<T>& result, const std::string& type) const {
    if (result) return sim.fail(id + " succeeded instead of failing as " + type);
    expect(id + " fails as", result.error().type, type);
  }
};

/// Some instances of one kind; the tests name them.
using Workload = void (*)(const Shared& shared);

// Activities one after the other, side by side, failing, timing out, undone.
void sequences(const Shared& shared);
void fan_outs(const Shared& shared);
void retries(const Shared& shared);
void deadlines(const Shared& shared);
void hurries(const Shared& shared);
void interruptions(const Shared& shared);
void sagas(const Shared& shared);
void side_effects(const Shared& shared);
void queues(const Shared& shared);
void heartbeats(const Shared& shared);
void oversized_ones(const Shared& shared);
// Activities that are dropped while they end; turns that block; one that kills its workers beside them, which
// needs a low `poison_after` and no other kills.
void leftovers(const Shared& shared);
void blocked_turns(const Shared& shared);
void suspects_beside_blocked_turns(const Shared& shared);
// Time, events and messages.
void timers(const Shared& shared);
void approvals(const Shared& shared);
void actors(const Shared& shared);
void impatient_readers(const Shared& shared);
void early_birds(const Shared& shared);
void chatter(const Shared& shared);
// Orchestrations that start others, and go on as new.
void trees(const Shared& shared);
void detached_ones(const Shared& shared);
void taken_ids(const Shared& shared);
void careless_ones(const Shared& shared);
void loops(const Shared& shared);
void restless_children(const Shared& shared);
void persistent_children(const Shared& shared);
void orphans(const Shared& shared);
// Activities that stay with a worker.
void conversations(const Shared& shared);
void memories(const Shared& shared);
void shared_memories(const Shared& shared);
void opened_sessions(const Shared& shared);
void crowds(const Shared& shared);
void worker_sessions(const Shared& shared);
void aborted_sessions(const Shared& shared);
void closed_sessions(const Shared& shared);
void asked_for_sessions(const Shared& shared);
void listeners(const Shared& shared);
void sought_sessions(const Shared& shared);
void prepared_sessions(const Shared& shared);
void steadfast_sessions(const Shared& shared);
void keepsakes(const Shared& shared);
/// Says so many lines in a session, one after the other.
Task<std::vector<std::string>> conversation(Context& ctx, std::string session, int turns);
// Ends that come from outside, and what others can see.
void cancellations(const Shared& shared);
void restless_ones(const Shared& shared);
void unwanted_work(const Shared& shared);
void terminations(const Shared& shared);
void dropped_children(const Shared& shared);
void values(const Shared& shared);
void searched_ones(const Shared& shared);
void new_lives(const Shared& shared);
void versions(const Shared& shared);
void broken_deployments(const Shared& shared);
void questions(const Shared& shared);
// What others do to them.
void suspended_ones(const Shared& shared);
void cancelled_while_suspended(const Shared& shared);
void watched_ends(const Shared& shared);
void unheard_of_ones(const Shared& shared);
void schedules_of_work(const Shared& shared);
// Code that a later build has changed.
void patched_code(const Shared& shared);
void mistaken_deploys(const Shared& shared);

// Requests to end that come at awkward moments, and code that is awkward to end.
void hopeless_children(const Shared& shared);
void ended_before_they_began(const Shared& shared);
void half_shielded_ones(const Shared& shared);
void partings(const Shared& shared);

/// A scenario of these workloads.
testing::Scenario scenario_of(std::vector<Workload> workloads);
/// Some of all workloads, by the seed.
void everything(Simulation& sim);

}  // namespace holdfast::sim
