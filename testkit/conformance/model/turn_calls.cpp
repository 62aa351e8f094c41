// How steps about turns are done.
#include "testkit/conformance/model/commit.hpp"
#include "testkit/conformance/model/comparison.hpp"

#include <set>
#include <vector>

namespace holdfast::testing::model {

namespace {

// What the worker says that it holds, sorted by key as the contract wants it.
std::vector<store::HeldInstance> held_instances(const Space& space, WorkerKey worker, Holding holding) {
  std::vector<store::HeldInstance> held;
  if (holding == Holding::none) return held;
  for (const store::InstanceRow& row : space.state().instances) {
    if (row.locked_by != worker) continue;
    const InstanceMemory& memory = space.memory(row.view.key);
    const Which which = holding == Holding::own ? Which::last : Which::stale;
    held.push_back({.key = row.view.key,
                    .token = space.token(row.view.key, which),
                    .seen = memory.given.empty() ? MessageId{} : memory.given.back()});
  }
  return held;
}

}  // namespace

void Comparison::perform(const FetchTurns& op) { fetch(op, token_of(op.repeats != 0 ? op.repeats : step_)); }

store::FetchedTurns Comparison::fetch(const FetchTurns& op, LockToken token) {
  Space& space = world_.space(op.on);
  const Worker worker = space.worker(op.who);
  const std::vector<store::HeldInstance> held = held_instances(space, worker.key, op.holding);
  const store::TurnRequest request{.worker = worker.key,
                                   .code = &worker.info.code,
                                   .token = token,
                                   .repeated = op.repeats != 0,
                                   .lease = op.lease,
                                   .max = op.max,
                                   .held = held};
  const auto level = [this](auto& model, auto& subject) {
    if (!model || !subject) return;
    take_next_due(*model, *subject);
  };
  const auto fetched =
      ask(op.on, "fetch_turns", [&](Store& store) { return store.fetch_turns(request); }, level);
  if (!fetched || !*fetched) return {};
  for (const store::LockedTurn& turn : (*fetched)->turns) space.given(turn);
  return **fetched;
}

void Comparison::perform(const CommitTurns& op) {
  Space& space = world_.space(op.on);
  const Worker worker = space.worker(op.who);
  const store::CommitRequest request{
      .worker = worker.key, .abilities = &worker.info.abilities, .activity_lease = op.lease};
  const std::vector<store::TurnCommit> commits =
      commits_of(space, world_.clock.calendar_now(), step_, op.turns);
  const auto committed =
      ask(op.on, "commit_turns", [&](Store& store) { return store.commit_turns(request, commits); });
  if (!committed) return;
  for (std::size_t i = 0; i < std::min(commits.size(), committed->size()); ++i) {
    if (!(*committed)[i]) continue;
    remember_made(space, step_, commits[i]);
    committed_.insert(commits[i].key);
  }
}

void Comparison::perform(const ReleaseTurns& op) {
  const Space& space = world_.space(op.on);
  std::vector<store::TurnRelease> releases;
  for (const TurnReleaseSpec& spec : op.turns) {
    const InstanceKey key = space.key(spec.id, spec.life);
    store::TurnRelease release{
        .key = key, .token = space.token(key, spec.token), .delay = spec.delay, .counts = spec.counts};
    if (const auto& given = space.memory(key).given; spec.seen == Seen::given && !given.empty()) {
      release.seen = given.back();
    }
    if (spec.park) release.park = "parked by step " + std::to_string(step_);
    releases.push_back(std::move(release));
  }
  ask(op.on, "release_turns", [&](Store& store) { return store.release_turns(releases); });
}

void Comparison::perform(const RenewTurns& op) {
  const Space& space = world_.space(op.on);
  std::vector<store::TurnRenewal> renewals;
  for (const TurnRenewalSpec& spec : op.turns) {
    const InstanceKey key = space.key(spec.id, spec.life);
    renewals.push_back({.key = key, .token = space.token(key, spec.token)});
  }
  const WorkerKey worker = space.worker(op.who).key;
  ask(op.on, "renew_turns", [&](Store& store) { return store.renew_turns(worker, op.lease, renewals); });
}

void Comparison::perform(const ReadHistory& op) {
  const InstanceKey key = world_.space(op.on).key(op.id, op.life);
  ask(op.on, "read_history", [&](Store& store) {
    return store.read_history(key, ExecutionNumber{op.execution}, first_event_of(op.after_step),
                              op.max_bytes);
  });
}

void Comparison::perform(const WakeParked& op) {
  const store::Code code = worker_info(Node::ada, op.profile).code;
  ask(op.on, "wake_parked", [&](Store& store) { return store.wake_parked(code); });
}

}  // namespace holdfast::testing::model
