#include "runtime/node.hpp"

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

Node::Node(std::shared_ptr<Store> store, RuntimeOptions options, Registry registry, Executor& executor,
           Random& random, Poke poke)
    : worker_(std::move(store), std::move(options), std::move(registry), random, std::move(poke)),
      cache_(worker_.options.cached_instances, worker_.store->clock()),
      sessions_(worker_, executor),
      desk_(worker_, cache_, sessions_, executor),
      turns_(worker_, cache_, desk_, sessions_),
      fetch_(worker_, desk_, sessions_),
      answers_(worker_, desk_),
      keep_(worker_, cache_, desk_, sessions_, turns_, fetch_),
      limits_(worker_, desk_, turns_) {}

StoreResult<void> Node::join() {
  if (auto joined = register_worker(); !joined) return joined;
  worker_.accepting = true;
  worker_.counters.session_limit.add(worker_.options.session_limit);
  log(*worker_.logger, LogLevel::info, "worker started",
      {{"build", worker_.options.build}, {"slots", worker_.slots}, {"store", worker_.store->description()}});
  return {};
}

StoreResult<void> Node::register_worker() {
  const store::NewWorker info{.node = worker_.node,
                              .build = worker_.options.build,
                              .host = host_name(),
                              .pid = static_cast<std::uint64_t>(getpid()),
                              .slots = static_cast<std::uint32_t>(worker_.slots),
                              .abilities = worker_.abilities,
                              .code = worker_.code,
                              .stale_after = worker_.options.worker_stale_after,
                              .take_back_within = worker_.options.session_take_back};
  const BootTime asked = worker_.now();
  auto key = worker_.store->join(info);
  join_in_doubt_ = !key && key.error().kind == StoreError::Kind::unavailable;
  if (!key) return Unexpected(std::move(key).error());
  worker_.key = key->value;
  worker_.heard_of_at = asked;
  return {};
}

Progress Node::run(Step step) {
  if (step == Step::answers) return answers_.step();
  if (step == Step::keep) return keep();
  if (step == Step::limits) return limits_.step();
  const InProgress in_progress(bringing_work_);
  return step == Step::turns ? turns_.step() : fetch_.step();
}

Progress Node::keep() {
  check_standing();
  Progress progress = keep_.step();
  if (worker_.forgotten) progress.next_due = std::min(progress.next_due, after(worker_.now(), 100ms));
  return progress;
}

// A process that was stopped for long may find that others took it for gone.
void Node::check_standing() {
  if (worker_.forgotten.exchange(false) && worker_.accepting) rejoin();
  if (!worker_.superseded || std::exchange(said_superseded_, true)) return;
  log(*worker_.logger, LogLevel::error,
      "this worker was superseded: another process has started under its node id; this one takes nothing new "
      "and stops what it runs");
  stop_accepting();
  keep_.give_up_sessions();
  desk_.stop_all(CancelReason::worker_stopping, CancelReason::session_lost);
  sessions_.all_left(store::SessionReason::owner_restarted);
  worker_.counters.superseded.add(1);
  sessions_.tell_superseded();
}

void Node::rejoin() {
  const auto workers = worker_.store->workers();
  const store::WorkerView* const newest = workers ? newest_of_this_node(*workers) : nullptr;
  if (newest != nullptr && !is_what_joined_last(*newest)) {
    worker_.superseded = newest->key.value != worker_.key;
    return;
  }
  if (newest != nullptr) worker_.key = newest->key.value;
  if (!workers || (newest == nullptr && !register_worker())) {
    worker_.forgotten = true;  // and tried again
    return;
  }
  join_in_doubt_ = false;
  log(*worker_.logger, LogLevel::warn,
      "others took this worker for gone, since it gave no sign of life; it has joined again");
  sessions_.all_left(store::SessionReason::lapsed);
  look_again();
}

const store::WorkerView* Node::newest_of_this_node(const std::vector<store::WorkerView>& workers) const {
  const store::WorkerView* newest = nullptr;
  for (const store::WorkerView& other : workers) {
    if (other.info.node != worker_.node) continue;
    if (newest == nullptr || newest->key < other.key) newest = &other;
  }
  return newest;
}

// The answer to the last join was lost, but it took effect: what stands there is this process.
bool Node::is_what_joined_last(const store::WorkerView& view) const {
  return join_in_doubt_ && view.key.value > worker_.key && view.info.host == host_name() &&
         view.info.pid == static_cast<std::uint64_t>(getpid());
}

void Node::hear(const store::Wake& wake) {
  if (wake.work.has(store::kTurns)) {
    turns_.want();
    worker_.poke(Step::turns);
  }
  if (wake.work.has(store::kActivities)) {
    fetch_.want();
    worker_.poke(Step::activities);
  }
  if (wake.work.has(store::kCancels)) keep_.want_cancels();
  if (wake.work.has(store::kSweep)) keep_.want_sweep();
  if (wake.work.has(store::kCancels | store::kSweep)) worker_.poke(Step::keep);
}

void Node::look_again() { hear({.work = store::kTurns | store::kActivities}); }

void Node::stop_accepting() {
  worker_.accepting = false;
  keep_.want_refresh();  // the others have to know that it drains
  desk_.give_back_ahead();
  worker_.poke(Step::turns);
  worker_.poke(Step::keep);
}

void Node::stop_activities() {
  keep_.give_up_sessions();
  desk_.stop_all(CancelReason::worker_stopping);
}

bool Node::quiet() const { return idle() && sessions_.quiet(); }

// A step that began before accepting ended may still bring work, so it is asked about first.
bool Node::idle() const {
  return bringing_work_ == turns_.stuck() && desk_.in_hand() == 0 && !cache_.has_ready();
}

bool Node::leave() {
  const KeepStep::Kept kept = keep_.release_all();
  const std::size_t activities = desk_.in_hand();
  const auto left = worker_.store->leave(WorkerKey{worker_.key});
  const bool unheard = !left && left.error().kind == StoreError::Kind::unavailable;
  const bool gave_back_all = kept.instances + kept.sessions + activities == 0 && !unheard;
  if (!gave_back_all) {
    log(*worker_.logger, LogLevel::warn,
        "not everything could be released; other workers get the rest when its leases are over",
        {{"instances", kept.instances},
         {"activities", activities},
         {"sessions", kept.sessions},
         {"store", left ? "answers" : left.error().message}});
  }
  worker_.counters.session_limit.add(-static_cast<double>(worker_.options.session_limit));
  if (said_superseded_) worker_.counters.superseded.add(-1);
  log(*worker_.logger, LogLevel::info, "worker stopped");
  worker_.logger->close();
  return gave_back_all && !sessions_.lost_a_state();
}

}  // namespace holdfast::runtime
