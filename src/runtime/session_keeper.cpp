#include "runtime/session_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::runtime {

using store::SessionReason;

namespace {

using namespace std::chrono_literals;

// While this worker drains, how often it looks whether a session that it can't hand over has been closed.
constexpr Duration kDrainLook = 100ms;
// How long until a renewal is tried again that was refused, and neither for its session nor for the store.
constexpr Duration kRefusedPause = 1s;
// How often it looks at sessions whose leases are over, and at how many of them: those that it holds must not
// wait for long meanwhile.
constexpr Duration kLapsedLook = 1s;
constexpr Duration kNextLapsedLook = 100ms;
constexpr std::size_t kLapsedAtOnce = 32;

SessionReason reason_of(CancelReason reason) {
  switch (reason) {
    case CancelReason::session_closed:
      return SessionReason::closed_by_code;
    case CancelReason::session_expired:
      return SessionReason::ttl;
    case CancelReason::session_aborted:
      return SessionReason::aborted;
    default:
      return SessionReason::owner_lost;
  }
}

}  // namespace

SessionKeeper::Done SessionKeeper::step() {
  Done done{.fetch = std::exchange(fetch_, false)};
  if (sessions_.size() == 0) return done;
  const BootTime now = settings_.now();
  const bool draining = !standing_.accepts();
  const auto renewal_due = [&] {
    const BootTime due = sessions_.renewal_due();
    return draining ? std::min(due, after(last_renewal_, kDrainLook)) : due;
  };
  if (now >= renewal_due()) renew(now);
  sessions_.note_overdue();
  if (now >= look_due_) look_after_lapsed(now);
  if (giving_up_ && now >= fail_due_) fail_unmovable(SessionDesk::Which::refused);
  sessions_.choose_leavers(draining);
  release();
  const bool fetch = std::exchange(fetch_, false) || done.fetch;
  done.fetch = draining ? sessions_.has_unmovable() : fetch;
  if (sessions_.size() == 0) return done;
  done.next_due = std::min({renewal_due(), look_due_, sessions_.next_due()});
  if (fail_due_ > now) done.next_due = std::min(done.next_due, fail_due_);
  return done;
}

// When those are asked for again that the store did not answer for. However many they are, the pause grows
// once: it is one call that failed. The others don't wait with them.
BootTime SessionKeeper::retry_time(StoreTrouble& trouble, std::string_view what, const Answers& answers) {
  const StoreError* unanswered = nullptr;
  for (const StoreResult<void>& answer : answers) {
    if (answer) continue;
    standing_.note(answer.error(), standing_.key());
    settings_.note_damage(what, answer.error());
    if (may_pass(answer.error())) unanswered = &answer.error();
  }
  if (unanswered != nullptr) return trouble.failed(what, *unanswered);
  trouble.worked();
  return kLongAgo;
}

// When the store does not answer, the next renewal asks again.
void SessionKeeper::look_for_wanted() {
  if (sessions_.size() == 0) return;
  const WorkerKey key = standing_.key();
  const auto wanted = settings_.store->wanted_sessions(key);
  if (!wanted) {
    if (may_pass(wanted.error())) others_.failed("read which sessions are asked for", wanted.error());
    return;
  }
  std::vector<store::SessionHold> asked_for;
  std::vector<store::SessionHold> ended;
  for (const store::WantedSession& session : *wanted) {
    (session.ended ? ended : asked_for).push_back(session.hold);
    if (session.ended) sessions_.left(session.hold, *session.ended);
  }
  sessions_.want_back(asked_for);
  if (ended.empty()) return;
  fetch_ = true;
  const auto answer = settings_.store->acknowledge_ends(key, ended);
  if (!answer && may_pass(answer.error())) others_.failed("acknowledge ends of sessions", answer.error());
}

// What became of a session that this worker has no more, as its log tells.
SessionReason SessionKeeper::why_left(const store::SessionHold& hold, SessionReason otherwise) {
  constexpr std::size_t kAtOnce = 500;
  for (std::uint64_t after = 0;;) {
    const auto page = settings_.store->session_log(hold.id, after, kAtOnce);
    if (!page) return otherwise;
    for (const store::SessionLogEntry& entry : *page) {
      if (entry.generation == hold.generation && entry.owner.empty()) return entry.reason;
      if (entry.generation > hold.generation) return SessionReason::lapsed;
      after = entry.number;
    }
    if (page->size() < kAtOnce) return otherwise;
  }
}

