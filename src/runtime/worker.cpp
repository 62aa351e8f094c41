#include "runtime/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace holdfast::runtime {

using namespace std::chrono_literals;

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Worker::Worker(std::shared_ptr<Store> store, RuntimeOptions options, Registry registry, Executor& executor,
               Random& random, Poke poke)
    : waker_(std::move(poke)),
      chance_(random),
      settings_(std::move(store), std::move(options), std::move(registry), random),
      standing_(waker_, settings_.options.worker_stale_after),
      outbox_(waker_),
      cache_(settings_.options.cached_instances, settings_.store->clock(), outbox_),
      sessions_(settings_, standing_, waker_, executor),
      desk_(settings_, standing_, waker_, chance_, cache_, sessions_, outbox_, executor),
      builds_(settings_, standing_),
      turns_(settings_, standing_, waker_, chance_, cache_, desk_, sessions_, builds_, outbox_),
      questions_(std::make_shared<Questions>(settings_, standing_, waker_)),
      fetch_(settings_, standing_, waker_, chance_, desk_, sessions_),
      answers_(settings_, desk_, outbox_),
      keep_(settings_, standing_, waker_, cache_, desk_, sessions_, builds_, outbox_, turns_, fetch_),
      limits_(waker_, desk_, turns_, *questions_) {}

StoreResult<void> Worker::join() {
  if (auto joined = register_worker(); !joined) return joined;
  standing_.set_accepts(true);
  settings_.store->local_asks().attach(questions_);
  settings_.counters.session_limit.add(settings_.options.session_limit);
  log(*settings_.logger, LogLevel::info, "worker started",
      {{"build", settings_.options.build},
       {"slots", settings_.slots},
       {"store", settings_.store->description()}});
  return {};
}

StoreResult<void> Worker::register_worker() {
  const store::NewWorker info{.node = settings_.node,
                              .build = settings_.options.build,
                              .host = host_name(),
                              .pid = static_cast<std::uint64_t>(getpid()),
                              .slots = static_cast<std::uint32_t>(settings_.slots),
                              .abilities = settings_.abilities,
                              .code = settings_.code,
                              .stale_after = settings_.options.worker_stale_after,
                              .take_back_within = settings_.options.session_take_back};
  const BootTime asked = settings_.now();
  auto key = settings_.store->join(info);
  join_in_doubt_ = !key && key.error().kind == StoreError::Kind::unavailable;
  if (!key) return Unexpected(std::move(key).error());
  standing_.set_key(*key);
  standing_.heard_at(asked);
  return {};
}

Progress Worker::run(Step step, RunId run) {
  if (step == Step::answers) return answers_.step();
  if (step == Step::keep) return keep();
  if (step == Step::limits) return limits_.step();
  if (step == Step::questions) return questions_->step(run);
  const InProgress in_progress(bringing_work_);
  return step == Step::turns ? turns_.step(run) : fetch_.step();
}

Progress Worker::keep() {
  check_standing();
  Progress progress = keep_.step();
  if (standing_.is_forgotten())
    progress.next_due = std::min(progress.next_due, after(settings_.now(), 100ms));
  return progress;
}

// A process that was stopped for long may find that others took it for gone.
void Worker::check_standing() {
  if (standing_.take_forgotten() && standing_.accepts()) rejoin();
  if (!standing_.is_superseded() || std::exchange(said_superseded_, true)) return;
  log(*settings_.logger, LogLevel::error,
      "this worker was superseded: another process has started under its node id; this one takes nothing new "
      "and stops what it runs");
  stop_accepting();
  keep_.give_up_sessions();
  desk_.stop_all(CancelReason::worker_stopping, CancelReason::session_lost);
  sessions_.all_left(store::SessionReason::owner_restarted);
  settings_.counters.superseded.add(1);
  sessions_.tell_superseded();
}

