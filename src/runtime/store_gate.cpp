#include "runtime/store_gate.hpp"

#include <algorithm>

namespace holdfast::runtime {

namespace {

template <class T>
bool is_unanswered(const StoreResult<T>& answer) {
  return !answer && answer.error().kind == StoreError::Kind::unavailable;
}

}  // namespace

void StoreGate::close_at(BootTime time) {
  const MutexLock lock(mutex_);
  closes_at_ = time;
}

bool StoreGate::is_shut() const {
  const MutexLock lock(mutex_);
  return unanswered_ && closes_at_ != BootTime::max() && clock().boot_now() >= closes_at_;
}

// Once it is closed, the calls that are under way show whether the store answers.
std::optional<StoreError> StoreGate::enter() {
  MutexLock lock(mutex_);
  if (closes_at_ != BootTime::max() && clock().boot_now() >= closes_at_) {
    changed_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return unanswered_ || under_way_ == 0; });
    if (unanswered_)
      return StoreError{
          .kind = StoreError::Kind::unavailable,
          .message = "the worker has no more time, and the store did not answer it: " + *unanswered_};
  }
  ++under_way_;
  return std::nullopt;
}

void StoreGate::leave_with(std::optional<std::string> unanswered) {
  const MutexLock lock(mutex_);
  --under_way_;
  unanswered_ = std::move(unanswered);
  changed_.notify_all();
}

/// One call on its way, if it may be made. One that throws is not answered.
class StoreGate::Passage {
 public:
  explicit Passage(StoreGate& gate) : gate_(gate), refused_(gate.enter()) {}
  ~Passage() {
    if (!refused_) gate_.leave_with(std::move(unanswered_));
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  [[nodiscard]] const std::optional<StoreError>& refused() const noexcept { return refused_; }
  void answered() noexcept { unanswered_.reset(); }
  void unanswered(const std::string& why) { unanswered_ = why; }

 private:
  StoreGate& gate_;
  const std::optional<StoreError> refused_;
  std::optional<std::string> unanswered_ = "it threw";
};

template <class Call>
auto StoreGate::one(Call call) -> decltype(call()) {
  Passage passage(*this);
  if (passage.refused()) return Unexpected(*passage.refused());
  auto answer = call();
  if (is_unanswered(answer)) {
    passage.unanswered(answer.error().message);
  } else {
    passage.answered();
  }
  return answer;
}

template <class Call>
auto StoreGate::each(std::size_t items, Call call) -> decltype(call()) {
  using Answers = decltype(call());
  using Answer = typename Answers::value_type;
  if (items == 0) return call();
  Passage passage(*this);
  if (passage.refused()) return Answers(items, Answer(Unexpected(*passage.refused())));
  Answers answers = call();
  if (std::ranges::all_of(answers, [](const Answer& one) { return is_unanswered(one); })) {
    passage.unanswered(answers.front().error().message);
  } else {
    passage.answered();
  }
  return answers;
}

// ---- workers ------------------------------------------------------------------------------------

StoreResult<WorkerKey> StoreGate::join(const store::NewWorker& info) {
  return one([&] { return inner_->join(info); });
}
StoreResult<void> StoreGate::refresh(WorkerKey worker, bool draining) {
  return one([&] { return inner_->refresh(worker, draining); });
}
StoreResult<void> StoreGate::leave(WorkerKey worker) {
  return one([&] { return inner_->leave(worker); });
}
StoreResult<std::vector<store::WorkerView>> StoreGate::workers() {
  return one([&] { return inner_->workers(); });
}

// ---- turns --------------------------------------------------------------------------------------

StoreResult<store::FetchedTurns> StoreGate::fetch_turns(const store::TurnRequest& request) {
  return one([&] { return inner_->fetch_turns(request); });
}
std::vector<StoreResult<store::Committed>> StoreGate::commit_turns(
    const store::CommitRequest& request, std::span<const store::TurnCommit> commits) {
  return each(commits.size(), [&] { return inner_->commit_turns(request, commits); });
}
std::vector<StoreResult<void>> StoreGate::release_turns(std::span<const store::TurnRelease> releases) {
  return each(releases.size(), [&] { return inner_->release_turns(releases); });
}
StoreResult<std::vector<store::Segment>> StoreGate::read_history(InstanceKey key, ExecutionNumber execution,
                                                                 EventId after, std::size_t max_bytes) {
  return one([&] { return inner_->read_history(key, execution, after, max_bytes); });
}
StoreResult<std::uint64_t> StoreGate::wake_parked(const store::Code& code) {
  return one([&] { return inner_->wake_parked(code); });
}

// ---- activities ---------------------------------------------------------------------------------

StoreResult<store::FetchedActivities> StoreGate::fetch_activities(const store::ActivityRequest& request) {
  return one([&] { return inner_->fetch_activities(request); });
}
std::vector<StoreResult<void>> StoreGate::finish_activities(std::span<const store::ActivityResult> results) {
  return each(results.size(), [&] { return inner_->finish_activities(results); });
}
std::vector<StoreResult<void>> StoreGate::renew_turns(WorkerKey worker, Duration lease,
                                                      std::span<const store::TurnRenewal> turns) {
  return each(turns.size(), [&] { return inner_->renew_turns(worker, lease, turns); });
}
std::vector<StoreResult<void>> StoreGate::renew_activities(
    WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) {
  return each(activities.size(), [&] { return inner_->renew_activities(worker, lease, activities); });
}
StoreResult<std::vector<store::CancelRecord>> StoreGate::cancel_records(WorkerKey worker) {
  return one([&] { return inner_->cancel_records(worker); });
}
StoreResult<void> StoreGate::acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) {
  return one([&] { return inner_->acknowledge_cancels(cancels); });
}
StoreResult<std::vector<store::QueueDepth>> StoreGate::queue_depths() {
  return one([&] { return inner_->queue_depths(); });
}

