#include "runtime/keep.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::runtime {

using namespace std::chrono_literals;

Progress KeepStep::step() {
  const BootTime now = settings_.now();
  waker_.keep_due().begin();
  retry_due_ = BootTime::max();
  renew();
  if (parked_wait_) wake_parked();
  if (cancels_wanted_.exchange(false)) look_for_cancels();
  if (refresh_wanted_.exchange(false) || now >= refresh_due_) refresh();  // before sessions: it may drain
  const BootTime sessions_due = keep_sessions();
  acknowledge();
  release_turns();
  release_idle(settings_.options.hold_instances);
  cache_.evict_idle(settings_.options.cache_idle);
  if (sweep_wanted_.exchange(false) || now >= sweep_due_) sweep();
  settings_.logger->tell_left_out();
  const BootTime due =
      std::min({retry_due_, activities_due_, turns_due_, sessions_due, refresh_due_, sweep_due_,
                cache_.next_due(settings_.options.hold_instances, settings_.options.cache_idle)});
  return {false, waker_.keep_due().end(due)};
}

bool KeepStep::failed(std::string_view what, const StoreError& error) {
  standing_.note(error, standing_.key());  // only this step joins again
  settings_.note_damage(what, error);
  if (!may_pass(error)) return false;
  retry_due_ = std::min(retry_due_, trouble_.failed(what, error));
  return true;
}

// Renewals are due a third of the lease after something was locked.
void KeepStep::renew() {
  const BootTime now = settings_.now();
  if (desk_.in_hand() == 0) {
    activities_due_ = BootTime::max();
  } else if (activities_due_ == BootTime::max()) {
    activities_due_ = after(now, settings_.options.activity_lease / 3);
  } else if (now >= activities_due_) {
    renew_activities(now);
  }
  if (cache_.held_count() == 0) {
    turns_due_ = BootTime::max();
  } else if (turns_due_ == BootTime::max()) {
    turns_due_ = after(now, settings_.options.instance_lease / 3);
  } else if (now >= turns_due_) {
    renew_turns();
  }
}

// Only `gone` and `lost` mean that a lock is gone. A store that doesn't answer is asked again, also when the
// lease is over: nobody else may have wanted it.
void KeepStep::renew_activities(BootTime asked) {
  const std::vector<store::ActivityRenewal> renewals = desk_.renewals();
  activities_due_ = after(asked, settings_.options.activity_lease / 3);
  if (renewals.empty()) return;
  const auto answers =
      settings_.store->renew_activities(standing_.key(), settings_.options.activity_lease, renewals);
  std::vector<store::ActivityRenewal> kept;
  std::vector<std::pair<const store::ActivityRenewal*, CancelReason>> taken;
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    if (answers[i]) {
      kept.push_back(renewals[i]);
      continue;
    }
    const StoreError& error = answers[i].error();
    if (failed("renew activities", error)) {
      desk_.give_back_progress(renewals[i]);
      activities_due_ = retry_due_;
    } else if (error.kind == StoreError::Kind::gone || error.kind == StoreError::Kind::lost) {
      const bool gone = error.kind == StoreError::Kind::gone;
      taken.emplace_back(&renewals[i], gone ? error.reason : CancelReason::lease_lost);
    }
  }
  desk_.renewed(kept, asked);
  if (!taken.empty()) look_for_cancels();  // the news of it was lost; its record knows since when
  for (const auto& [renewal, reason] : taken)
    desk_.cancel(renewal->id, renewal->token, why_gone(*renewal, reason), std::nullopt);
}

// The store says `dropped` also when the record of why it took an activity away went with its lease: this
// worker was stopped for long. What became of the activity's session is still known then.
CancelReason KeepStep::why_gone(const store::ActivityRenewal& renewal, CancelReason said) {
  if (said != CancelReason::dropped) return said;
  const std::optional<store::SessionGrant> session = desk_.session_of(renewal.id, renewal.token);
  if (!session) return said;
  const auto view = settings_.store->session(session->hold.id, store::Saved::size);
  if (!view && view.error().kind != StoreError::Kind::not_found) return said;
  if (view && view->generation == session->hold.generation) {
    switch (view->state) {
      case store::SessionStatus::closed:
        return CancelReason::session_closed;
      case store::SessionStatus::expired:
        return CancelReason::session_expired;
      case store::SessionStatus::failed:
        return view->reason == store::SessionReason::aborted ? CancelReason::session_aborted
                                                             : CancelReason::session_lost;
      default:
        return said;
    }
  }
  // Nobody else may claim such a session: it has ended, and was opened again or swept away since.
  const bool fails = session->when_lost == store::SessionPolicy::WhenLost::fail;
  return fails ? CancelReason::session_lost : said;
}

void KeepStep::renew_turns() {
  const std::vector<store::TurnRenewal> renewals = cache_.locks();
  turns_due_ = after(settings_.now(), settings_.options.instance_lease / 3);
  if (renewals.empty()) return;
  const auto answers =
      settings_.store->renew_turns(standing_.key(), settings_.options.instance_lease, renewals);
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    if (answers[i]) continue;
    if (failed("renew turns", answers[i].error())) {
      turns_due_ = retry_due_;
    } else {
      cache_.lost(renewals[i].key, renewals[i].token);
    }
  }
}

