// World: everything that one run consists of, and the loop that decides what happens next.
#pragma once

#include "runtime/registry.hpp"
#include "testkit/dice.hpp"
#include "testkit/simulator/activity_watch.hpp"
#include "testkit/simulator/faulty_store.hpp"
#include "testkit/simulator/process.hpp"
#include "testkit/simulator/profile.hpp"
#include "testkit/simulator/witness.hpp"

#include <holdfast/client.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/log.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/testing/simulator.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::simulator {

/// Code that a scenario registered.
struct RegisteredActivity {
  std::string name{};
  runtime::Registry::ActivityPointer code{};
};
struct RegisteredOrchestration {
  std::string name{};
  std::string version{};
  std::uint64_t from_build = 1;
  bool in_place = false;
  runtime::Registry::OrchestrationPointer code{};
};

/// One run. One thread; nothing in it looks at a clock, a random source or an address that the seed does not
/// give.
class World : private CallGuard {
 public:
  World(std::uint64_t seed, const testing::SimulationOptions& options, bool tells);
  ~World() override;

  // ---- what a scenario says ---------------------------------------------------------------------

  std::vector<RegisteredActivity> activities;
  std::vector<RegisteredOrchestration> orchestrations;
  std::vector<std::shared_ptr<const detail::SessionStateCode>> session_states;
  void at(Duration when, std::string what, std::function<void(Client&)> act);
  void at_worker(Duration when, std::string what, std::function<void(testing::SimulatedWorker&)> act);
  /// A query that a scenario makes.
  struct Query {
    std::string instance{};
    std::string name{};
    Duration timeout{};
    std::function<void(const Result<QueryAnswer>&)> check{};
  };
  void query(Duration when, Query query);
  std::vector<std::function<void()>> calm_actions;
  std::vector<std::function<void()>> end_checks;
  void fail(std::string what);
  testing::Dice& scenario_dice() noexcept { return scenario_dice_; }
  [[nodiscard]] Duration age() const { return clock_.boot_now() - began_; }
  /// Code of an orchestration blocks its thread: the others go on.
  void block(Duration time);
  /// The process whose code runs now dies with it.
  void kill_current();
  /// Past all faults.
  [[nodiscard]] Store& plain_store() const noexcept { return *plain_store_; }

  // ---- the run ----------------------------------------------------------------------------------

  /// Runs everything; then failure() says whether something was wrong.
  void run();
  [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }
  [[nodiscard]] std::uint64_t failed_at() const noexcept { return failed_at_; }
  [[nodiscard]] std::vector<std::string> trace() const { return {trace_.begin(), trace_.end()}; }
  [[nodiscard]] testing::SimulationReport report() const;

 private:
  /// A place for a worker: what it is like, and the process that is there now.
  struct Slot {
    std::string name{};
    RuntimeOptions options{};
    std::set<std::string> lacks{};  ///< code that it has not registered
    bool keeps_name = false;        ///< its processes share one node id
    std::uint64_t build = 1;
    Process* process = nullptr;
    BootTime start_at = kLongAgo;  ///< when there is no process
  };
  struct Action {
    BootTime at{};
    std::string what{};
    std::function<void(Client&)> act{};
  };
  struct WorkerAction {
    BootTime at{};
    std::string what{};
    std::function<void(testing::SimulatedWorker&)> act{};
  };
  /// Something that goes wrong now and then.
  struct Hazard {
    Duration every = never;
    BootTime next = BootTime::max();
    void (World::*strike)() = nullptr;
  };
  /// One thing that could happen now.
  struct Choice {
    enum class Kind : std::uint8_t { process, client, worker, hazard, start };
    Kind kind = Kind::process;
    std::size_t index = 0;
    Move move{};
  };

  std::shared_ptr<FaultyStore> handle(std::uint64_t process, std::string name) {
    CallGuard& guard = *this;
    return std::make_shared<FaultyStore>(open_(), guard, process, std::move(name));
  }

  // CallGuard
  void around(FaultyStore& handle) override;
  Fault choose(FaultyStore& handle) override;
  bool refuses_item() override;
  void tell(const FaultyStore& handle, std::string_view call, const std::string& what) override;
  [[nodiscard]] bool tells() const noexcept override { return tells_; }
  [[nodiscard]] Witness& witness() noexcept override { return witness_; }
  [[nodiscard]] SessionWitness& session_witness() noexcept override { return session_witness_; }

