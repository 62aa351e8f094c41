#include "testkit/simulator/process.hpp"

#include "runtime/crew.hpp"

#include <holdfast/detail/describe.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::simulator {
namespace {

using namespace std::chrono_literals;

// What the thread of a runtime that waits for news does after this time without any.
constexpr Duration kFloor = 1s;
// A thread that was run so often in a row, did nothing and wants to be run at once, never sleeps.
constexpr int kIdleRuns = 50;
// A step that takes longer has waited for a call that hangs: its own, or one that was made inside of it.
constexpr Duration kLongStep = 1s;
// A worker that was asked to leave and has nothing to do is gone by then, while nothing goes wrong: longer
// than any of its pauses between two tries, and far below the lease of an activity.
constexpr Duration kTimeToLeave = 3s;

std::string_view to_text(runtime::Step step) {
  switch (step) {
    case runtime::Step::turns:
      return "turns";
    case runtime::Step::activities:
      return "fetches activities";
    case runtime::Step::answers:
      return "answers";
    case runtime::Step::keep:
      return "keeps";
    case runtime::Step::limits:
      return "looks at its limits";
    case runtime::Step::questions:
      return "answers questions";
  }
  return "";
}

std::string to_text(store::WorkMask work) {
  std::string text;
  const auto add = [&](store::WorkMask mask, std::string_view name) {
    if (work.has(mask)) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(store::kTurns, "turns");
  add(store::kActivities, "activities");
  add(store::kCancels, "cancels");
  add(store::kSweep, "sweep");
  add(store::kAsks, "questions");
  return text;
}

/// Marks something as running for as long as it does.
template <class T>
class Mark {
 public:
  explicit Mark(T& value) : value_(value) { ++value_; }
  ~Mark() { --value_; }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  T& value_;
};

/// Sets something for as long as it lives.
class Set {
 public:
  Set(bool& value, bool to) : value_(value), before_(std::exchange(value, to)) {}
  ~Set() { value_ = before_; }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  bool& value_;
  const bool before_;
};

}  // namespace

/// One of its threads, as a crew: the simulator does one thing at a time, and nobody has to be woken.
class Process::Hands {
 public:
  explicit Hands(Process& process) : process_(process) {}

  [[nodiscard]] BootTime now() const { return process_.now(); }
  template <class Use>
  auto with(runtime::Step step, Use use) {
    return use(process_.schedule_of(step));
  }
  runtime::Progress run(runtime::Step step, runtime::RunId run) { return process_.run(step, run); }
  void call(runtime::Step /*step*/, bool /*all*/) {}
  void add_thread(runtime::Step step) { process_.threads_.push_back({.step = step}); }
  [[nodiscard]] bool is_thread_of_activities() const { return process_.in_activities_; }
  [[nodiscard]] bool activity_waits() const { return process_.executor_.next_due() <= now(); }
  void ask_for_rest() { process_.rest_wanted_ = true; }

