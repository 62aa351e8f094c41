#include "testkit/simulator/world.hpp"

#include "testkit/simulator/verbs.hpp"

#include <holdfast/memory.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <utility>

namespace holdfast::simulator {
namespace {

using namespace std::chrono_literals;

// Steps inside of calls of steps inside of ...: deeper than this nobody understands it any more.
constexpr int kDeepest = 4;
constexpr std::size_t kTraceLines = 120;
// No run does so much within one second of virtual time, unless somebody goes round in circles.
constexpr std::uint64_t kMostStepsPerSecond = 30'000;
// Sessions with such a lease are renewed in time, however often calls to the store fail.
constexpr Duration kSurelyKept = 10s;
// A call that takes longer may keep its caller from renewing them.
constexpr Duration kSlowCall = 1s;
// Until then a worker hears that a session of its own has ended: less than it takes until a renewal says so.
constexpr Duration kEndsAreTold = 3s;
// The whole store is looked at once in so many steps.
constexpr std::uint64_t kInspectEvery = 64;

/// Writes what production code logs into the trace.
class TraceLogger final : public Logger {
 public:
  TraceLogger(const Clock& clock, std::function<void(std::string)> note)
      : Logger(clock), note_(std::move(note)) {}
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level != LogLevel::off; }
  void write(const LogRecord& record) noexcept override {
    const std::string line = format_line(record);
    note_("    log: " + line.substr(std::min<std::size_t>(line.size(), 25)));
  }

 private:
  std::function<void(std::string)> note_;
};

testing::StoreOpener in_memory(const Clock& clock) {
  return [&clock, database = memory_database()] { return memory({.database = database, .clock = &clock}); };
}

std::string in_seconds(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f s", std::chrono::duration<double>(duration).count());
  return text;
}

/// A machine that has been up for an hour, one that boots, and one whose clock stands below zero: nothing may
/// take zero for a moment of its own.
BootTime first_moment(std::uint64_t seed) {
  constexpr std::array kMoments{ManualClock::kBootStart, BootTime{}, BootTime{-1h}};
  return kMoments[seed % kMoments.size()];
}

/// For how long workers may be silent, where all agree on it: in half of the runs less than an outage may
/// last. Half of that is more than some reach the store later than others after an outage, so none is taken
/// for gone.
Duration silence_allowed(std::uint64_t seed) {
  return seed % 2 == 0 ? RuntimeOptions{}.worker_stale_after : Duration(20s);
}

}  // namespace

World::World(std::uint64_t seed, const testing::SimulationOptions& options, bool tells)
    : seed_(seed),
      options_(options),
      tells_(tells),
      began_(first_moment(seed)),
      stale_after_(silence_allowed(seed)),
      clock_(ManualClock::kCalendarStart, began_),
      random_(seed),
      scenario_random_(~seed),
      executor_random_(seed ^ 0x6578656375746f72U),
      client_random_(seed ^ 0x636c69656e740000U),
      profile_(draw_profile(dice_, options.faults)),
      witness_(clock_, [this](std::string what) { fail(std::move(what)); }),
      session_witness_(
          clock_, [this](std::string what) { fail(std::move(what)); },
          [this](std::string_view id) {
            auto log = plain_store_->session_log(id, 0, 1'000'000);
            return log ? *std::move(log) : std::vector<store::SessionLogEntry>();
          },
          [this](WorkerKey worker) {
            const auto workers = plain_store_->workers();
            return !workers || std::ranges::find(*workers, worker, &store::WorkerView::key) != workers->end();
          },
          [this] {
            auto sessions = plain_store_->sessions({.limit = 1'000'000});
            return sessions ? *std::move(sessions) : std::vector<store::SessionView>();
          }),
      activity_watch_(clock_, witness_, [this](std::string what) { fail(std::move(what)); }),
      open_(options.database ? options.database(clock_) : in_memory(clock_)),
      plain_store_(open_()),
      client_store_(handle(0, "client")),
      logger_(tells
                  ? std::make_shared<TraceLogger>(clock_, [this](std::string what) { note(std::move(what)); })
                  : null_logger()),
      metrics_(std::make_shared<Metrics>()) {
  draw_executors(profile_, executor_dice_, options.faults);
  if (!profile_.uneven) session_witness_.workers_agree_on(stale_after_);
  client_.emplace(client_store_, ClientOptions{.retry_for = std::chrono::hours(24),
                                               .random = &client_random_,
                                               .pause = [this](Duration pause) { pass_time(pause); }});
}

