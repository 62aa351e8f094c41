#include "runtime/turn_settling.hpp"

#include "runtime/turn_lines.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;

// A parked instance that is asked to end is ready all the same; its code is tried again after this.
constexpr Duration kParkedPause = 10s;

}  // namespace

void TurnSettling::settle(PreparedTurn& turn, store::TurnCommit& commit,
                          StoreResult<store::Committed>&& answer, BootTime asked) {
  if (!answer) {
    desk_.unreserve(turn.hand_offs);
    desk_.stop_expecting(commit.activity_token);
    if (answer.error().kind == StoreError::Kind::unavailable) desk_.give_back_doubtful(commit);
    return give_up(turn, answer.error());
  }
  trouble_.worked();
  settings_.counters.turns.add();
  say_committed(settings_, turn, commit, *answer);
  CachedInstance& instance = *turn.taken.instance;
  locked_out_.committed(instance.key);
  fetch_.clear_suspect(instance.key);
  instance.stamp = commit.stamp;
  instance.build = settings_.options.build;
  instance.delivery = 0;
  if (commit.version) instance.code.version = *commit.version;
  if (commit.waits) instance.waits = std::move(*commit.waits);
  begin_handed_off(turn, commit, *answer, asked);
  desk_.recorded(turn.taken.done);
  turn.taken.done.clear();
  if (answer->ready) fetch_.want();

  const bool ended = std::holds_alternative<store::InstanceEnd>(commit.end) || has_ended(instance.status);
  if (ended) return cache_.drop(turn.taken);
  if (const auto* next = std::get_if<store::NextExecution>(&commit.end)) {
    cache_.begin_execution(instance, next->version);
    fetch_.want();
  }
  if (turn.forget) {
    instance.frame.reset();
    instance.given = {};
    fetch_.want();
  }
  cache_.put_back(turn.taken, commit.keep_lock);
  if (commit.keep_lock) waker_.keep_by(after(settings_.now(), settings_.options.hold_instances));
}

void TurnSettling::begin_handed_off(PreparedTurn& turn, const store::TurnCommit& commit,
                                    store::Committed& committed, BootTime asked) {
  std::size_t begun = 0;
  auto next = turn.scheduled.begin();
  for (std::size_t i = 0; i < committed.handed_off.size(); ++i) {
    std::optional<store::LockedActivity>& locked = committed.handed_off[i];
    if (!locked) continue;
    ++begun;
    settings_.counters.activities_handed_off.add();
    // A part of them: what the same turn dropped again is not in the commit.
    const EventId event = commit.activities[i].event;
    next = std::ranges::find(next, turn.scheduled.end(), event, &ScheduledActivity::event);
    bodies::Activity& body = (next++)->body;
    locked->instance = turn.taken.instance->id;
    locked->name = body.scheduled.name;
    desk_.begin(*std::move(locked), commit.activity_token, asked, std::move(body));
  }
  desk_.unreserve(turn.hand_offs - begun);
  desk_.stop_expecting(commit.activity_token);
}

// Nothing of the turn has happened, or nobody knows: the frame is of no use any more. Completions go through
// the store, which takes them or knows them already. The lock goes back in any case: where it is another's,
// its token is not this one.
void TurnSettling::give_up(PreparedTurn& turn, const StoreError& error) {
  CachedInstance& instance = *turn.taken.instance;
  const bool locked = error.kind == StoreError::Kind::busy;
  if (!locked) settings_.counters.turns_lost.add();
  fetch_.clear_suspect(instance.key);
  if (error.kind == StoreError::Kind::lost || error.kind == StoreError::Kind::not_found) {
    log(*settings_.logger, LogLevel::debug,
        "a turn was lost: its instance changed, or is locked by another worker",
        {{"instance", instance.id}, {"why", error.message}});
  } else {
    trouble_.failed("commit turns", error);
  }
  store::TurnRelease release{.key = instance.key, .token = instance.token, .seen = turn.taken.seen};
  if (locked) release.delay = locked_out_.pause(instance.key, settings_.now());
  release.counts = error.kind == StoreError::Kind::invalid;
  // It would fail like this again and again; people have to look at it.
  if (error.kind == StoreError::Kind::damaged) {
    say_parked(settings_, instance, error.message);
    release.park = error.message;
  }
  outbox_.release(std::move(release));
  cache_.drop(turn.taken);
  if (!locked) fetch_.want();
}

void TurnSettling::keep(PreparedTurn& turn) {
  cache_.put_back(turn.taken, true);
  waker_.keep_by(after(settings_.now(), settings_.options.hold_instances));
}

void TurnSettling::park(PreparedTurn& turn, const std::string& why) {
  CachedInstance& instance = *turn.taken.instance;
  say_parked(settings_, instance, why);
  release(turn, {.key = instance.key,
                 .token = instance.token,
                 .delay = turn.requested ? kParkedPause : Duration::zero(),
                 .park = why});
}

void TurnSettling::release(PreparedTurn& turn, store::TurnRelease release) {
  fetch_.clear_suspect(release.key);
  release.seen = turn.taken.seen;
  outbox_.release(std::move(release));
  cache_.drop(turn.taken);
}

void TurnSettling::release(InstanceCache::Taken&& taken) {
  PreparedTurn turn{.taken = std::move(taken)};
  release(turn, {.key = turn.taken.instance->key, .token = turn.taken.instance->token});
}

void TurnSettling::give_up(TurnBatch& batch, int stuck) {
  release_rest(batch);
  if (const CachedInstance* const instance = batch.current.taken.instance) {
    if (batch.home) {
      say_overdue_elsewhere(settings_, *instance, *batch.home);
    } else {
      say_overdue(settings_, *instance, stuck);
    }
    abandon_current(batch, {.key = instance->key,
                            .token = instance->token,
                            .delay = batch.current.requested ? kParkedPause : Duration::zero(),
                            .park = "a turn took longer than turn_time_limit"});
  }
  fetch_.want();
  waker_.poke(Step::turns);
}

void TurnSettling::give_back(TurnBatch& batch) {
  release_rest(batch);
  if (const CachedInstance* const instance = batch.current.taken.instance)
    abandon_current(batch, {.key = instance->key, .token = instance->token});
}

void TurnSettling::release_rest(TurnBatch& batch) {
  for (PreparedTurn& turn : batch.prepared) {
    desk_.unreserve(turn.hand_offs);
    release(turn, {.key = turn.taken.instance->key, .token = turn.taken.instance->token});
  }
  for (SentTurn& sent : batch.sent) {
    if (sent.turn.taken.instance != nullptr)
      release(std::move(sent.turn.taken));  // else it is the current one
  }
  for (; batch.next < batch.waiting.size(); ++batch.next) release(std::move(batch.waiting[batch.next]));
}

void TurnSettling::abandon_current(TurnBatch& batch, store::TurnRelease release) {
  fetch_.clear_suspect(release.key);
  release.seen = batch.current.taken.seen;
  outbox_.release(std::move(release));
  cache_.abandon(batch.current.taken, batch.abandoned);
}

}  // namespace holdfast::runtime