// ---- sessions -----------------------------------------------------------------------------------

StoreResult<store::Acquired> StoreGate::acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                                        std::string_view id,
                                                        const store::SessionPolicy& policy) {
  return one([&] { return inner_->acquire_session(worker, abilities, id, policy); });
}
std::vector<StoreResult<void>> StoreGate::renew_sessions(WorkerKey worker,
                                                         std::span<const store::SessionRenewal> holds) {
  return each(holds.size(), [&] { return inner_->renew_sessions(worker, holds); });
}
std::vector<StoreResult<void>> StoreGate::release_sessions(WorkerKey worker,
                                                           std::span<const store::SessionRelease> releases) {
  return each(releases.size(), [&] { return inner_->release_sessions(worker, releases); });
}
StoreResult<bool> StoreGate::close_session(std::string_view id, store::SessionReason reason) {
  return one([&] { return inner_->close_session(id, reason); });
}
StoreResult<store::WishAnswer> StoreGate::ask_for_session(std::string_view id,
                                                          const store::SessionWish& wish) {
  return one([&] { return inner_->ask_for_session(id, wish); });
}
StoreResult<std::vector<store::WantedSession>> StoreGate::wanted_sessions(WorkerKey worker) {
  return one([&] { return inner_->wanted_sessions(worker); });
}
StoreResult<void> StoreGate::acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) {
  return one([&] { return inner_->acknowledge_ends(worker, holds); });
}
StoreResult<bool> StoreGate::discard_session_state(std::string_view id) {
  return one([&] { return inner_->discard_session_state(id); });
}
StoreResult<void> StoreGate::fail_session(WorkerKey worker, const store::SessionHold& hold,
                                          store::SessionReason reason) {
  return one([&] { return inner_->fail_session(worker, hold, reason); });
}
StoreResult<store::SessionView> StoreGate::session(std::string_view id, store::Saved saved) {
  return one([&] { return inner_->session(id, saved); });
}
StoreResult<std::vector<store::SessionView>> StoreGate::sessions(const store::SessionFilter& filter) {
  return one([&] { return inner_->sessions(filter); });
}
StoreResult<store::SessionCounts> StoreGate::count_sessions() {
  return one([&] { return inner_->count_sessions(); });
}
StoreResult<std::vector<store::SessionLogEntry>> StoreGate::session_log(std::string_view id,
                                                                        std::uint64_t after,
                                                                        std::size_t limit) {
  return one([&] { return inner_->session_log(id, after, limit); });
}

// ---- clients ------------------------------------------------------------------------------------

std::vector<StoreResult<store::StartAnswer>> StoreGate::start(std::span<const store::StartRequest> requests) {
  return each(requests.size(), [&] { return inner_->start(requests); });
}
std::vector<StoreResult<InstanceKey>> StoreGate::send(std::span<const store::ClientMessage> messages) {
  return each(messages.size(), [&] { return inner_->send(messages); });
}
StoreResult<store::InstanceView> StoreGate::find(std::string_view instance) {
  return one([&] { return inner_->find(instance); });
}
StoreResult<std::vector<std::optional<store::InstanceView>>> StoreGate::look(
    std::span<const InstanceKey> keys) {
  return one([&] { return inner_->look(keys); });
}
StoreResult<store::InstanceDetail> StoreGate::describe(std::string_view instance) {
  return one([&] { return inner_->describe(instance); });
}
StoreResult<store::InstancePage> StoreGate::list(const store::InstanceFilter& filter) {
  return one([&] { return inner_->list(filter); });
}
StoreResult<std::vector<store::ExecutionView>> StoreGate::executions(InstanceKey key) {
  return one([&] { return inner_->executions(key); });
}
StoreResult<std::optional<std::string>> StoreGate::value(std::string_view instance, std::string_view key) {
  return one([&] { return inner_->value(instance, key); });
}
StoreResult<void> StoreGate::delete_instance(std::string_view instance, bool force, InstanceKey life) {
  return one([&] { return inner_->delete_instance(instance, force, life); });
}
StoreResult<std::uint64_t> StoreGate::prune_executions(std::string_view instance, std::uint64_t keep) {
  return one([&] { return inner_->prune_executions(instance, keep); });
}
StoreResult<bool> StoreGate::prune_execution(std::string_view instance, ExecutionNumber execution) {
  return one([&] { return inner_->prune_execution(instance, execution); });
}
StoreResult<std::vector<store::SetAsideRow>> StoreGate::set_aside(std::uint64_t after, std::size_t limit) {
  return one([&] { return inner_->set_aside(after, limit); });
}

// ---- keeping order ------------------------------------------------------------------------------

StoreResult<store::Swept> StoreGate::sweep(const store::SweepRequest& request) {
  return one([&] { return inner_->sweep(request); });
}
std::unique_ptr<store::Listener> StoreGate::listen(store::WorkMask mask, WorkerKey worker) {
  return inner_->listen(mask, worker);
}
StoreResult<store::StoreState> StoreGate::state() {
  return one([&] { return inner_->state(); });
}

}  // namespace holdfast::runtime