World::~World() {
  for (const std::unique_ptr<Process>& process : processes_) process->kill();
}

void World::at(Duration when, std::string what, std::function<void(Client&)> act) {
  actions_.push_back({began_ + when, std::move(what), std::move(act)});
}

void World::at_worker(Duration when, std::string what, std::function<void(testing::SimulatedWorker&)> act) {
  worker_actions_.push_back({began_ + when, std::move(what), std::move(act)});
}

void World::fail(std::string what) {
  if (failure_) return;
  note("FAILED: " + what);
  failure_ = std::move(what);
  failed_at_ = steps_;
}

void World::note(std::string what) {
  if (!tells_) return;
  std::string line = "#" + std::to_string(steps_) + " +" + in_seconds(age()) + " " +
                     std::string(static_cast<std::size_t>(depth_) * 2, ' ') + std::move(what);
  if (options_.print) std::cout << line << "\n";
  trace_.push_back(std::move(line));
  if (trace_.size() > kTraceLines) trace_.pop_front();
}

testing::SimulationReport World::report() const {
  return {
      .steps = steps_, .store_calls = calls_, .faults = faults_, .time = age(), .fingerprint = fingerprint_};
}

// ---- the run ------------------------------------------------------------------------------------

void World::run() {
  make_slots(options_.workers);
  set_hazards();
  if (profile_.keeps_going()) witness_.expect_progress();
  if (profile_.loses_no_locks()) witness_.expect_no_lapses();
  if (profile_.tells_in_time()) witness_.expect_news();
  if (profile_.answers_at_once()) witness_.expect_prompt_answers();
  loop_since_ = now();
  const BootTime trouble_ends = now() + options_.trouble;
  while (!over() && now() < trouble_ends && !all_ended()) {
    if (!step(true)) break;
  }
  calm_down();
  const BootTime patience_ends = now() + options_.patience;
  while (!over() && now() < patience_ends && !all_ended()) {
    if (!step(true)) break;
  }
  if (!over() && !all_ended()) complain_about_unfinished();
  finish();
}

void World::finish() {
  if (!over() && dice_.one_in(2)) drain_all();
  if (!over()) inspect();
  if (!over()) check_end();
}

// All of them leave, and leave nothing behind.
void World::drain_all() {
  closing_ = true;
  const BootTime by = now() + 1min;
  for (const std::unique_ptr<Process>& process : processes_) process->drain(by);
  while (!over() && !processes_.empty() && now() < by + 2min) {
    if (!step(true)) break;
  }
  if (!over() && !processes_.empty()) fail(processes_.front()->name() + " did not leave when asked to");
}

void World::check_end() {
  try {
    for (const std::function<void()>& check : end_checks) check();
  } catch (const std::exception& e) {
    fail(std::string("a check at the end threw: ") + e.what());
  }
  const auto state = plain_store_->state();
  if (!state) return fail("the store can't be looked at: " + state.error().message);
  if (!state->activities.empty()) fail("activity '" + state->activities.front().view.name + "' is left over");
  if (!state->set_aside.empty()) fail("set aside: " + state->set_aside.front().what);
}

bool World::all_ended() {
  if (!actions_.empty()) return false;
  if (changes_seen_ == witness_.changes()) return ended_;
  changes_seen_ = witness_.changes();
  const store::InstanceFilter alive{
      .statuses = {store::InstanceStatus::running, store::InstanceStatus::suspended,
                   store::InstanceStatus::parked},
      .limit = 1};
  const auto page = plain_store_->list(alive);
  ended_ = page && page->instances.empty() && !page->next;
  return ended_;
}

void World::complain_about_unfinished() {
  std::string text = "these have not ended within " + in_seconds(options_.patience) + " after the faults:";
  const auto state = plain_store_->state();
  if (!state) return fail(text + " " + state.error().message);
  for (const store::InstanceRow& row : state->instances) {
    if (has_ended(row.view.status)) continue;
    text += "\n  '" + row.view.instance + "' (key " + to_string(row.view.key) + ", " + row.view.code.name +
            "), execution " + to_string(row.view.execution) + ", " + std::string(to_string(row.view.status)) +
            (row.ready ? ", ready" : "") + (row.lease_left > Duration::zero() ? ", locked" : "") + ", " +
            std::to_string(row.messages.size()) + " messages, " + std::to_string(row.timers.size()) +
            " timers";
    for (const Address& address : row.waits) text += ", waits for '" + address.name + "'";
    if (!row.view.parked_because.empty()) text += ": " + row.view.parked_because;
    for (const store::ActivityRow& activity : state->activities) {
      if (activity.view.id.instance != row.view.key) continue;
      text += "\n    activity " + activity.view.name + " (event " + to_string(activity.view.id.event) +
              "), attempt " + std::to_string(activity.view.attempt) + ", delivery " +
              std::to_string(activity.view.delivery) + (activity.view.running ? ", runs" : ", queued");
    }
  }
  fail(std::move(text));
}

