#include "runtime/driver.hpp"

#include "runtime/crew.hpp"

#include <chrono>
#include <utility>

namespace holdfast::runtime {

using namespace std::chrono_literals;

Driver::Driver(const Clock& clock, std::size_t turn_threads, std::size_t max_stuck)
    : clock_(clock), turn_threads_(turn_threads) {
  const auto allow = [&](Step step, std::size_t threads) {
    Signal& signal = signal_of(step);
    const MutexLock lock(signal.mutex);
    signal.schedule = StepSchedule(threads, max_stuck);
  };
  allow(Step::turns, turn_threads);
  allow(Step::questions, 1);
}

/// One of its threads, or one that helps, as a crew.
class Driver::Hands {
 public:
  /// `worker`: null where nobody keeps it alive; `pool`: where the thread may be one of that.
  explicit Hands(Driver& driver, Worker* worker = nullptr, ThreadPool* pool = nullptr)
      : driver_(driver), worker_(worker), pool_(pool) {}

  [[nodiscard]] BootTime now() const { return driver_.clock_.boot_now(); }
  template <class Use>
  auto with(Step step, Use use) {
    Signal& signal = driver_.signal_of(step);
    const MutexLock lock(signal.mutex);
    return use(signal.schedule);
  }
  Progress run(Step step, RunId run) {
    if (worker_ != nullptr) return worker_->run(step, run);
    const std::shared_ptr<Worker> worker = driver_.worker_.lock();
    return worker ? worker->run(step, run) : Progress{};
  }
  void call(Step step, bool all) {
    Condition& changed = driver_.signal_of(step).changed;
    all ? changed.notify_all() : changed.notify_one();
  }
  void add_thread(Step step) { driver_.make_thread(step); }
  [[nodiscard]] bool is_thread_of_activities() const { return pool_ != nullptr && pool_->is_here(); }
  [[nodiscard]] bool activity_waits() const { return pool_->has_work(); }
  void ask_for_rest() { pool_->ask_for_rest(); }

 private:
  Driver& driver_;
  Worker* worker_;
  ThreadPool* pool_;
};

void Driver::poke(Step step, ThreadPool& pool) {
  Hands hands(*this, nullptr, &pool);
  runtime::poke(hands, step);
}

bool Driver::help_with_turns() {
  Hands hands(*this);
  return help(hands, Step::turns);
}

void Driver::start() {
  const std::shared_ptr<Worker> worker = worker_.lock();
  listen_as(*worker);
  for (std::size_t i = 0; i < turn_threads_; ++i) make_thread(Step::turns);
  for (const Step step : {Step::activities, Step::answers, Step::keep, Step::limits, Step::questions})
    make_thread(step);
  listening_ = std::thread([self = shared_from_this(), worker] { self->listen(*worker); });
}

void Driver::make_thread(Step step) {
  const std::shared_ptr<Worker> worker = worker_.lock();
  if (!worker) return;
  const MutexLock lock(threads_mutex_);
  Thread& made =
      threads_.emplace_back(Thread{.step = step, .run = std::make_shared<std::atomic<std::uint64_t>>(0)});
  made.thread = std::thread(
      [self = shared_from_this(), worker, step, run = made.run] { self->drive(*worker, step, *run); });
}

// The limits step goes on until the others have come to their end, since it is what gives up those that
// don't.
std::size_t Driver::stop() {
  for (const Step step :
       {Step::turns, Step::activities, Step::answers, Step::keep, Step::questions, Step::limits})
    end_step(step);
  {
    const MutexLock lock(listener_mutex_);
    stopping_ = true;
    if (listener_) listener_->interrupt();
  }
  listening_.join();
  const StepSchedule turns = schedule_of(Step::turns);
  const StepSchedule questions = schedule_of(Step::questions);
  const MutexLock lock(threads_mutex_);
  for (Thread& one : threads_) {
    const StepSchedule* const schedule =
        one.step == Step::turns ? &turns : (one.step == Step::questions ? &questions : nullptr);
    if (schedule != nullptr && schedule->is_stuck({*one.run})) {
      one.thread.detach();
    } else {
      one.thread.join();
    }
  }
  threads_.clear();
  return turns.stuck() + questions.stuck();
}

StepSchedule Driver::schedule_of(Step step) {
  Signal& signal = signal_of(step);
  const MutexLock lock(signal.mutex);
  return signal.schedule;
}

void Driver::end_step(Step step) {
  Signal& signal = signal_of(step);
  MutexLock lock(signal.mutex);
  signal.schedule.close();
  signal.changed.notify_all();
  signal.changed.wait(lock, [&]() HOLDFAST_REQUIRES(signal.mutex) { return signal.schedule.is_at_rest(); });
}

void Driver::drive(Worker& worker, Step step, std::atomic<std::uint64_t>& in_run) {
  Hands hands(*this, &worker);
  Signal& signal = signal_of(step);
  while (const std::optional<RunId> run = wait_to_begin(signal)) {
    // Runs that may be stuck are asked about by this number.
    in_run = run->value;
    if (run_own(hands, step, *run)) return;
  }
}

// Nothing when it is time to stop.
std::optional<RunId> Driver::wait_to_begin(Signal& signal) {
  MutexLock lock(signal.mutex);
  while (!signal.schedule.is_closed()) {
    const BootTime now = clock_.boot_now();
    if (signal.schedule.is_wanted(now)) {
      if (const auto run = signal.schedule.begin(StepSchedule::Runner::own, now)) return run;
      signal.changed.wait(lock);  // whoever ends first looks again
    } else {
      signal.changed.wait_for(lock, left(signal.schedule.due(), now));
    }
  }
  return std::nullopt;
}

// Cancels are heard under the key of the registration.
void Driver::listen_as(Worker& worker) {
  const WorkerKey key = worker.standing().key();
  if (listener_ && key == listening_for_) return;
  auto listener = worker.settings().store->listen(
      store::kTurns | store::kActivities | store::kCancels | store::kSweep | store::kAsks, key);
  const MutexLock lock(listener_mutex_);
  listener_ = std::move(listener);
  listening_for_ = key;
}

// News that gets lost on its way between processes is made up for once per second.
void Driver::listen(Worker& worker) {
  while (!stopping_) {
    listen_as(worker);
    const store::Wake wake = listener_->wait(clock_.boot_now() + 1s);
    if (stopping_) return;
    if (wake.work.empty()) {
      worker.look_again();
    } else {
      worker.hear(wake);
    }
  }
}

}  // namespace holdfast::runtime