 private:
  Process& process_;
};

Process::Process(Setup setup)
    : setup_(std::move(setup)),
      random_(setup_.seed),
      executor_(setup_.store->clock(), setup_.activity_end),
      worker_(setup_.store, setup_.options, setup_.registry, executor_, random_,
              [this](runtime::Step step) { poke(step); }) {
  schedule_of(runtime::Step::turns) =
      runtime::StepSchedule(setup_.options.turn_threads, setup_.options.max_abandoned);
  for (std::size_t i = 0; i < setup_.options.turn_threads; ++i)
    threads_.push_back({.step = runtime::Step::turns});
  schedule_of(runtime::Step::questions) = runtime::StepSchedule(1, setup_.options.max_abandoned);
  for (const runtime::Step step : {runtime::Step::activities, runtime::Step::answers, runtime::Step::keep,
                                   runtime::Step::limits, runtime::Step::questions})
    threads_.push_back({.step = step});
}

// What its threads were about to do dies with them, before what it refers to.
Process::~Process() {
  setup_.store->cut_off();
  while (!executor_.empty()) executor_.drop_next();
}

bool Process::start() {
  const Mark mark(in_use_);
  if (!worker_.join()) return false;
  if (is_dead()) return false;
  register_listener();
  floor_at_ = now() + kFloor;
  return true;
}

void Process::register_listener() {
  listens_as_ = worker_.standing().key();
  listener_ = setup_.store->listen(
      store::kTurns | store::kActivities | store::kCancels | store::kSweep | store::kAsks, listens_as_);
}

// ---- what it could do ---------------------------------------------------------------------------

void Process::offer(BootTime now, std::vector<Move>& moves) const {
  if (!listener_ || is_dead() || paused_until_ > now) return;
  if (executor_.next_due() <= now) moves.push_back({Move::Kind::work, 0});
  if (setup_.frames->next_due() <= now) moves.push_back({Move::Kind::frames, 0});
  if (left_) return;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    if (!thread.running && !thread.ended && schedule_of(thread.step).may_begin(now))
      moves.push_back({Move::Kind::step, i});
  }
  if (rest_wanted_) moves.push_back({Move::Kind::rest, 0});
  for (std::size_t i = 0; i < arriving_.size(); ++i) {
    if (arriving_[i].at <= now) moves.push_back({Move::Kind::wake, i});
  }
  if (floor_at_ <= now) moves.push_back({Move::Kind::floor, 0});
  if (drain_ && in_use_ == 0 && worker_.would_go_on_leaving(*drain_)) moves.push_back({Move::Kind::leave, 0});
}

BootTime Process::next_due(BootTime now) const {
  if (!listener_ || is_dead()) return BootTime::max();
  if (paused_until_ > now) return paused_until_;
  BootTime due = BootTime::max();
  const auto consider = [&](BootTime at) {
    if (at > now) due = std::min(due, at);
  };
  consider(executor_.next_due());
  consider(setup_.frames->next_due());
  if (left_) return due;
  for (const runtime::StepSchedule& schedule : schedules_) consider(schedule.due());
  for (const Arriving& arriving : arriving_) consider(arriving.at);
  if (drain_) consider(drain_->due());
  consider(floor_at_);
  return due;
}

std::string Process::describe(const Move& move) const {
  switch (move.kind) {
    case Move::Kind::step:
      return name() + " " + std::string(to_text(threads_[move.index].step));
    case Move::Kind::work:
      return name() + " comes to the end of an activity, or tells it something";
    case Move::Kind::frames:
      return name() + " runs what was posted to its executor of frames";
    case Move::Kind::wake:
      return name() + " hears of " + to_text(arriving_[move.index].wake.work);
    case Move::Kind::floor:
      return name() + " has heard nothing for a second, and looks for itself";
    case Move::Kind::rest:
      return name() + " turns in a thread of activities";
    case Move::Kind::leave:
      return name() + " goes on with leaving";
  }
  return "";
}

std::optional<std::string> Process::make(const Move& move) {
  const Mark mark(in_use_);
  make_one(move);
  if (is_draining() && (in_use_ > 1 || !executor_.empty() || !worker_.idle())) busy_at_ = now();
  return std::exchange(complaint_, std::nullopt);
}

void Process::make_one(const Move& move) {
  const bool in_activities = move.kind == Move::Kind::work || move.kind == Move::Kind::rest;
  const Set in_those(in_activities_, in_activities);
  switch (move.kind) {
    case Move::Kind::step:
      run_step(threads_[move.index]);
      break;
    case Move::Kind::work:
      executor_.run_next();
      break;
    case Move::Kind::frames:
      setup_.frames->run_next();
      break;
    case Move::Kind::wake: {
      const store::Wake wake = std::move(arriving_[move.index].wake);
      arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(move.index));
      floor_at_ = now() + kFloor;
      worker_.hear(wake);
      break;
    }
    case Move::Kind::floor:
      floor_at_ = now() + kFloor;
      worker_.look_again();
      break;
    case Move::Kind::rest: {
      rest_wanted_ = false;
      Hands hands(*this);
      if (help(hands, runtime::Step::turns)) rest_wanted_ = true;
      break;
    }
    case Move::Kind::leave:
      go_on_leaving();
      break;
  }
}

