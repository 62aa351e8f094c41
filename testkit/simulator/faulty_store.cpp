#include "testkit/simulator/faulty_store.hpp"

#include <map>
#include <utility>

namespace holdfast::simulator {

FaultyStore::FaultyStore(std::shared_ptr<Store> inner, CallGuard& guard, std::uint64_t process,
                         std::string name)
    : StoreForwarder(std::move(inner)), guard_(guard), process_(process), name_(std::move(name)) {}

StoreError FaultyStore::unavailable(std::string_view name, std::string_view why) const {
  return {.kind = StoreError::Kind::unavailable, .message = std::string(name) + ": " + std::string(why)};
}

void FaultyStore::note_answered(LockToken token, bool answered) {
  if (answered) {
    unanswered_.erase(token);
  } else {
    unanswered_.insert(token);
  }
}

// ---- workers ------------------------------------------------------------------------------------

StoreResult<WorkerKey> FaultyStore::join(const store::NewWorker& info) {
  return one(
      "join", [&] { return inner().join(info); },
      [&](const StoreResult<WorkerKey>& answer) {
        if (!answer) return;
        guard_.session_witness().joined(info, *answer);
        if (std::exchange(has_joined_, true)) guard_.witness().allow_lapses();  // others took it for gone
      });
}
StoreResult<void> FaultyStore::refresh(WorkerKey worker, bool draining) {
  guard_.session_witness().refreshing(worker);
  return one(
      "refresh", [&] { return inner().refresh(worker, draining); },
      [&](const StoreResult<void>& answer) { guard_.session_witness().refreshed(worker, answer); });
}
StoreResult<void> FaultyStore::leave(WorkerKey worker) {
  guard_.session_witness().left(worker);
  return one("leave", [&] { return inner().leave(worker); });
}

// ---- turns --------------------------------------------------------------------------------------

StoreResult<store::FetchedTurns> FaultyStore::fetch_turns(const store::TurnRequest& request) {
  auto told = one(
      "fetch turns", [&] { return inner().fetch_turns(request); },
      [&](const StoreResult<store::FetchedTurns>& answer) {
        if (!answer) return;
        guard_.witness().check_given_back(request, unanswered_);
        guard_.witness().fetched(request, *answer);
        if (!guard_.tells()) return;
        for (const store::LockedTurn& turn : answer->turns) {
          guard_.tell(*this, "fetch turns",
                      "got '" + turn.instance + "' with " + std::to_string(turn.messages.size()) +
                          " messages" + (turn.held ? ", held" : "") + ", delivery " +
                          std::to_string(turn.delivery));
        }
      });
  note_answered(request.token, told.has_value());
  return told;
}

std::vector<StoreResult<store::Committed>> FaultyStore::commit_turns(
    const store::CommitRequest& request, std::span<const store::TurnCommit> commits) {
  return each(
      "commit turns", commits, [&](auto reached) { return inner().commit_turns(request, reached); },
      [&](std::size_t i, const StoreResult<store::Committed>& answer) {
        guard_.witness().committed(request, commits[i], answer);
        if (answer) {
          for (const auto& locked : answer->handed_off) {
            if (locked && locked->session) guard_.session_witness().granted(request.worker, *locked->session);
          }
        }
        if (!guard_.tells()) return;
        const store::TurnCommit& commit = commits[i];
        std::string what = "instance " + to_string(commit.key) + ", execution " +
                           to_string(commit.execution) + ": consumed " +
                           std::to_string(commit.consumed.size()) + " messages, completed " +
                           std::to_string(commit.completed.size()) + ", scheduled " +
                           std::to_string(commit.activities.size());
        if (!commit.timers.empty()) what += ", timers " + std::to_string(commit.timers.size());
        if (!commit.starts.empty()) what += ", starts " + std::to_string(commit.starts.size());
        if (!commit.messages.empty()) what += ", sends " + std::to_string(commit.messages.size());
        if (!commit.cancelled.empty()) what += ", cancels " + std::to_string(commit.cancelled.size());
        if (std::holds_alternative<store::InstanceEnd>(commit.end)) what += ", ends";
        if (std::holds_alternative<store::NextExecution>(commit.end)) what += ", continues as new";
        if (commit.keep_lock) what += ", keeps the lock";
        what += answer ? "" : ": " + answer.error().message;
        guard_.tell(*this, "commit turns", what);
      });
}

std::vector<StoreResult<void>> FaultyStore::release_turns(std::span<const store::TurnRelease> releases) {
  return each(
      "release turns", releases, [&](auto reached) { return inner().release_turns(reached); },
      [&](std::size_t i, const StoreResult<void>& answer) {
        guard_.witness().released(releases[i], answer);
        if (guard_.tells())
          guard_.tell(*this, "release turns",
                      "instance " + to_string(releases[i].key) +
                          (releases[i].park ? ", parked: " + *releases[i].park : ""));
      });
}

std::vector<StoreResult<void>> FaultyStore::renew_turns(WorkerKey worker, Duration lease,
                                                        std::span<const store::TurnRenewal> turns) {
  return each(
      "renew turns", turns, [&](auto reached) { return inner().renew_turns(worker, lease, reached); },
      [&](std::size_t i, const StoreResult<void>& answer) {
        guard_.witness().renewed(lease, turns[i], answer);
      });
}

// ---- activities ---------------------------------------------------------------------------------

StoreResult<store::FetchedActivities> FaultyStore::fetch_activities(const store::ActivityRequest& request) {
  auto told = one(
      "fetch activities", [&] { return inner().fetch_activities(request); },
      [&](const StoreResult<store::FetchedActivities>& answer) {
        if (!answer) return;
        guard_.witness().check_given_back(request, unanswered_);
        guard_.witness().fetched(request, *answer);
        for (const store::LockedActivity& activity : answer->activities) {
          if (activity.session) guard_.session_witness().granted(request.worker, *activity.session);
        }
        if (!guard_.tells()) return;
        for (const store::LockedActivity& activity : answer->activities) {
          guard_.tell(*this, "fetch activities",
                      "got " + activity.name + " of '" + activity.instance + "' (event " +
                          to_string(activity.id.event) + ", attempt " + std::to_string(activity.attempt) +
                          ", delivery " + std::to_string(activity.delivery) + ")" +
                          (activity.session ? " on session '" + activity.session->hold.id + "'" : ""));
        }
      });
  note_answered(request.token, told.has_value());
  return told;
}

std::vector<StoreResult<void>> FaultyStore::finish_activities(
    std::span<const store::ActivityResult> results) {
  for (const store::ActivityResult& result : results) guard_.witness().answering(result);
  return each(
      "finish activities", results, [&](auto reached) { return inner().finish_activities(reached); },
      [&](std::size_t i, const StoreResult<void>& answer) {
        guard_.witness().finished(results[i], answer);
        if (guard_.tells())
          guard_.tell(*this, "finish activities",
                      "instance " + to_string(results[i].id.instance) + ", event " +
                          to_string(results[i].id.event) +
                          (std::holds_alternative<store::Retry>(results[i].result)     ? ", to be retried"
                           : std::holds_alternative<store::PutBack>(results[i].result) ? ", put back"
                                                                                       : ""));
      });
}

std::vector<StoreResult<void>> FaultyStore::renew_activities(
    WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) {
  return each(
      "renew activities", activities,
      [&](auto reached) { return inner().renew_activities(worker, lease, reached); },
      [&](std::size_t i, const StoreResult<void>& answer) {
        guard_.witness().renewed(lease, activities[i], answer);
      });
}

// ---- sessions -----------------------------------------------------------------------------------

StoreResult<store::Acquired> FaultyStore::acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                                          std::string_view id,
                                                          const store::SessionPolicy& policy) {
  return one(
      "acquire session", [&] { return inner().acquire_session(worker, abilities, id, policy); },
      [&](const StoreResult<store::Acquired>& answer) {
        if (answer) guard_.session_witness().acquired(worker, *answer);
      });
}
std::vector<StoreResult<void>> FaultyStore::renew_sessions(WorkerKey worker,
                                                           std::span<const store::SessionRenewal> holds) {
  return each(
      "renew sessions", holds, [&](auto reached) { return inner().renew_sessions(worker, reached); },
      [&](std::size_t i, const StoreResult<void>& answer) {
        guard_.session_witness().renewed(worker, holds[i], answer);
      });
}
std::vector<StoreResult<void>> FaultyStore::release_sessions(
    WorkerKey worker, std::span<const store::SessionRelease> releases) {
  return each(
      "release sessions", releases, [&](auto reached) { return inner().release_sessions(worker, reached); },
      [&](std::size_t i, const StoreResult<void>& answer) {
        guard_.session_witness().released(worker, releases[i], answer);
        if (guard_.tells()) {
          guard_.tell(*this, "release sessions",
                      "'" + releases[i].hold.id + "' (" + std::string(to_string(releases[i].reason)) + ")" +
                          (answer ? "" : ": " + answer.error().message));
        }
      });
}
StoreResult<store::WishAnswer> FaultyStore::ask_for_session(std::string_view id,
                                                            const store::SessionWish& wish) {
  return one(
      "ask for session", [&] { return inner().ask_for_session(id, wish); },
      [&](const StoreResult<store::WishAnswer>& answer) {
        if (answer) guard_.session_witness().asked_for(std::string(id));
      });
}

