// How steps about sessions are done.
#include "testkit/conformance/model/comparison.hpp"

#include <string>
#include <vector>

namespace holdfast::testing::model {

void Comparison::perform(const AcquireSession& op) {
  const Worker worker = world_.space(op.on).worker(op.who);
  ask(op.on, "acquire_session", [&](Store& store) {
    return store.acquire_session(worker.key, worker.info.abilities, name(op.id), op.policy);
  });
}

void Comparison::perform(const RenewSessions& op) {
  const Space& space = world_.space(op.on);
  std::vector<store::SessionRenewal> renewals;
  for (const SessionRenewalSpec& spec : op.sessions) {
    renewals.push_back(
        {.hold = {name(spec.id), space.generation(spec.id, spec.generation)}, .quiet_for = spec.quiet_for});
  }
  const WorkerKey worker = space.worker(op.who).key;
  ask(op.on, "renew_sessions", [&](Store& store) { return store.renew_sessions(worker, renewals); });
}

void Comparison::perform(const ReleaseSessions& op) {
  const Space& space = world_.space(op.on);
  std::vector<store::SessionRelease> releases;
  for (const SessionReleaseSpec& spec : op.sessions) {
    store::SessionRelease release{.hold = {name(spec.id), space.generation(spec.id, spec.generation)},
                                  .reason = spec.reason};
    if (spec.save) release.save = store::SessionSave{body_of(step_, releases.size())};
    releases.push_back(std::move(release));
  }
  const WorkerKey worker = space.worker(op.who).key;
  ask(op.on, "release_sessions", [&](Store& store) { return store.release_sessions(worker, releases); });
}

void Comparison::perform(const CloseSession& op) {
  ask(op.on, "close_session",
      [&](Store& store) { return store.close_session(name(op.id), store::SessionReason::operated); });
}

void Comparison::perform(const AskForSession& op) {
  store::SessionWish wish{.keep_for = op.keep_for, .force = op.force};
  if (op.to) wish.to = name(*op.to);
  ask(op.on, "ask_for_session", [&](Store& store) { return store.ask_for_session(name(op.id), wish); });
}

void Comparison::perform(const DiscardSessionState& op) {
  ask(op.on, "discard_session_state", [&](Store& store) { return store.discard_session_state(name(op.id)); });
}

void Comparison::perform(const AcknowledgeEnds& op) {
  const Space& space = world_.space(op.on);
  const std::vector holds{store::SessionHold{name(op.id), space.generation(op.id, op.generation)}};
  const WorkerKey worker = space.worker(op.who).key;
  ask(op.on, "acknowledge_ends", [&](Store& store) { return store.acknowledge_ends(worker, holds); });
}

void Comparison::perform(const FailSession& op) {
  const Space& space = world_.space(op.on);
  const store::SessionHold hold{name(op.id), space.generation(op.id, op.generation)};
  const WorkerKey worker = space.worker(op.who).key;
  ask(op.on, "fail_session",
      [&](Store& store) { return store.fail_session(worker, hold, store::SessionReason::drain_deadline); });
}

}  // namespace holdfast::testing::model