void Worker::rejoin() {
  const auto workers = settings_.store->workers();
  const store::WorkerView* const newest = workers ? newest_of_this_node(*workers) : nullptr;
  if (newest != nullptr && !is_what_joined_last(*newest)) {
    standing_.set_superseded(newest->key != standing_.key());
    return;
  }
  if (newest != nullptr) standing_.set_key(newest->key);
  if (!workers || (newest == nullptr && !register_worker())) {
    standing_.set_forgotten();  // and tried again
    return;
  }
  join_in_doubt_ = false;
  log(*settings_.logger, LogLevel::warn,
      "others took this worker for gone, since it gave no sign of life; it has joined again");
  sessions_.all_left(store::SessionReason::lapsed);
  look_again();
}

const store::WorkerView* Worker::newest_of_this_node(const std::vector<store::WorkerView>& workers) const {
  const store::WorkerView* newest = nullptr;
  for (const store::WorkerView& other : workers) {
    if (other.info.node != settings_.node) continue;
    if (newest == nullptr || newest->key < other.key) newest = &other;
  }
  return newest;
}

// The answer to the last join was lost, but it took effect: what stands there is this process.
bool Worker::is_what_joined_last(const store::WorkerView& view) const {
  return join_in_doubt_ && view.key.value > standing_.key().value && view.info.host == host_name() &&
         view.info.pid == static_cast<std::uint64_t>(getpid());
}

void Worker::hear(const store::Wake& wake) {
  if (wake.work.has(store::kTurns)) {
    turns_.want();
    waker_.poke(Step::turns);
  }
  if (wake.work.has(store::kActivities)) {
    fetch_.want();
    waker_.poke(Step::activities);
  }
  if (wake.work.has(store::kAsks)) {
    questions_->want_asks();
    waker_.poke(Step::questions);
  }
  if (wake.work.has(store::kCancels)) keep_.want_cancels();
  if (wake.work.has(store::kSweep)) keep_.want_sweep();
  if (wake.work.has(store::kCancels | store::kSweep)) waker_.poke(Step::keep);
}

void Worker::look_again() { hear({.work = store::kTurns | store::kActivities | store::kAsks}); }

void Worker::stop_accepting() {
  standing_.set_accepts(false);
  keep_.want_refresh();  // the others have to know that it drains
  desk_.give_back_ahead();
  waker_.poke(Step::turns);
  waker_.poke(Step::keep);
}

void Worker::stop_activities() {
  keep_.give_up_sessions();
  desk_.stop_all(CancelReason::worker_stopping);
}

bool Worker::quiet() const { return idle() && sessions_.quiet(); }

// A step that began before accepting ended may still bring work, so it is asked about first.
bool Worker::idle() const {
  return bringing_work_ == turns_.stuck() && desk_.in_hand() == 0 && !cache_.has_ready() &&
         turns_.away() == 0;
}

bool Worker::go_on_leaving(Drain& drain) {
  switch (drain.next(settings_.now(), {quiet(), ends_soon()})) {
    case Drain::Order::wait:
      break;
    case Drain::Order::stop_activities:
      stop_activities();
      break;
    case Drain::Order::leave:
      return true;
  }
  return false;
}

bool Worker::would_go_on_leaving(const Drain& drain) const {
  return drain.goes_on(settings_.now(), {quiet(), ends_soon()});
}

bool Worker::leave() {
  turns_.close();
  questions_->close();
  const KeepStep::Kept kept = keep_.release_all();
  cache_.evict_elsewhere();
  const std::size_t activities = desk_.in_hand();
  const auto left = settings_.store->leave(standing_.key());
  const bool unheard = !left && left.error().kind == StoreError::Kind::unavailable;
  const bool gave_back_all = kept.instances + kept.sessions + activities == 0 && !unheard;
  if (!gave_back_all) {
    log(*settings_.logger, LogLevel::warn,
        "not everything could be released; other workers get the rest when its leases are over",
        {{"instances", kept.instances},
         {"activities", activities},
         {"sessions", kept.sessions},
         {"store", left ? "answers" : left.error().message}});
  }
  settings_.counters.session_limit.add(-static_cast<double>(settings_.options.session_limit));
  if (said_superseded_) settings_.counters.superseded.add(-1);
  log(*settings_.logger, LogLevel::info, "worker stopped");
  settings_.logger->close();
  return gave_back_all && !sessions_.lost_a_state();
}

}  // namespace holdfast::runtime