// ---- clients ------------------------------------------------------------------------------------

std::vector<StoreResult<store::StartAnswer>> FaultyStore::start(
    std::span<const store::StartRequest> requests) {
  return each(
      "start", requests, [&](auto reached) { return inner().start(reached); },
      [&](std::size_t i, const StoreResult<store::StartAnswer>& answer) {
        guard_.witness().started(requests[i], answer);
        if (guard_.tells()) guard_.tell(*this, "start", "'" + requests[i].instance + "'");
      });
}
std::vector<StoreResult<InstanceKey>> FaultyStore::send(std::span<const store::ClientMessage> messages) {
  return each(
      "send", messages, [&](auto reached) { return inner().send(reached); },
      [&](std::size_t i, const StoreResult<InstanceKey>& /*answer*/) {
        if (guard_.tells()) guard_.tell(*this, "send", "to '" + messages[i].instance + "'");
      });
}
std::vector<StoreResult<InstanceKey>> FaultyStore::set_suspended(std::span<const store::Suspension> wishes) {
  return each(
      "set suspended", wishes, [&](auto reached) { return inner().set_suspended(reached); },
      [&](std::size_t i, const StoreResult<InstanceKey>& answer) {
        if (answer) guard_.witness().set_suspended(wishes[i], *answer);
      });
}
std::vector<StoreResult<void>> FaultyStore::delete_instances(std::span<const store::Deletion> deletions) {
  std::map<std::string, InstanceKey> keys;
  return each(
      "delete instances", deletions,
      [&](auto reached) {
        for (const store::Deletion& deletion : reached) {
          if (const auto found = inner().find(deletion.instance)) keys[deletion.instance] = found->key;
        }
        return inner().delete_instances(reached);
      },
      [&](std::size_t i, const StoreResult<void>& answer) {
        if (answer) guard_.witness().deleted(keys[deletions[i].instance]);
      });
}

// ---- keeping order ------------------------------------------------------------------------------

// What a sweep has seen counts for as long as nothing comes between it and the store. The store below does
// not hear of what goes wrong up here, so a sweep to which that happens does not happen.
StoreResult<store::Swept> FaultyStore::sweep(const store::SweepRequest& request) {
  ++calls_;
  guard_.around(*this);
  if (cut_off_ || guard_.choose(*this) != Fault::none) {
    guard_.tell(*this, "sweep", "not reached");
    return Unexpected(unavailable("sweep", "nothing happened"));
  }
  auto swept = inner().sweep(request);
  if (guard_.tells()) guard_.tell(*this, "sweep", outcome(swept));
  guard_.around(*this);
  if (cut_off_) return Unexpected(unavailable("sweep", "the answer was lost"));
  return swept;
}

}  // namespace holdfast::simulator