// One call for all of them. A store that doesn't answer is asked again, also when the leases are over:
// whether they are is for the store to say.
void SessionKeeper::renew(BootTime now) {
  const std::vector<store::SessionRenewal> renewals = sessions_.renewals();
  last_renewal_ = now;
  if (renewals.empty()) return;
  const Answers answers = settings_.store->renew_sessions(standing_.key(), renewals);
  const BootTime retry_at = retry_time(renewing_, "renew sessions", answers);
  std::size_t count = 0;
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    const store::SessionHold& hold = renewals[i].hold;
    if (answers[i]) {
      sessions_.renewed(hold, now);
      ++count;
      continue;
    }
    const StoreError& error = answers[i].error();
    if (may_pass(error)) {
      sessions_.not_renewed(hold, retry_at);
    } else if (error.kind == StoreError::Kind::gone) {
      sessions_.left(hold, why_left(hold, reason_of(error.reason)));
      fetch_ = true;
    } else if (error.kind == StoreError::Kind::lost) {
      sessions_.lapsed(hold);
      look_due_ = kLongAgo;
    } else {
      sessions_.not_renewed(hold, after(now, kRefusedPause));  // it is not about the session
    }
  }
  log(*settings_.logger, LogLevel::debug, "sessions renewed", {{"count", count}, {"of", renewals.size()}});
  if (count > 0) look_for_wanted();  // the news of it may get lost
}

// A session whose lease is over stays in memory for as long as nobody else has claimed it; and this worker
// does not wait for work of it to claim it again. So it keeps what it has in memory, or saves it when the
// session becomes idle.
void SessionKeeper::look_after_lapsed(BootTime now) {
  const std::vector<store::SessionHold> lapsed = sessions_.lapsed_ones(kLapsedAtOnce);
  const Duration pause = lapsed.size() < kLapsedAtOnce ? kLapsedLook : kNextLapsedLook;
  look_due_ = lapsed.empty() ? BootTime::max() : after(now, pause);
  for (const store::SessionHold& hold : lapsed) {
    if (!look_after(hold)) return;
  }
}

// False when the store does not answer.
bool SessionKeeper::look_after(const store::SessionHold& hold) {
  const BootTime asked = settings_.now();
  const auto view = settings_.store->session(hold.id, store::Saved::size);
  if (!view && may_pass(view.error())) {
    look_due_ = others_.failed("read a session", view.error());
    return false;
  }
  others_.worked();
  using State = store::SessionStatus;
  const bool mine =
      view && view->worker.value == standing_.key().value && view->held_since <= hold.generation;
  if (mine && view->state == State::active) {
    // Claimed by a call whose answer is on its way, or was lost.
    sessions_.held_again(hold, *view, asked);
    fetch_ = true;
  } else if (mine && view->state == State::lapsed && standing_.accepts()) {
    return claim_again(hold);
  } else {
    sessions_.left(hold, why_left(hold, SessionReason::lapsed));
    fetch_ = true;
  }
  return true;
}

// Where there is no room for it any more it waits for its next activity. False when the store does not
// answer.
bool SessionKeeper::claim_again(const store::SessionHold& hold) {
  const BootTime asked = settings_.now();
  const WorkerKey key = standing_.key();
  const auto answer =
      settings_.store->acquire_session(key, settings_.abilities, hold.id, {.create_if_missing = false});
  if (!answer) {
    standing_.note(answer.error(), key);
    settings_.note_damage("claim a session again", answer.error());
    if (!may_pass(answer.error())) return true;
    look_due_ = claiming_.failed("claim a session again", answer.error());
    return false;
  }
  claiming_.worked();
  using Kind = store::Acquired::Kind;
  if (answer->kind == Kind::reacquired || answer->kind == Kind::reused) {
    sessions_.held_again(hold, answer->session, asked);
    fetch_ = true;
  }
  return true;
}

void SessionKeeper::release() {
  const std::vector<store::SessionRelease> releases = sessions_.releases();
  if (releases.empty()) return;
  const Answers answers = settings_.store->release_sessions(standing_.key(), releases);
  const BootTime retry_at = retry_time(releasing_, "release sessions", answers);
  for (std::size_t i = 0; i < releases.size(); ++i) {
    const store::SessionHold& hold = releases[i].hold;
    if (answers[i]) {
      sessions_.left(hold, releases[i].reason);
      fetch_ = true;
      continue;
    }
    const StoreError& error = answers[i].error();
    if (may_pass(error)) {
      sessions_.not_released(hold, retry_at);
    } else if (error.kind == StoreError::Kind::conflict) {
      sessions_.stays(hold, error.message);
      if (releases[i].reason == SessionReason::displaced) fetch_ = true;  // it says whether one still waits
    } else if (error.kind == StoreError::Kind::gone) {
      sessions_.left(hold, why_left(hold, reason_of(error.reason)));
      fetch_ = true;
    } else {
      sessions_.lapsed(hold);
      look_due_ = kLongAgo;
    }
  }
}

void SessionKeeper::fail_unmovable(SessionDesk::Which which) {
  for (const store::SessionHold& hold : sessions_.unmovable(which)) {
    const auto answer = settings_.store->fail_session(standing_.key(), hold, SessionReason::drain_deadline);
    fail_due_ = retry_time(others_, "give up a session", {answer});
    if (fail_due_ != kLongAgo) return;
    sessions_.left(hold, SessionReason::drain_deadline);
  }
}

// What has states to save had its time before. What stays is left as its next owner will find it.
std::size_t SessionKeeper::release_all() {
  sessions_.choose_leavers(true);
  release();
  fail_unmovable(SessionDesk::Which::all);
  const std::size_t stay = sessions_.size();
  sessions_.all_left(SessionReason::lapsed);
  return stay;
}

}  // namespace holdfast::runtime