  // world.cpp: the loop
  [[nodiscard]] bool over() const noexcept { return failure_.has_value(); }
  /// Makes one thing happen, or lets time pass until something can. False when nothing ever will.
  bool step(bool may_wait);
  void collect();
  [[nodiscard]] BootTime next_due() const;
  void happen(const Choice& choice);
  void act(Action action);
  void ask(const Query& query);
  void look_for_answer(store::AskId id, BootTime until, const Query& query);
  void act(const WorkerAction& action);
  void listen();
  void bury();
  [[nodiscard]] Process* find_process(std::uint64_t number) const;
  void run_inside(Process* process);
  void hang(const Process& process);
  void pass_time(Duration least);
  void guard_against_loops();
  void inspect();
  void judge_losses(const store::StoreState& state);
  void judge_ends(const store::StoreState& state);
  [[nodiscard]] bool all_ended();
  void finish();
  void drain_all();
  void check_end();
  void complain_about_unfinished();
  void note(std::string what);
  [[nodiscard]] BootTime now() const { return clock_.boot_now(); }

  // workers.cpp: the slots, and what happens to their processes
  void make_slots(std::size_t most);
  void draw_options(Slot& slot);
  void draw_session_options(Slot& slot);
  void draw_gaps(Slot& slot);
  void start(Slot& slot);
  void supervise();
  [[nodiscard]] runtime::Registry registry_for(const Slot& slot, std::uint64_t process,
                                               SimFrameExecutor& frames);
  [[nodiscard]] bool is_code_of(std::uint64_t build, const RegisteredOrchestration& orchestration) const;
  [[nodiscard]] runtime::Registry::OrchestrationPointer perhaps_elsewhere(
      const RegisteredOrchestration& orchestration, SimFrameExecutor& frames);
  [[nodiscard]] BootTime end_of_activity();
  [[nodiscard]] BootTime turn_of_executor();
  void kill(Process& process, std::string_view why);
  [[nodiscard]] std::vector<Process*> ready_for_verbs() const;
  /// From here on it may lose what only it may have: it does not go on all the time.
  void excuse(const Process& process) { excused_.insert(process.worker()); }
  [[nodiscard]] Slot* slot_of(const Process& process);
  [[nodiscard]] Process* pick_process();
  void set_hazards();
  void strike_kill();
  void strike_pause();
  void strike_replace();
  void strike_outage();
  void strike_jump();
  void strike_drain();
  void strike_upgrade();
  void calm_down();
  [[nodiscard]] bool is_old(const Process& process) const;
  void let_the_new_come();

  const std::uint64_t seed_;
  const testing::SimulationOptions& options_;
  const bool tells_;
  const BootTime began_;
  const Duration stale_after_;  // of all workers, unless they differ
  ManualClock clock_;
  // Streams of their own: a draw more in one changes nothing in the others.
  SeededRandom random_;
  SeededRandom scenario_random_;
  SeededRandom executor_random_;
  SeededRandom client_random_;
  testing::Dice dice_{random_};
  testing::Dice scenario_dice_{scenario_random_};
  testing::Dice executor_dice_{executor_random_};
  Profile profile_;
  Witness witness_;
  SessionWitness session_witness_;
  ActivityWatch activity_watch_;
  testing::StoreOpener open_;
  std::shared_ptr<Store> plain_store_;
  std::shared_ptr<FaultyStore> client_store_;
  std::optional<Client> client_;
  std::shared_ptr<Logger> logger_;
  std::shared_ptr<Metrics> metrics_;

  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Action> actions_;
  std::vector<WorkerAction> worker_actions_;
  std::set<WorkerKey> excused_;
  // Sessions that have ended, and are still in the memory of their worker: since when that is seen.
  std::map<std::pair<std::string, Generation>, BootTime> untold_;
  std::vector<Hazard> hazards_;
  std::vector<Choice> choices_;  // of this step; kept to spare allocations
  std::vector<Move> moves_;      // likewise
  BootTime outage_until_ = kLongAgo;
  Duration outage_spread_{};
  std::uint64_t newest_build_ = 1;
  std::uint64_t processes_made_ = 0;
  bool calm_ = false;
  BootTime calm_since_ = kLongAgo;
  bool closing_ = false;        // no process is started any more
  int depth_ = 0;               // steps inside of calls of steps
  int blocked_ = 0;             // of those, inside of code that blocks
  Process* current_ = nullptr;  // whose move is made now

  std::uint64_t steps_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::optional<std::uint64_t> changes_seen_;  // when it was last asked whether all have ended
  bool ended_ = false;
  BootTime loop_since_ = kLongAgo;
  std::uint64_t loop_steps_ = 0;
  std::optional<std::string> failure_;
  std::uint64_t failed_at_ = 0;
  std::deque<std::string> trace_;
};

}  // namespace holdfast::simulator