void KeepStep::release_idle(Duration hold) {
  const std::vector<store::TurnRelease> releases = cache_.release_idle(hold);
  if (releases.empty()) return;
  const auto answers = settings_.store->release_turns(releases);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i] && failed("release turns", answers[i].error())) outbox_.release_again(releases[i]);
  }
}

KeepStep::Kept KeepStep::release_all() {
  release_turns();
  release_idle(Duration::zero());
  const std::size_t sessions = sessions_.release_all();
  return {.instances = outbox_.take_releases().size(), .sessions = sessions};
}

BootTime KeepStep::keep_sessions() {
  const SessionKeeper::Done done = sessions_.step();
  if (done.fetch) {
    fetch_.want();
    waker_.poke(Step::activities);
  }
  return done.next_due;
}

void KeepStep::release_turns() {
  const std::vector<store::TurnRelease> releases = outbox_.take_releases();
  if (releases.empty()) return;
  const auto answers = settings_.store->release_turns(releases);
  for (std::size_t i = 0; i < releases.size(); ++i) {
    if (answers[i]) {
      turns_.want();
      waker_.poke(Step::turns);
    } else if (failed("release turns", answers[i].error())) {
      outbox_.release_again(releases[i]);
    }
  }
}

// Code that could not go on may be another by now.
void KeepStep::wake_parked() {
  const auto woken = settings_.store->wake_parked(settings_.code);
  if (!woken) {
    failed("wake parked", woken.error());
    return;
  }
  parked_wait_ = false;
  if (*woken == 0) return;
  log(*settings_.logger, LogLevel::info, "parked instances are tried again", {{"count", *woken}});
}

void KeepStep::look_for_cancels() {
  const BootTime asked = settings_.now();
  const auto records = settings_.store->cancel_records(standing_.key());
  if (!records) {
    if (failed("read cancels", records.error())) want_cancels();
    return;
  }
  for (const store::CancelRecord& record : *records)
    desk_.cancel(record.id, record.token, record.reason, asked - record.age);
  sessions_.look_for_wanted();  // whoever asks for one tells it in the same way
}

void KeepStep::acknowledge() {
  const std::vector<store::CancelAcknowledgement> list = outbox_.take_acknowledgements();
  if (list.empty()) return;
  // For people who look, and for sessions that have a limit: when it is lost, the record goes with its lease.
  if (const auto answer = settings_.store->acknowledge_cancels(list); !answer)
    failed("acknowledge", answer.error());
}

// False when the store has not heard of it.
bool KeepStep::refresh() {
  const BootTime asked = settings_.now();
  refresh_due_ = after(asked, settings_.options.worker_stale_after / 4);
  const auto answer = settings_.store->refresh(standing_.key(), !standing_.accepts());
  if (answer) {
    trouble_.worked();
    standing_.heard_at(asked);
    builds_.warn_about_patches();
    return true;
  }
  if (failed("refresh", answer.error())) refresh_due_ = retry_due_;
  return false;
}

void KeepStep::sweep() {
  const BootTime asked = settings_.now();
  // Whoever has not been heard of for long may be the first that a sweep takes for gone.
  const BootTime known_well_until = standing_.known_well_until();
  if (asked >= known_well_until && !refresh()) {
    sweep_due_ = std::min(refresh_due_, after(asked, 1s));
    return;
  }
  const auto swept =
      settings_.store->sweep({.worker = standing_.key(),
                              .worker_stale_after = settings_.options.worker_stale_after,
                              .session_state_retention = settings_.options.session_state_retention,
                              .session_record_retention = settings_.options.session_record_retention,
                              .session_log_retention = settings_.options.session_log_retention,
                              .request_retention = settings_.options.request_retention});
  if (!swept) {
    sweep_due_ = after(asked, 1s);
    failed("sweep", swept.error());
    return;
  }
  trouble_.worked();
  // News that something is due earlier may get lost.
  sweep_due_ = after(asked, std::min(swept->next_due, settings_.options.worker_stale_after / 4));
  if (swept->workers_removed > 0) {
    log(*settings_.logger, LogLevel::warn,
        "workers gave no sign of life and are taken for gone; others have their work when its leases are "
        "over",
        {{"count", swept->workers_removed}});
  }
  if (swept->activities_timed_out > 0) {
    log(*settings_.logger, LogLevel::info, "activities were not started in time",
        {{"count", swept->activities_timed_out}});
  }
  settings_.counters.sessions_swept_expired.add(swept->sessions_expired);
  settings_.counters.sessions_swept_lost.add(swept->sessions_lost);
  settings_.counters.sessions_swept_removed.add(swept->sessions_removed);
  if (swept->sessions_expired + swept->sessions_lost + swept->sessions_removed > 0) {
    log(*settings_.logger, LogLevel::info, "sessions were swept",
        {{"expired", swept->sessions_expired},
         {"lost", swept->sessions_lost},
         {"removed", swept->sessions_removed}});
  }
}

}  // namespace holdfast::runtime