void World::inspect() {
  const auto state = plain_store_->state();
  if (state) {
    witness_.inspect(*state);
    session_witness_.inspect(*state);
    judge_losses(*state);
    judge_ends(*state);
  } else {
    fail("the store can't be looked at: " + state.error().message);
  }
}

// A worker that goes on all the time keeps what only it may have, however long nobody reaches the store.
void World::judge_losses(const store::StoreState& state) {
  using store::SessionReason;
  for (const store::SessionView& session : state.sessions) {
    const bool lost =
        session.state == store::SessionStatus::failed &&
        (session.reason == SessionReason::owner_lost || session.reason == SessionReason::owner_restarted);
    const bool always_renewed_in_time = session.policy.lease.value_or(Duration()) >= kSurelyKept;
    if (!lost || !always_renewed_in_time || excused_.contains(session.worker)) continue;
    if (!session_witness_.was_renewed(session.id, session.generation)) continue;
    // One whose call takes long is excused when the call ends.
    const bool is_calling = std::ranges::any_of(processes_, [&](const std::unique_ptr<Process>& process) {
      return process->worker() == session.worker && process->in_use();
    });
    if (!is_calling)
      fail("session '" + session.id + "' was lost, and worker " + to_string(session.worker) +
           ", which held it, was there all the time");
  }
}

// A worker hears at once that a session of its own has ended: it may keep much in its memory for it.
void World::judge_ends(const store::StoreState& state) {
  const bool may_get_lost = !profile_.tells_in_time() || !profile_.keeps_going();
  using store::SessionStatus;
  for (const store::SessionView& session : state.sessions) {
    const bool over = session.state == SessionStatus::closed || session.state == SessionStatus::expired ||
                      session.state == SessionStatus::failed;
    const auto holds_it = [&](const std::unique_ptr<Process>& process) {
      return process->worker() == session.worker && process->is_at_work() &&
             process->holds({session.id, session.generation});
    };
    const std::pair which(session.id, session.generation);
    if (!over) {
      untold_.erase(which);
      continue;
    }
    // What got lost is found by the next renewal, whenever that is.
    const auto untold = untold_.try_emplace(which, may_get_lost ? BootTime::max() : now()).first;
    if (untold->second == BootTime::max()) continue;
    if (may_get_lost || std::ranges::none_of(processes_, holds_it)) {
      untold_.erase(untold);
    } else if (now() - untold->second > kEndsAreTold) {
      fail("session '" + session.id + "' has ended (" + std::string(to_string(session.reason)) +
           "), and worker " + to_string(session.worker) + ", which holds it, was not told");
    }
  }
}

// ---- the loop -----------------------------------------------------------------------------------

bool World::step(bool may_wait) {
  bury();
  collect();
  if (choices_.empty()) {
    const BootTime due = next_due();
    if (!may_wait || due == BootTime::max()) return false;
    clock_.advance(due - now());
    return true;
  }
  ++steps_;
  guard_against_loops();
  if (options_.until_step != 0 && steps_ >= options_.until_step) fail("stopped here, as asked");
  if (over()) return false;
  const Choice choice = choices_[dice_.below(choices_.size())];
  fingerprint_ = (fingerprint_ ^ (static_cast<std::uint64_t>(choice.kind) << 56U) ^ (choice.index << 40U) ^
                  (static_cast<std::uint64_t>(choice.move.kind) << 32U) ^ choice.move.index ^
                  static_cast<std::uint64_t>(age().count())) *
                 0x100000001b3U;
  try {
    happen(choice);
  } catch (const std::exception& e) {
    fail(std::string("an exception came out of a step: ") + e.what());
  }
  listen();
  if (steps_ % kInspectEvery == 0 && !over()) inspect();
  return true;
}

