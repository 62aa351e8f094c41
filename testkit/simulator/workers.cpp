// The workers of a run: what they are like, how they begin, and what happens to them.
#include "testkit/simulator/world.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::simulator {

using namespace std::chrono_literals;

void World::make_slots(std::size_t most) {
  const std::size_t count = most <= 1 ? 1 : 1 + dice_.below(most);
  for (std::size_t i = 0; i < count; ++i) {
    Slot slot{.name = std::string(1, static_cast<char>('a' + i)), .start_at = now()};
    draw_options(slot);
    // The first one can do everything, so that there is always one.
    slot.options.capabilities = {"gpu"};
    if (profile_.uneven) draw_session_options(slot);
    if (i > 0 && profile_.uneven) draw_gaps(slot);
    slots_.push_back(std::move(slot));
  }
}

void World::draw_options(Slot& slot) {
  RuntimeOptions& options = slot.options;
  options.queues = {"*"};
  options.activity_slots = 4;
  options.poison_after = options_.poison_after;
  options.worker_stale_after = stale_after_;
  options.logger = logger_;
  options.metrics = metrics_;
  slot.keeps_name = dice_.one_in(2);
  if (!profile_.uneven) return;
  options.activity_slots = 1 + dice_.below(6);
  options.turn_threads = 1 + dice_.below(3);
  options.activity_lease = dice_.between(2s, 30s);
  options.instance_lease = dice_.between(500ms, 5s);
  options.hold_instances = dice_.pick<Duration>({0ms, 10ms, 100ms, 400ms});
  options.cancel_grace = dice_.between(100ms, 10s);
  options.turn_time_limit = dice_.pick<Duration>({10s, 1s});
  options.worker_stale_after = dice_.between(15s, 60s);
  options.cached_instances = dice_.pick<std::size_t>({1, 3, 10'000});
  options.cache_idle = dice_.pick<Duration>({500ms, 10s, 10min});
}

void World::draw_session_options(Slot& slot) {
  RuntimeOptions& options = slot.options;
  options.session_limit = dice_.pick<std::uint32_t>({1, 2, 3, 10});
  options.session_lease = dice_.between(1s, 30s);
  // Above the interval at which activities are renewed.
  options.session_idle_timeout = options.activity_lease / 3 + dice_.between(100ms, 20s);
  options.session_state_retention = dice_.pick<Duration>({1h, 24h});
  options.session_take_back = dice_.pick<Duration>({0s, 1s, 5s, 1min});
}

void World::draw_gaps(Slot& slot) {
  for (const RegisteredActivity& activity : activities) {
    if (dice_.one_in(5)) slot.lacks.insert(activity.name);
  }
  for (const RegisteredOrchestration& orchestration : orchestrations) {
    if (dice_.one_in(5)) slot.lacks.insert(orchestration.name);
  }
  if (dice_.one_in(3)) slot.options.capabilities.clear();
  if (dice_.one_in(4)) slot.options.session_limit = 0;
  if (dice_.one_in(3)) slot.options.queues = {""};
  if (dice_.one_in(8)) slot.options.queues = {};
}

runtime::Registry World::registry_for(const Slot& slot, std::uint64_t process, SimFrameExecutor& frames) {
  runtime::Registry registry;
  const auto find = [this, process] { return find_process(process); };
  for (const RegisteredActivity& activity : activities) {
    if (!slot.lacks.contains(activity.name))
      registry.add_activity(activity.name, activity_watch_.watched(activity.code, find));
  }
  for (const RegisteredOrchestration& orchestration : orchestrations) {
    if (!slot.lacks.contains(orchestration.name) && is_code_of(slot.build, orchestration))
      registry.add_orchestration(orchestration.name, orchestration.version,
                                 perhaps_elsewhere(orchestration, frames));
  }
  for (const auto& state : session_states) registry.add_session_state(state);
  return registry;
}

// The code of a version is replaced by what a later build has under the same name.
bool World::is_code_of(std::uint64_t build, const RegisteredOrchestration& orchestration) const {
  return orchestration.from_build <= build &&
         std::ranges::none_of(orchestrations, [&](const RegisteredOrchestration& other) {
           return other.name == orchestration.name && other.version == orchestration.version &&
                  other.from_build > orchestration.from_build && other.from_build <= build;
         });
}

runtime::Registry::OrchestrationPointer World::perhaps_elsewhere(const RegisteredOrchestration& orchestration,
                                                                 SimFrameExecutor& frames) {
  if (!profile_.executors || executor_dice_.one_in(3) || orchestration.in_place) return orchestration.code;
  return std::make_shared<CodeElsewhere>(
      orchestration.code, frames, [this] { fail("a frame that lives on an executor was begun in place"); });
}

// Longer than a turn may take, when it is late.
BootTime World::turn_of_executor() {
  if (executor_dice_.one_in(profile_.late_executor_in)) {
    ++faults_;
    return now() + executor_dice_.between(1s, 30s);
  }
  return now() + executor_dice_.between(0us, 5ms);
}

BootTime World::end_of_activity() {
  if (dice_.one_in(profile_.slow_activity_in)) return now() + dice_.between(1s, 60s);
  return now() + dice_.between(0us, profile_.activity_time);
}

void World::start(Slot& slot) {
  const std::uint64_t number = ++processes_made_;
  auto frames = std::make_unique<SimFrameExecutor>([this] { return turn_of_executor(); });
  SimFrameExecutor& executor = *frames;
  Process::Setup setup{.number = number,
                       .name = slot.name + std::to_string(number),
                       .build = slot.build,
                       .options = slot.options,
                       .frames = std::move(frames),
                       .registry = registry_for(slot, number, executor),
                       .seed = dice_.number(),
                       .activity_end = [this] { return end_of_activity(); }};
  setup.options.build = slot.build;
  if (slot.keeps_name) setup.options.node_id = "node-" + slot.name;
  setup.store = handle(number, setup.name);
  note(setup.name + " starts, build " + std::to_string(slot.build));
  processes_.push_back(std::make_unique<Process>(std::move(setup)));
  Process& process = *processes_.back();
  slot.process = &process;
  if (!process.start()) kill(process, "since it could not join");
}

// A process that says that another one goes by its name is stopped, and begins anew.
void World::supervise() {
  for (const Slot& slot : slots_) {
    if (slot.process != nullptr && slot.process->is_superseded() && !slot.process->is_draining()) {
      note(slot.process->name() + " was superseded, and is asked to leave");
      excuse(*slot.process);
      slot.process->drain(now() + 5s);
    }
  }
}

void World::kill(Process& process, std::string_view why) {
  if (process.is_dead()) return;
  excuse(process);
  note(process.name() + " dies " + std::string(why));
  process.kill();
  witness_.allow_lapses();
  if (!process.in_use() && dice_.one_in(2)) process.finish_unheard(1 + dice_.below(3));
}

std::vector<Process*> World::ready_for_verbs() const {
  std::vector<Process*> ready;
  for (const std::unique_ptr<Process>& process : processes_) {
    if (process->is_ready_for_verbs(now())) ready.push_back(process.get());
  }
  return ready;
}

World::Slot* World::slot_of(const Process& process) {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.process == &process; });
  return found == slots_.end() ? nullptr : &*found;
}

