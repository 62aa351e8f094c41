#include "base/mutex.hpp"
#include "runtime/drain.hpp"
#include "runtime/driver.hpp"
#include "runtime/stop_signal.hpp"
#include "runtime/thread_pool.hpp"
#include "runtime/worker.hpp"

#include <holdfast/detail/describe.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {

using namespace std::chrono_literals;

/// A worker and its threads. Destroyed in the order that lets nothing outlive what it uses.
class Runtime::Impl {
 public:
  Impl(std::shared_ptr<Store> store_given, RuntimeOptions options_given)
      : store(std::move(store_given)),
        options(std::move(options_given)),
        client(store, {.max_payload_bytes = options.limits.payload_bytes, .logger = options.logger}) {
    if (!options.metrics) options.metrics = std::make_shared<Metrics>();
    if (options.node_id.empty()) options.node_id = to_string(random_token<NodeToken>(system_random()));
  }

  enum class Phase : std::uint8_t { made, started, stopping, stopped };

  [[nodiscard]] Phase phase() const {
    const MutexLock lock(mutex_);
    return phase_;
  }
  /// It has started, or a drain has come to its end.
  void enter(Phase phase) {
    const MutexLock lock(mutex_);
    phase_ = phase;
    changed_.notify_all();
  }
  /// True for the first who stops it. Others wait until that one has.
  bool begin_to_stop() {
    MutexLock lock(mutex_);
    if (phase_ == Phase::started) {
      phase_ = Phase::stopping;
      return true;
    }
    changed_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return phase_ != Phase::stopping; });
    return false;
  }
  /// Lets it come to its end. True when nothing is left, everything had ended by itself, and the store knows.
  bool run_down(Duration deadline);
  /// Waits for a moment until no frame lives on an executor. True when none does.
  [[nodiscard]] bool wait_for_frames() const;

  void require_not_started(std::string_view what, std::string_view name) const {
    if (phase() == Phase::made) return;
    throw std::logic_error(std::string(what) + " '" + std::string(name) +
                           "' is registered after start(): register everything first");
  }

  [[nodiscard]] runtime::Worker& started_worker() const {
    if (phase() != Phase::started)
      throw std::logic_error(
          "holdfast: only a runtime that has started, and was not stopped, can hold sessions");
    return *worker;
  }

  std::shared_ptr<Store> store;
  RuntimeOptions options;
  runtime::Registry registry;
  Client client;
  bool ended_by_itself = true;  ///< what the drain said; true before the first
  std::shared_ptr<runtime::Driver> driver;
  std::shared_ptr<runtime::ThreadPool> pool;
  std::shared_ptr<runtime::Worker> worker;

 private:
  mutable Mutex mutex_;
  Condition changed_;
  Phase phase_ HOLDFAST_GUARDED_BY(mutex_) = Phase::made;
};

Runtime::Runtime(std::shared_ptr<Store> store, RuntimeOptions options) {
  if (!store) throw std::invalid_argument("holdfast: a Runtime needs a store");
  impl_ = std::make_unique<Impl>(std::move(store), std::move(options));
}

Runtime::~Runtime() { stop(); }

Runtime& Runtime::add_activity(std::string_view name, std::shared_ptr<const detail::ActivityCode> code) {
  impl_->require_not_started("activity", name);
  impl_->registry.add_activity(name, std::move(code));
  return *this;
}

Runtime& Runtime::add_orchestration(std::string_view name, OrchestrationOptions options,
                                    std::shared_ptr<const detail::OrchestrationCode> code) {
  impl_->require_not_started("orchestration", name);
  impl_->registry.add_orchestration(name, options.version, std::move(code));
  return *this;
}

void Runtime::add_session_state(std::shared_ptr<const detail::SessionStateCode> code) {
  impl_->require_not_started("the state of sessions", code->name());
  impl_->registry.add_session_state(std::move(code));
}

Runtime& Runtime::on_session_acquired(SessionHook hook) {
  impl_->require_not_started("a hook", "session acquired");
  impl_->registry.hooks().acquired = std::move(hook);
  return *this;
}

Runtime& Runtime::on_session_released(SessionHook hook) {
  impl_->require_not_started("a hook", "session released");
  impl_->registry.hooks().released = std::move(hook);
  return *this;
}

Runtime& Runtime::on_superseded(std::function<void()> hook) {
  impl_->require_not_started("a hook", "superseded");
  impl_->registry.hooks().superseded = std::move(hook);
  return *this;
}