void Process::poke(runtime::Step step) {
  Hands hands(*this);
  runtime::poke(hands, step);
}

void Process::run_step(Thread& thread) {
  const auto begun = schedule_of(thread.step).begin(runtime::StepSchedule::Runner::own, now());
  if (!begun) return;
  Hands hands(*this);
  thread.running = true;
  thread.ended = run_own(hands, thread.step, *begun);
  thread.running = false;
}

runtime::Progress Process::run(runtime::Step step, runtime::RunId number) {
  const std::uint64_t calls_before = setup_.store->calls();
  const BootTime began = now();
  const BootTime acted_since = acts_on_news_since_;
  if (step == runtime::Step::keep) acts_on_news_since_ = BootTime::max();
  runtime::Progress progress = worker_.run(step, number);
  if (step == runtime::Step::keep) acts_on_news_since_ = now() - began > kLongStep ? now() : acted_since;
  note_idle(step, progress, calls_before);
  return progress;
}

void Process::note_idle(runtime::Step step, const runtime::Progress& progress, std::uint64_t calls_before) {
  const bool idle =
      (progress.progressed || progress.next_due <= now()) && setup_.store->calls() == calls_before;
  int& idle_runs = idle_runs_[static_cast<std::size_t>(step)];
  idle_runs = idle ? idle_runs + 1 : 0;
  if (idle_runs >= kIdleRuns)
    complaint_ = name() + " never sleeps: it " + std::string(to_text(step)) + " again and again";
}

void Process::listen(const std::function<std::optional<BootTime>(const store::Wake&)>& fate) {
  if (!listener_ || is_dead() || paused_until_ > now() || left_) return;
  if (listens_as_ != worker_.standing().key()) {
    register_listener();
    worker_.look_again();
  }
  store::Wake wake = listener_->wait(now());
  if (wake.work.empty()) return;
  if (const std::optional<BootTime> at = fate(wake)) arriving_.push_back({*at, std::move(wake)});
}

// ---- what its program asks for ------------------------------------------------------------------

SessionAcquired Process::acquire_session(std::string_view id, const SessionOptions& options) {
  const Mark mark(in_use_);
  return worker_.acquire_session(*detail::worker_session_settings(id, options));
}

SessionOutcome Process::renew_session(std::string_view id) {
  const Mark mark(in_use_);
  return worker_.renew_session(id);
}

SessionOutcome Process::close_session(std::string_view id) {
  const Mark mark(in_use_);
  return worker_.close_session(id);
}

// ---- what happens to it -------------------------------------------------------------------------

void Process::kill() {
  setup_.store->cut_off();
  listener_.reset();
}

void Process::finish_unheard(std::size_t count) {
  const Mark mark(in_use_);
  for (; count > 0 && !executor_.empty(); --count) executor_.run_next();
}

void Process::drain(BootTime deadline) {
  const bool starts = !listener_;  // stop() does nothing yet
  if (starts || drain_) return;
  drain_.emplace(deadline, setup_.options.cancel_grace);
  busy_at_ = now();
  worker_.stop_accepting();
}

// Sessions that nobody else may have are kept until the deadline: somebody may still close them.
bool Process::lingers(BootTime since) const {
  return drain_ && drain_->is_finishing() && !is_dead() && !in_use() && !worker_.quiet() &&
         !worker_.has_unmovable_sessions() && std::max(busy_at_, since) + kTimeToLeave <= now();
}

// A store that does not answer is not given up, as Runtime::drain() does: calls that are made inside of
// others can't wait for them.
void Process::go_on_leaving() {
  if (!worker_.go_on_leaving(*drain_)) return;
  left_ = true;
  for (runtime::StepSchedule& schedule : schedules_) schedule.close();
  worker_.leave();
}

}  // namespace holdfast::simulator
