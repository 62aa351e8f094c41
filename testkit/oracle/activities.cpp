// Activities that are locked: answered, renewed, cancelled.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::testing::oracle {

using store::MessageKind;
using WhenLost = store::SessionPolicy::WhenLost;

namespace {

bool blames_session(CancelReason reason) {
  switch (reason) {
    case CancelReason::session_lost:
    case CancelReason::session_closed:
    case CancelReason::session_expired:
    case CancelReason::session_aborted:
    case CancelReason::requirements_not_met:
    case CancelReason::no_session_capacity:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<StoreResult<void>> Oracle::finish_activities(std::span<const store::ActivityResult> results) {
  std::vector<StoreResult<void>> answers;
  for (const store::ActivityResult& result : results) answers.push_back(finish(result));
  return answers;
}

// `gone` when the row was deleted (the reason is known for as long as the cancel record is), `lost` when it
// is locked by another token.
StoreError Oracle::refusal(const store::ActivityId& id, LockToken token) const {
  if (find_activity(id) != nullptr) return {.kind = StoreError::Kind::lost};
  StoreError gone{.kind = StoreError::Kind::gone};
  for (const Cancel& cancel : rows().cancels) {
    if (cancel.id == id && cancel.token == token) gone.reason = cancel.reason;
  }
  return gone;
}

StoreResult<void> Oracle::finish(const store::ActivityResult& result) const {
  Activity* const row = find_activity(result.id);
  if (row == nullptr || row->token.empty() || row->token != result.token) {
    return Unexpected(refusal(result.id, result.token));
  }
  if (result.save && result.save->required && refuses_save(*row)) {
    return error(Kind::lost);
  }
  if (result.progress) row->progress = *result.progress;
  const Activity ran = *row;
  // In a session with a concurrency limit it counts as running, by a cancel record.
  if (result.still_runs && !limited_session(ran).empty()) {
    leave_record(ran, CancelReason::attempt_timeout, CancelState::abandoned);
  }
  if (const auto* const finished = std::get_if<store::Finished>(&result.result)) {
    remove(ran.id);
    deliver(*find_instance(ran.id.instance), {.kind = MessageKind::outcome,
                                              .execution = ran.id.execution,
                                              .source = ran.id.event,
                                              .body = finished->body});
  } else if (const auto* const retry = std::get_if<store::Retry>(&result.result)) {
    row->last_failure = retry->failure;
    ++row->attempt;
    row->delivery = 0;
    queue(*row, retry->delay);
  } else if (const auto* const put_back = std::get_if<store::PutBack>(&result.result)) {
    if (row->delivery > 0) --row->delivery;
    queue(*row, put_back->delay);
  } else if (const auto* const aside = std::get_if<store::SetAside>(&result.result)) {
    set_row_aside(ran.id.instance,
                  "activity " + to_string(ran.id.instance) + "/" + to_string(ran.id.execution) + "/" +
                      to_string(ran.id.event) + " (" + ran.name + ")",
                  aside->problem, ran.body);
    remove(ran.id);
    tell_taken(ran, CancelReason::unreadable);
  }
  save_and_abort(ran, result.save, result.abort_session);
  return {};
}

std::vector<store::ActivityId> Oracle::ids_of(const std::function<bool(const Activity&)>& wanted) const {
  std::vector<store::ActivityId> ids;
  for (const Activity& activity : rows().activities) {
    if (wanted(activity)) ids.push_back(activity.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void Oracle::remove(store::ActivityId id) const {
  std::erase_if(rows().activities, [&](const Activity& activity) { return activity.id == id; });
}

// It counts only while the activity's worker holds the session in the generation that the activity ran in, or
// once that session has ended, also when its id has begun anew since.
bool Oracle::refuses_save(const Activity& activity) const {
  const Session* const session = find_session(activity.session);
  if (session == nullptr || session->ended || activity.session_over) return false;
  return session->generation != activity.generation || session->worker != activity.worker;
}

// Saved with it, if the generation is still current; an activity of the current generation may abort.
void Oracle::save_and_abort(const Activity& activity, const std::optional<store::SessionSave>& save,
                            const std::optional<std::string>& abort) const {
  if (!save && !abort) return;
  Session* const session = live_session(activity.session);
  if (session == nullptr || activity.session_over) return;
  if (session->generation != activity.generation || session->worker != activity.worker) return;
  if (save) {
    save_state(*session, *save);
  }
  if (abort) end_session(*session, store::SessionStatus::failed, store::SessionReason::aborted, *abort);
}

// Later attempts of a session that has ended fail.
void Oracle::queue(Activity& activity, Duration delay) const {
  activity.worker = {};
  activity.token = {};
  activity.lease_until = {};
  activity.due = later(delay);
  if (activity.session_over) {
    take(activity.id, *activity.session_over);
  } else {
    live_session(activity.session);  // its end is the end of the activity
  }
}

std::vector<StoreResult<void>> Oracle::renew_activities(WorkerKey worker, Duration lease,
                                                        std::span<const store::ActivityRenewal> activities) {
  const auto refused = refusal_to_keep(worker);
  std::vector<StoreResult<void>> answers;
  for (const store::ActivityRenewal& renewal : activities) {
    if (refused) {
      answers.emplace_back(Unexpected(*refused));
      continue;
    }
    Activity* const row = find_activity(renewal.id);
    if (row == nullptr || row->token.empty() || row->token != renewal.token) {
      answers.emplace_back(Unexpected(refusal(renewal.id, renewal.token)));
      continue;
    }
    // A lease that was over begins again; one whose session has reached its limit with others is lost.
    Session* const session = row->session.empty() ? nullptr : find_session(row->session);
    if (session != nullptr && !is_running(*row) && !has_room(*session, row)) {
      answers.emplace_back(error(Kind::lost));
      continue;
    }
    row->lease_until = later(lease);
    if (renewal.progress) row->progress = *renewal.progress;
    // An activity of a session's current generation also extends the lease of the session: under `reclaim`
    // not one that is over.
    const bool current = session != nullptr && !session->ended && session->worker == row->worker &&
                         session->generation == row->generation;
    if (current && (is_held(*session) || session->policy.when_lost == WhenLost::fail)) {
      extend(*session);
      session->last_activity = now();
    }
    answers.emplace_back();
  }
  return answers;
}

// Cancelling an activity is deleting its row. If it was running, a cancel record is left.
void Oracle::cancel(store::ActivityId id, CancelReason reason) const {
  const Activity* const row = find_activity(id);
  if (row == nullptr) return;
  if (!row->token.empty()) leave_record(*row, reason, CancelState::requested);
  remove(id);
}

void Oracle::leave_record(const Activity& activity, CancelReason reason, CancelState state) const {
  std::erase_if(rows().cancels, [&](const Cancel& cancel) {
    return cancel.id == activity.id && cancel.token == activity.token;
  });
  rows().cancels.push_back({.id = activity.id,
                            .token = activity.token,
                            .name = activity.name,
                            .session = limited_session(activity),
                            .reason = reason,
                            .state = state,
                            .worker = activity.worker,
                            .at = now(),
                            .lease_until = activity.lease_until});
}

std::string Oracle::limited_session(const Activity& activity) const {
  const Session* const session = find_session(activity.session);
  return session != nullptr && session->policy.max_concurrent > 0 ? session->id : "";
}

void Oracle::take(store::ActivityId id, CancelReason reason) const {
  const Activity taken = *find_activity(id);
  tell_taken(taken, reason);
  cancel(id, reason);
}

void Oracle::tell_taken(const Activity& activity, CancelReason reason) const {
  Instance* const instance = find_instance(activity.id.instance);
  if (instance == nullptr) return;
  // Attempts begun so far.
  const std::uint32_t begun = activity.delivery > 0 ? activity.attempt : activity.attempt - 1;
  store::ActivityTaken taken{.reason = reason, .last_failure = activity.last_failure, .attempt = begun};
  if (blames_session(reason)) {
    taken.session = activity.session;
    const Session* const session = find_session(activity.session);
    if (session != nullptr && session->ended) {
      taken.owner = session->owner;
      taken.session_reason = session->reason;
      taken.note = session->note;
    }
  }
  deliver(*instance, {.kind = MessageKind::taken,
                      .execution = activity.id.execution,
                      .source = activity.id.event,
                      .body = std::move(taken)});
}

store::CancelRecord Oracle::record_of(const Cancel& cancel) const {
  return {.id = cancel.id,
          .token = cancel.token,
          .name = cancel.name,
          .reason = cancel.reason,
          .state = cancel.state,
          .owner = node_of(cancel.worker),
          .age = now() - cancel.at};
}

StoreResult<std::vector<store::CancelRecord>> Oracle::cancel_records(WorkerKey worker) {
  std::vector<store::CancelRecord> records;
  for (const Cancel& cancel : rows().cancels) {
    if (cancel.worker == worker && cancel.state == CancelState::requested)
      records.push_back(record_of(cancel));
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return records;
}

StoreResult<void> Oracle::acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) {
  for (const store::CancelAcknowledgement& acknowledged : cancels) {
    for (Cancel& cancel : rows().cancels) {
      if (cancel.id != acknowledged.id || cancel.token != acknowledged.token) continue;
      // An acknowledged record stays so.
      if (cancel.state != store::CancelRecord::State::acknowledged) cancel.state = acknowledged.state;
    }
  }
  return {};
}

}  // namespace holdfast::testing::oracle