void Runtime::start() {
  Impl& impl = *impl_;
  if (impl.phase() != Impl::Phase::made) throw std::logic_error("holdfast: a Runtime is started once");
  runtime::check_options(impl.options);
  if (!impl.registry.orchestration_code().empty()) impl.registry.add_own_orchestrations();
  impl.driver = std::make_shared<runtime::Driver>(impl.store->clock(), impl.options.turn_threads,
                                                  impl.options.max_abandoned);
  impl.pool =
      std::make_shared<runtime::ThreadPool>([driver = impl.driver] { return driver->help_with_turns(); });
  const auto poke = [driver = impl.driver, pool = impl.pool](runtime::Step step) {
    driver->poke(step, *pool);
  };
  impl.worker = std::make_shared<runtime::Worker>(impl.store, impl.options, impl.registry, *impl.pool,
                                                  system_random(), poke);
  impl.worker->keep_alive(impl.worker);
  impl.driver->drives(impl.worker);
  if (auto joined = impl.worker->join(); !joined) {
    impl.worker.reset();
    throw ClientError(may_pass(joined.error()) ? ClientError::Kind::unavailable : ClientError::Kind::invalid,
                      "the runtime could not register with the store: " + joined.error().message);
  }
  impl.enter(Impl::Phase::started);
  impl.driver->start();
}

bool Runtime::drain(Duration deadline) {
  if (impl_->begin_to_stop()) {
    impl_->ended_by_itself = impl_->run_down(deadline);
    impl_->enter(Impl::Phase::stopped);
  }
  return impl_->ended_by_itself;
}

namespace {

// "render of video-7, render of video-8 and 12 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

}  // namespace

bool Runtime::Impl::run_down(Duration deadline) {
  const Clock& clock = store->clock();
  runtime::Drain drain(after(clock.boot_now(), deadline), options.cancel_grace);
  worker->give_up_store_at(drain.store_until());
  worker->stop_accepting();
  while (!worker->go_on_leaving(drain)) std::this_thread::sleep_for(1ms);
  const std::size_t stuck = driver->stop();
  const bool gave_back = worker->leave();
  const bool frames_gone = wait_for_frames();
  // Threads whose code has just returned are on their way; those of code that ignores a stop are not.
  const std::size_t left = pool->stop(worker->slots_in_use() == 0 ? 1s : 0s);
  if (stuck + left > 0) {
    log(*worker->settings().logger, LogLevel::error, "code does not end; its threads are left running",
        {{"count", stuck + left}, {"activities", some_of(worker->running_activities())}});
  }
  return drain.ended_by_itself() && gave_back && stuck + left == 0 && frames_gone;
}

// Frames on executors are destroyed there; one that does not come to it does so later, or never.
bool Runtime::Impl::wait_for_frames() const {
  const Clock& clock = store->clock();
  const BootTime until = after(clock.boot_now(), runtime::Drain::kMomentToEnd);
  while (worker->frames_elsewhere() > 0 && clock.boot_now() < until) std::this_thread::sleep_for(1ms);
  const std::size_t alive = worker->frames_elsewhere();
  const std::size_t left_behind = worker->frames_left_behind();
  if (alive + left_behind == 0) return true;
  log(*worker->settings().logger, LogLevel::error,
      "frames of orchestrations are left to their executors, which have not destroyed them",
      {{"count", alive + left_behind}, {"executor_gone", left_behind}});
  return false;
}

void Runtime::stop() { drain(impl_->options.cancel_grace); }

bool Runtime::run_until_signal(Duration deadline, const std::function<void()>& ready) {
  {
    const runtime::StopSignal bell;  // first: from here on none is missed
    if (impl_->phase() == Impl::Phase::made) start();
    if (ready) ready();
    runtime::StopSignal::wait();
  }
  return drain(deadline);
}

bool Runtime::run_until_signal() { return run_until_signal(impl_->options.cancel_grace); }

// ---- sessions -----------------------------------------------------------------------------------

SessionAcquired Runtime::acquire_session(std::string_view id, SessionOptions options) {
  return impl_->started_worker().acquire_session(*detail::worker_session_settings(id, options));
}
SessionOutcome Runtime::renew_session(std::string_view id) {
  return impl_->started_worker().renew_session(detail::checked_name("a session", id));
}
SessionOutcome Runtime::close_session(std::string_view id) {
  return impl_->started_worker().close_session(detail::checked_name("a session", id));
}

std::string_view to_string(SessionOutcome outcome) noexcept { return detail::enum_name(outcome); }

RuntimeState Runtime::state() const noexcept {
  switch (impl_->phase()) {
    case Impl::Phase::made:
      return RuntimeState::made;
    case Impl::Phase::started:
      return impl_->worker->standing().is_superseded() ? RuntimeState::superseded : RuntimeState::working;
    case Impl::Phase::stopping:
      return RuntimeState::stopping;
    case Impl::Phase::stopped:
      break;
  }
  return RuntimeState::stopped;
}

std::string_view to_string(RuntimeState state) noexcept { return detail::enum_name(state); }

Client Runtime::client() const { return impl_->client; }
const std::string& Runtime::node_id() const noexcept { return impl_->options.node_id; }
Metrics& Runtime::metrics() noexcept { return *impl_->options.metrics; }

}  // namespace holdfast
