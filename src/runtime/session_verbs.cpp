// The verbs by which a worker takes, keeps and ends sessions without any work for them.
#include "client/core.hpp"
#include "runtime/outgoing.hpp"
#include "runtime/worker.hpp"

#include <stdexcept>
#include <string>

namespace holdfast::runtime {
namespace {

SessionOutcome to_outcome(store::Acquired::Kind kind) {
  using Kind = store::Acquired::Kind;
  switch (kind) {
    case Kind::created:
      return SessionOutcome::created;
    case Kind::reused:
      return SessionOutcome::reused;
    case Kind::reacquired:
      return SessionOutcome::reacquired;
    case Kind::closed:
      return SessionOutcome::closed;
    case Kind::missing:
      return SessionOutcome::missing;
    case Kind::owned_by_another:
      return SessionOutcome::owned_by_another;
    case Kind::requirements_not_met:
      return SessionOutcome::requirements_not_met;
    case Kind::limit_exceeded:
      return SessionOutcome::limit_exceeded;
    case Kind::reacquire_not_allowed:
      return SessionOutcome::reacquire_not_allowed;
  }
  return SessionOutcome::missing;
}

[[noreturn]] void refuse(std::string_view what, const StoreError& error) {
  throw ClientError(ClientError::Kind::unavailable, std::string(what) + ": " + error.message);
}

}  // namespace

SessionAcquired Worker::acquire_session(const detail::SessionSettings& settings) {
  store::SessionPolicy policy = policy_of(settings);
  policy.on_record = true;
  if (const auto problem = problem_of(policy, settings_.options.activity_lease))
    throw std::invalid_argument("holdfast: session '" + settings.id + "': " + *problem);
  const InProgress in_progress(bringing_work_);
  const SessionDesk::Wish wish(sessions_, settings.id);
  const BootTime asked = settings_.now();
  const WorkerKey key = standing_.key();
  auto acquired = settings_.store->acquire_session(key, settings_.abilities, settings.id, policy);
  if (!acquired) {
    standing_.note(acquired.error(), key);
    refuse("session '" + settings.id + "' could not be acquired", acquired.error());
  }
  SessionAcquired answer{to_outcome(acquired->kind), detail::to_info(acquired->session)};
  if (answer.held()) sessions_.acquired(*acquired, asked);
  return answer;
}

SessionOutcome Worker::renew_session(std::string_view id) {
  const SessionDesk::Wish wish(sessions_, id);
  const std::optional<store::SessionHold> hold = sessions_.find(id);
  const BootTime asked = settings_.now();
  if (hold) {
    const store::SessionRenewal renewal{.hold = *hold};
    const auto answer = settings_.store->renew_sessions(standing_.key(), {&renewal, 1}).front();
    if (answer) {
      sessions_.renewed_by_request(*hold, asked);
      return SessionOutcome::reused;
    }
    if (answer.error().kind == StoreError::Kind::gone) return SessionOutcome::closed;
    if (answer.error().kind != StoreError::Kind::lost)
      refuse("session '" + hold->id + "' could not be renewed", answer.error());
  }
  const auto view = settings_.store->session(id, store::Saved::size);
  if (!view && view.error().kind == StoreError::Kind::not_found) return SessionOutcome::missing;
  if (!view) refuse("session '" + std::string(id) + "' could not be renewed", view.error());
  switch (view->state) {
    case store::SessionStatus::active:
      return SessionOutcome::owned_by_another;
    case store::SessionStatus::unclaimed:
    case store::SessionStatus::lapsed:
      return SessionOutcome::missing;  // nobody holds it: what is not held can't be renewed, only acquired
    case store::SessionStatus::expired:
    case store::SessionStatus::closed:
    case store::SessionStatus::failed:
      break;
  }
  return SessionOutcome::closed;
}

SessionOutcome Worker::close_session(std::string_view id) {
  const std::optional<store::SessionHold> hold = sessions_.find(id);
  const auto closed = settings_.store->close_session(id, store::SessionReason::closed_by_code);
  if (!closed && closed.error().kind == StoreError::Kind::not_found) return SessionOutcome::missing;
  if (!closed) refuse("session '" + std::string(id) + "' could not be closed", closed.error());
  if (hold) sessions_.left(*hold, store::SessionReason::closed_by_code);
  return *closed ? SessionOutcome::closed : SessionOutcome::already_closed;
}

}  // namespace holdfast::runtime