Process* World::pick_process() {
  std::vector<Process*> alive;
  for (const Slot& slot : slots_) {
    if (slot.process != nullptr && !slot.process->is_dead()) alive.push_back(slot.process);
  }
  return alive.empty() ? nullptr : dice_.pick(alive);
}

// ---- what goes wrong ----------------------------------------------------------------------------

void World::set_hazards() {
  const auto add = [this](Duration every, void (World::*strike)()) {
    if (every == never) return;
    hazards_.push_back({every, now() + dice_.between(0us, 2 * every), strike});
  };
  add(profile_.kill_every, &World::strike_kill);
  add(profile_.pause_every, &World::strike_pause);
  add(profile_.replace_every, &World::strike_replace);
  add(profile_.outage_every, &World::strike_outage);
  add(profile_.jump_every, &World::strike_jump);
  add(profile_.drain_every, &World::strike_drain);
  add(profile_.upgrade_every, &World::strike_upgrade);
}

void World::strike_kill() {
  if (Process* process = pick_process()) kill(*process, "");
}

void World::strike_pause() {
  Process* process = pick_process();
  if (process == nullptr) return;
  const Duration duration = dice_.one_in(10) ? dice_.between(60s, 90s) : dice_.between(100ms, 40s);
  note(process->name() + " stands still");
  excuse(*process);
  process->pause(now() + duration);
}