void World::collect() {
  choices_.clear();
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    moves_.clear();
    processes_[i]->offer(now(), moves_);
    for (const Move& move : moves_) choices_.push_back({Choice::Kind::process, i, move});
  }
  // Whoever is called from the inside of a client's call makes none of its own, or they would pile up.
  if (depth_ < kDeepest - 1) {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      if (actions_[i].at <= now()) choices_.push_back({Choice::Kind::client, i, {}});
    }
    for (std::size_t i = 0; i < worker_actions_.size(); ++i) {
      if (worker_actions_[i].at <= now() && !ready_for_verbs().empty())
        choices_.push_back({Choice::Kind::worker, i, {}});
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      if (slot.process == nullptr && slot.start_at <= now() && !closing_)
        choices_.push_back({Choice::Kind::start, i, {}});
    }
  }
  for (std::size_t i = 0; i < hazards_.size(); ++i) {
    if (hazards_[i].next <= now()) choices_.push_back({Choice::Kind::hazard, i, {}});
  }
}

// What could happen now, but not in here, is not waited for.
BootTime World::next_due() const {
  BootTime due = BootTime::max();
  const auto consider = [&](BootTime at) {
    if (at > now()) due = std::min(due, at);
  };
  for (const std::unique_ptr<Process>& process : processes_) consider(process->next_due(now()));
  for (const Action& action : actions_) consider(action.at);
  for (const WorkerAction& action : worker_actions_) consider(action.at);
  for (const Hazard& hazard : hazards_) consider(hazard.next);
  for (const Slot& slot : slots_) {
    if (slot.process == nullptr && !closing_) consider(slot.start_at);
  }
  return due;
}

void World::happen(const Choice& choice) {
  switch (choice.kind) {
    case Choice::Kind::process: {
      Process& process = *processes_[choice.index];
      if (tells_) note(process.describe(choice.move));
      Process* const outer = std::exchange(current_, &process);
      if (auto complaint = process.make(choice.move)) fail(*std::move(complaint));
      current_ = outer;
      if (process.left_code_running()) witness_.allow_lapses();
      if (profile_.lets_leave() && process.lingers(calm_since_))
        fail(process.name() + " was asked to leave, has nothing to do, and does not leave");
      break;
    }
    case Choice::Kind::client: {
      Action action = std::move(actions_[choice.index]);
      actions_.erase(actions_.begin() + static_cast<std::ptrdiff_t>(choice.index));
      act(std::move(action));
      break;
    }
    case Choice::Kind::worker: {
      const WorkerAction action = std::move(worker_actions_[choice.index]);
      worker_actions_.erase(worker_actions_.begin() + static_cast<std::ptrdiff_t>(choice.index));
      act(action);
      break;
    }
    case Choice::Kind::hazard: {
      Hazard& hazard = hazards_[choice.index];
      hazard.next = now() + dice_.between(Duration(1), 2 * hazard.every);
      ++faults_;
      (this->*hazard.strike)();
      break;
    }
    case Choice::Kind::start:
      start(slots_[choice.index]);
      break;
  }
}

void World::act(Action action) {
  note("client: " + action.what);
  changes_seen_.reset();
  try {
    action.act(*client_);
  } catch (const std::exception& e) {
    if (!over()) fail("client (" + action.what + "): " + e.what());
  }
}

void World::act(const WorkerAction& action) {
  Process& process = *dice_.pick(ready_for_verbs());
  note(process.name() + ": " + action.what);
  try {
    Verbs verbs(process, session_witness_);
    action.act(verbs);
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::unavailable)
      fail(process.name() + " (" + action.what + "): " + e.what());
  } catch (const std::exception& e) {
    fail(process.name() + " (" + action.what + "): " + e.what());
  }
}

void World::listen() {
  const auto fate = [this](const store::Wake& /*wake*/) -> std::optional<BootTime> {
    if (dice_.one_in(profile_.lose_wake_in)) {
      ++faults_;
      return std::nullopt;
    }
    if (dice_.one_in(profile_.delay_wake_in)) return now() + dice_.between(1us, 300ms);
    return now();
  };
  for (const std::unique_ptr<Process>& process : processes_) process->listen(fate);
}

