// How steps about activities are done.
#include "testkit/conformance/model/comparison.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::testing::model {

void Comparison::perform(const FetchActivities& op) {
  fetch(op, token_of(op.repeats != 0 ? op.repeats : step_));
}

store::FetchedActivities Comparison::fetch(const FetchActivities& op, LockToken token) {
  const Worker worker = world_.space(op.on).worker(op.who);
  const store::ActivityRequest request{.worker = worker.key,
                                       .abilities = &worker.info.abilities,
                                       .token = token,
                                       .repeated = op.repeats != 0,
                                       .lease = op.lease,
                                       .max = op.max,
                                       .owned_only = op.owned_only};
  const auto level = [this](auto& model, auto& subject) {
    if (!model || !subject) return;
    take_next_due(*model, *subject);
    const auto by_id = [](const store::SessionHold& a, const store::SessionHold& b) { return a.id < b.id; };
    for (auto* answer : {&*model, &*subject}) {
      std::sort(answer->to_hand_over.begin(), answer->to_hand_over.end(), by_id);
    }
  };
  const auto fetched =
      ask(op.on, "fetch_activities", [&](Store& store) { return store.fetch_activities(request); }, level);
  return fetched && *fetched ? **fetched : store::FetchedActivities{};
}

void Comparison::perform(const FinishActivities& op) {
  const Space& space = world_.space(op.on);
  std::vector<store::ActivityResult> results;
  for (const FinishSpec& spec : op.activities) {
    store::ActivityResult result{};
    result.id = space.activity(spec.activity);
    result.token = space.token(result.id, spec.token);
    const std::string body = body_of(step_, results.size());
    switch (spec.ending) {
      case Ending::finished:
        result.result = store::Finished{body};
        break;
      case Ending::retry:
        result.result = store::Retry{spec.delay, body};
        result.progress = body;
        break;
      case Ending::put_back:
        result.result = store::PutBack{spec.delay};
        break;
      case Ending::set_aside:
        result.result = store::SetAside{"not readable"};
        break;
    }
    if (spec.save) result.save = store::SessionSave{body, spec.required};
    if (spec.abort) result.abort_session = "aborted by step " + std::to_string(step_);
    result.still_runs = spec.still_runs;
    results.push_back(std::move(result));
  }
  ask(op.on, "finish_activities", [&](Store& store) { return store.finish_activities(results); });
}

void Comparison::perform(const RenewActivities& op) {
  const Space& space = world_.space(op.on);
  std::vector<store::ActivityRenewal> renewals;
  for (const ActivityRenewalSpec& spec : op.activities) {
    const store::ActivityId id = space.activity(spec.activity);
    store::ActivityRenewal renewal{.id = id, .token = space.token(id, spec.token)};
    if (spec.progress) renewal.progress = body_of(step_, renewals.size());
    renewals.push_back(std::move(renewal));
  }
  const WorkerKey worker = space.worker(op.who).key;
  ask(op.on, "renew_activities",
      [&](Store& store) { return store.renew_activities(worker, op.lease, renewals); });
}

void Comparison::perform(const AcknowledgeCancels& op) {
  const Space& space = world_.space(op.on);
  std::vector<store::CancelAcknowledgement> cancels;
  for (const AcknowledgementSpec& spec : op.cancels) {
    const store::ActivityId id = space.activity(spec.activity);
    cancels.push_back({.id = id, .token = space.token(id, spec.token), .state = spec.state});
  }
  ask(op.on, "acknowledge_cancels", [&](Store& store) { return store.acknowledge_cancels(cancels); });
}

}  // namespace holdfast::testing::model