// A supervisor takes a process for dead that only stands still.
void World::strike_replace() {
  Process* process = pick_process();
  if (process == nullptr) return;
  note(process->name() + " stands still, and is replaced");
  excuse(*process);
  process->pause(now() + dice_.between(1s, 20s));
  Slot& slot = *slot_of(*process);
  slot.process = nullptr;
  slot.start_at = now() + dice_.between(0us, 2s);
}

void World::strike_outage() {
  // Also so long that all workers would be stale.
  outage_until_ = now() + (dice_.one_in(8) ? dice_.between(60s, 100s) : dice_.between(100ms, 12s));
  outage_spread_ = dice_.between(0us, 3s);
  note("nobody reaches the store for a while");
}

void World::strike_jump() {
  const Duration by = dice_.between(-30s, 30s);
  clock_.step_calendar(by);
  note("somebody sets the wall clock by " + std::to_string(by.count()) + " us");
}

void World::strike_drain() {
  Process* process = pick_process();
  if (process == nullptr) return;
  note(process->name() + " is asked to leave");
  excuse(*process);
  process->drain(now() + dice_.between(0us, 20s));
}

void World::strike_upgrade() {
  if (std::all_of(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.build == newest_build_; }))
    ++newest_build_;
  std::vector<Slot*> old;
  for (Slot& slot : slots_) {
    if (slot.build < newest_build_) old.push_back(&slot);
  }
  Slot& slot = *dice_.pick(old);
  slot.build = newest_build_;
  note(slot.name + " gets build " + std::to_string(newest_build_));
  if (slot.process == nullptr || slot.process->is_dead()) return;
  if (dice_.one_in(3)) {
    kill(*slot.process, "to be upgraded");
  } else {
    excuse(*slot.process);
    slot.process->drain(now() + dice_.between(0us, 20s));
  }
}

// From here on nothing goes wrong. Everybody comes back, with the newest build.
void World::calm_down() {
  note("the faults stop");
  calm_ = true;
  calm_since_ = now();
  profile_ = without_faults(profile_);
  hazards_.clear();
  outage_until_ = kLongAgo;
  for (const std::function<void()>& act : calm_actions) act();
  // Code that could not go on, or is about to be parked by one who stood still, gets a new deployment.
  const auto parked = plain_store_->list({.statuses = {store::InstanceStatus::parked}, .limit = 1});
  if (!calm_actions.empty() || (parked && !parked->instances.empty())) ++newest_build_;
  for (Slot& slot : slots_) {
    slot.build = newest_build_;
    if (slot.process == nullptr || !is_old(*slot.process)) continue;
    excuse(*slot.process);
    slot.process->drain(now() + 30s);
  }
  for (const std::unique_ptr<Process>& process : processes_) {
    process->pause(kLongAgo);
    process->hurry();
    if (slot_of(*process) == nullptr) kill(*process, "since it was replaced");
  }
  for (Slot& slot : slots_) slot.start_at = BootTime::max();
  let_the_new_come();
  witness_.expect_progress();
  witness_.expect_no_lapses();
}

bool World::is_old(const Process& process) const { return process.build() < newest_build_; }

// What the old code parks while it leaves is looked at by those who come after it.
void World::let_the_new_come() {
  if (std::any_of(processes_.begin(), processes_.end(),
                  [&](const auto& process) { return is_old(*process); }))
    return;
  for (Slot& slot : slots_) slot.start_at = std::min(slot.start_at, now());
}

}  // namespace holdfast::simulator