// Those that died or left go, once none of their threads is in the middle of something.
void World::bury() {
  if (depth_ > 0) return;
  supervise();
  std::erase_if(processes_, [this](const std::unique_ptr<Process>& process) {
    if (process->in_use() || !(process->is_dead() || process->has_left())) return false;
    if (!process->is_dead() && process->slots_lost() != 0)
      fail(process->name() + " has left, and " + std::to_string(process->slots_lost()) +
           " of its slots were never given back");
    if (!process->is_dead() && process->frames_lost() != 0)
      fail(process->name() + " has left, and " + std::to_string(process->frames_lost()) +
           " frames were never destroyed");
    if (Slot* slot = slot_of(*process)) {
      slot->process = nullptr;
      slot->start_at = calm_ ? BootTime::max() : now() + dice_.between(0us, 5s);
    }
    return true;
  });
  if (calm_) let_the_new_come();
}

void World::guard_against_loops() {
  ++loop_steps_;
  if (now() - loop_since_ >= 1s) {
    loop_since_ = now();
    loop_steps_ = 0;
  }
  if (loop_steps_ > kMostStepsPerSecond)
    fail("going round in circles: " + std::to_string(loop_steps_) +
         " steps within one second of virtual time");
}

// ---- calls to the store -------------------------------------------------------------------------

void World::around(FaultyStore& handle) {
  if (over() || handle.is_cut_off()) return;
  ++calls_;
  const BootTime began = now();
  if (profile_.latency > Duration::zero()) clock_.advance(dice_.between(0us, profile_.latency));
  if (depth_ >= kDeepest) return;
  Process* const process = find_process(handle.process());
  if (process != nullptr && dice_.one_in(profile_.kill_in_call_in)) {
    ++faults_;
    kill(*process, "in the middle of a call");
  }
  if (process != nullptr && dice_.one_in(profile_.hang_in)) hang(*process);
  if (dice_.one_in(profile_.interleave_in)) run_inside(process);
  if (now() - began > kSlowCall && process != nullptr) excuse(*process);
}

Process* World::find_process(std::uint64_t number) const {
  for (const std::unique_ptr<Process>& process : processes_) {
    if (process->number() == number) return process.get();
  }
  return nullptr;
}

// The thread that called waits; the others of its process go on.
void World::hang(const Process& process) {
  ++depth_;
  ++faults_;
  const BootTime until = now() + dice_.between(1s, 60s);
  note(process.name() + " waits for the store, which doesn't answer");
  while (!over() && now() < until && !calm_ && step(true)) {
  }
  --depth_;
}

// Others go on while a call is under way; sometimes the caller stands still for long.
void World::run_inside(Process* process) {
  ++depth_;
  if (process != nullptr && profile_.pause_every != never && dice_.one_in(10)) {
    ++faults_;
    const BootTime until = now() + dice_.between(1s, 40s);
    note(process->name() + " stands still in the middle of a call");
    process->pause(until);
    while (!over() && now() < until && !calm_ && step(true)) {
    }
  } else {
    for (std::uint64_t i = dice_.below(8); i > 0 && !over() && step(false); --i) {
    }
  }
  --depth_;
}

void World::pass_time(Duration least) {
  ++depth_;
  const BootTime until = now() + least;
  while (!over() && now() < until) {
    if (!step(false)) clock_.advance(std::max(std::min(next_due(), until) - now(), Duration(1)));
  }
  --depth_;
  if (over()) throw std::runtime_error("the run is over");
}

// Not while a call is under way: it would take as long, and its caller would be the one that blocks.
void World::block(Duration time) {
  if (calm_ || over() || depth_ > blocked_) return;
  ++faults_;
  note("code of an orchestration blocks for " + in_seconds(time));
  ++blocked_;
  pass_time(time);
  --blocked_;
}

void World::kill_current() {
  if (calm_ || current_ == nullptr) return;
  ++faults_;
  kill(*current_, "in the code of an orchestration");
}

bool World::refuses_item() {
  if (over() || !dice_.one_in(profile_.refuse_item_in)) return false;
  ++faults_;
  return true;
}

Fault World::choose(FaultyStore& handle) {
  if (over()) return Fault::fail_before;
  // One after the other reaches the store again.
  const bool outage = now() < outage_until_ + outage_spread_ * static_cast<int>(handle.process() % 4);
  if (!outage && !dice_.one_in(profile_.fail_before_in)) {
    if (!dice_.one_in(profile_.lose_answer_in)) return Fault::none;
    ++faults_;
    return Fault::lose_answer;
  }
  ++faults_;
  return outage && dice_.one_in(8) ? Fault::lose_answer : Fault::fail_before;
}

void World::tell(const FaultyStore& handle, std::string_view call, const std::string& what) {
  if (tells_) note("  " + handle.name() + ": " + std::string(call) + ": " + what);
}

}  // namespace holdfast::simulator
