#include "runtime/commit_builder.hpp"

#include "base/kept_memory.hpp"
#include "runtime/outgoing.hpp"
#include "runtime/take_out.hpp"
#include "runtime/turn_lines.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;

// What the store could not be read for is tried again after this.
constexpr Duration kUnreadPause = 100ms;

constexpr const char* kNotTerminated = "it can't be terminated: its history can't be read";

template <class T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// Becomes an empty one, and keeps the memory of the lists that most turns have.
void start_over(store::TurnCommit& commit) {
  store::TurnCommit anew;
  anew.consumed = emptied(std::move(commit.consumed));
  anew.activities = emptied(std::move(commit.activities));
  anew.completed = emptied(std::move(commit.completed));
  commit = std::move(anew);
}

void add_completed(store::TurnCommit& commit, const std::vector<LocalDone>& done) {
  commit.completed.reserve(done.size());
  for (const LocalDone& one : done)
    commit.completed.push_back({one.id.event, one.token, one.save, one.abort_session});
}

}  // namespace

bool CommitBuilder::build(TurnBatch& batch, store::TurnCommit& commit) {
  const Next next = before_code(batch.current, commit);
  if (next != Next::code) return next == Next::commit;
  return finish(batch.current, commit, run_in_place(batch, commit));
}

CommitBuilder::Next CommitBuilder::prepare(SentTurn& sent) {
  const Next next = before_code(sent.turn, sent.commit);
  if (next != Next::code || sent.turn.taken.instance->frame || rebuilder_.read(sent)) return next;
  give_back_unread(sent.turn);
  return Next::nothing;
}

void CommitBuilder::run(TurnBatch& batch, SentTurn& sent) {
  PreparedTurn& turn = batch.current;
  try {
    if (!turn.taken.instance->frame) rebuilder_.replay(batch, sent);
  } catch (const Error& e) {
    turn.problem = e.failure().message;
    sent.ran = Ran::diverged;
    return;
  }
  sent.ran = run_code(batch, sent.commit);
}

// Whether the code is run at all.
CommitBuilder::Next CommitBuilder::before_code(PreparedTurn& turn, store::TurnCommit& commit) {
  CachedInstance& instance = *turn.taken.instance;
  begin(turn, commit);
  if (has_ended(instance.status)) {
    answer_after_end(turn, commit);
    return Next::commit;
  }
  if (instance.delivery > settings_.options.poison_after)
    return end_as_poison(turn, commit) ? Next::commit : Next::nothing;
  if (instance.status == store::InstanceStatus::suspended) return end_from_history(turn, commit);
  // Whoever terminates it need not have its code, nor can one that is parked go on with it.
  const bool needs_no_code = !instance.frame || instance.status == store::InstanceStatus::parked;
  if (needs_no_code && asks_to_terminate(turn.taken.messages)) return end_from_history(turn, commit);
  return Next::code;
}

// A request that is none, such as that of a former parent, is put out of the way; all else waits for a turn
// with the code, or for the resume of one that is suspended.
CommitBuilder::Next CommitBuilder::end_from_history(PreparedTurn& turn, store::TurnCommit& commit) {
  const Ending ending = end_without_code(turn, commit, std::nullopt);
  if (ending == Ending::done) return Next::commit;
  if (ending == Ending::unread) return Next::nothing;
  if (ending == Ending::unreadable) {
    settling_.park(turn, kNotTerminated);
    return Next::nothing;
  }
  if (!turn.taken.done.empty()) {
    // What has ended here has to wait in the store, too.
    settling_.release(std::move(turn.taken));
    return Next::nothing;
  }
  add_start_answers(commit, *turn.taken.instance, turn.incoming);
  commit.consumed = turn.incoming.used_up;
  commit.set_aside = turn.incoming.set_aside;
  commit.seen = {};
  turn.forget = true;
  return Next::commit;
}

void CommitBuilder::begin(PreparedTurn& turn, store::TurnCommit& commit) {
  const CachedInstance& instance = *turn.taken.instance;
  start_over(commit);
  commit.key = instance.key;
  commit.token = instance.token;
  commit.expected = instance.stamp;
  commit.stamp = chance_.token<TurnStamp>();
  commit.activity_token = chance_.token<LockToken>();
  commit.execution = instance.execution;
  commit.seen = turn.taken.seen;
  turn.requested = std::ranges::any_of(
      turn.taken.messages, [](const store::Message& message) { return store::asks_to_stop(message.kind); });
}

Ran CommitBuilder::run_in_place(TurnBatch& batch, store::TurnCommit& commit) {
  PreparedTurn& turn = batch.current;
  try {
    if (!turn.taken.instance->frame && !rebuilder_.rebuild(batch)) return Ran::unread;
  } catch (const Error& e) {
    turn.problem = e.failure().message;
    return Ran::diverged;
  }
  return run_code(batch, commit);
}

bool CommitBuilder::finish(PreparedTurn& turn, store::TurnCommit& commit, Ran ran) {
  switch (ran) {
    case Ran::code:
      hand_off(turn, commit);
      add_turn(turn, commit);
      return true;
    case Ran::no_code:
      return true;
    case Ran::unwanted:
      settling_.keep(turn);
      return false;
    case Ran::unread:
      give_back_unread(turn);
      return false;
    case Ran::diverged:
      park_or_leave(turn);
      return false;
    case Ran::no_start:
      settling_.park(turn, "its start message can't be read");
      return false;
  }
  return false;
}

// Whoever could not read it has said why; what the instance got is still in the store.
void CommitBuilder::give_back_unread(PreparedTurn& turn) {
  const CachedInstance& instance = *turn.taken.instance;
  settling_.release(turn, {.key = instance.key, .token = instance.token, .delay = kUnreadPause});
}

// In a rolling deploy others may have the code that it fits.
void CommitBuilder::park_or_leave(PreparedTurn& turn) {
  const CachedInstance& instance = *turn.taken.instance;
  std::optional<Duration> pause;
  if (instance.status != store::InstanceStatus::parked) pause = builds_.leave_for(instance, turn.recorded_by);
  if (!pause) return settling_.park(turn, turn.problem);
  say_left_to_others(settings_, instance, turn.recorded_by, turn.problem);
  settling_.release(turn, {.key = instance.key, .token = instance.token, .delay = *pause});
}

// The frame is there; from here on it is asked, run, and asked again.
Ran CommitBuilder::run_code(TurnBatch& batch, store::TurnCommit& commit) {
  PreparedTurn& turn = batch.current;
  CachedInstance& instance = *turn.taken.instance;
  if (drop_unwanted(turn)) return Ran::unwanted;
  turn.incoming = read_messages(instance, turn.first, std::move(turn.taken.messages),
                                std::exchange(batch.spare_messages, {}));
  add_local(turn.incoming, instance, turn.taken.done);
  if (turn.first.fresh && !turn.incoming.start) return answer_before_start(turn, commit);
  engine::Outcome outcome = runner_.run(batch, fetch_.calendar_now());
  if (!outcome.patches.empty()) builds_.note_patch();
  if (outcome.end) {
    if (const auto* failed = std::get_if<history::ExecutionFailed>(&*outcome.end))
      turn.failure = failed->failure;
  }
  const CalendarTime now = fetch_.calendar_now();
  turn.scheduled = add_outcome(
      commit, instance, std::move(outcome),
      {.now = now, .retry_in = retry_in(turn, now), .activity_lease = settings_.options.activity_lease});
  batch.spare_outcome = std::move(outcome);  // its lists, whose elements are used up
  return Ran::code;
}

// What the commit of a turn says besides its outcome.
void CommitBuilder::add_turn(PreparedTurn& turn, store::TurnCommit& commit) {
  const CachedInstance& instance = *turn.taken.instance;
  add_start_answers(commit, instance, turn.incoming);
  append(commit.consumed, turn.incoming.used_up);
  append(commit.set_aside, turn.incoming.set_aside);
  add_completed(commit, turn.taken.done);
  if (turn.first.fresh) commit.version = turn.first.version;
  if (instance.build != settings_.options.build) commit.build = settings_.options.build;
  // A frame that begins anew has to be given all that is unread, so its instance is fetched anew, too.
  const bool goes_on = !turn.forget && std::holds_alternative<std::monostate>(commit.end);
  commit.keep_lock =
      standing_.accepts() && goes_on &&
      (turn.hand_offs > 0 || turn.taken.running_here > static_cast<int>(turn.taken.done.size()));
}

// When a child that failed begins anew, if it does.
std::optional<Duration> CommitBuilder::retry_in(const PreparedTurn& turn, CalendarTime now) {
  const CachedInstance& instance = *turn.taken.instance;
  const std::optional<Duration> left = turn.failure ? time_to_retry(instance, now) : std::nullopt;
  if (!left) return std::nullopt;
  const history::Retrying& child = *instance.frame->retrying();
  return chance_.retry_delay(child.policy, settings_.options.retry, *turn.failure, child.attempt, *left);
}

// Activities that this worker runs at once, as far as there are slots for them.
void CommitBuilder::hand_off(PreparedTurn& turn, store::TurnCommit& commit) {
  if (!std::holds_alternative<std::monostate>(commit.end)) return;
  std::size_t ours = 0;
  for (store::NewActivity& activity : commit.activities) {
    // Of a session the queue may be the session's own: the store knows.
    activity.hand_off = settings_.abilities.handlers.contains(activity.name) &&
                        (activity.session ? sessions_.holds(activity.session->id)
                                          : settings_.abilities.queues.serve(activity.queue));
    if (activity.hand_off) ++ours;
  }
  if (ours == 0) return;
  turn.hand_offs = desk_.reserve_for_hand_off(ours);
  std::size_t left = turn.hand_offs;
  for (store::NewActivity& activity : commit.activities) {
    if (activity.hand_off && left == 0) activity.hand_off = false;
    if (activity.hand_off) --left;
  }
}

// An activity may end here after a turn has dropped it, or with that turn still on its way to the store. Its
// row is gone, and a commit that names it would be refused as a whole. True when nothing else had come:
// there is nothing to commit.
bool CommitBuilder::drop_unwanted(PreparedTurn& turn) {
  CachedInstance& instance = *turn.taken.instance;
  std::vector<LocalDone>& done = turn.taken.done;
  const std::vector<LocalDone> unwanted =
      take_out(done, [&](const LocalDone& one) { return !instance.frame->awaits(one.id.event); });
  if (unwanted.empty()) return false;
  desk_.drop(unwanted);
  turn.taken.running_here -= static_cast<int>(unwanted.size());
  const bool committed_before = instance.delivery == 0;
  return committed_before && done.empty() && turn.taken.messages.empty();
}

bool CommitBuilder::end_as_poison(PreparedTurn& turn, store::TurnCommit& commit) {
  CachedInstance& instance = *turn.taken.instance;
  Failure failure{.category = Category::poison,
                  .type = "poison",
                  .message = "its turn was handed out " + std::to_string(instance.delivery - 1) +
                             " times, and each worker was lost before it committed it",
                  .retryable = false};
  settings_.counters.poisoned.add();
  log(*settings_.logger, LogLevel::error, "an instance crashes every worker that runs it, and is ended",
      {{"instance", instance.id}, {"orchestration", instance.code.name}, {"failure", failure.message}});
  const Ending ending =
      end_without_code(turn, commit, engine::End(history::ExecutionFailed{std::move(failure)}));
  if (ending == Ending::done) return true;
  if (ending != Ending::unread)
    settling_.park(turn,
                   "it crashed every worker that ran it, and can't be ended: its history can't be read");
  return false;
}

// Ends an instance whose code can't be run: as poison, or because somebody wants it ended.
CommitBuilder::Ending CommitBuilder::end_without_code(PreparedTurn& turn, store::TurnCommit& commit,
                                                      std::optional<engine::End> end) {
  CachedInstance& instance = *turn.taken.instance;
  engine::LastTurn last(std::to_string(settings_.options.build));
  bool readable = true;
  const bool answered = rebuilder_.read_history(instance, [&](const store::Segment& segment) {
    readable = readable && last.read(segment.bytes);
    return last.next_event();
  });
  if (!answered) {
    settling_.release(turn, {.key = instance.key, .token = instance.token, .delay = kUnreadPause});
    turn.taken.instance = nullptr;
    return Ending::unread;
  }
  if (!readable) return Ending::unreadable;
  instance.frame.reset();
  FirstTurn first = rebuilder_.first_turn(instance);
  first.fresh = last.next_event().value == 1;
  first.parent = last.parent();
  turn.incoming = read_messages(instance, first, std::move(turn.taken.messages));
  const bool unborn = first.fresh && !turn.incoming.start;
  if (!end && turn.incoming.terminate) {
    if (unborn) return answer_before_start(turn, commit) == Ran::no_code ? Ending::done : Ending::unreadable;
    end = history::ExecutionTerminated{*turn.incoming.terminate};
  }
  if (!end || unborn) return Ending::not_asked;
  end_with(turn, commit, std::move(last), first, *std::move(end));
  return Ending::done;
}

// Adds the last turn of an instance whose code is not run. It has no frame.
void CommitBuilder::end_with(PreparedTurn& turn, store::TurnCommit& commit, engine::LastTurn last,
                             const FirstTurn& first, engine::End end) {
  CachedInstance& instance = *turn.taken.instance;
  if (first.fresh) {
    last.begin(turn.incoming.start->started);
    if (!first.version.empty()) commit.version = first.version;
  }
  add_outcome(commit, instance, last.end(fetch_.calendar_now(), std::move(end)), {.parent = last.parent()});
  add_start_answers(commit, instance, turn.incoming);
  for (const engine::Message& message : turn.incoming.messages) commit.consumed.push_back(message.id);
  commit.consumed.insert(commit.consumed.end(), turn.incoming.used_up.begin(), turn.incoming.used_up.end());
  commit.set_aside = turn.incoming.set_aside;
  add_completed(commit, turn.taken.done);
}

// It has ended, and is ready only because somebody wanted its id for another instance. What ends of its
// activities is of no use to anybody.
void CommitBuilder::answer_after_end(PreparedTurn& turn, store::TurnCommit& commit) {
  CachedInstance& instance = *turn.taken.instance;
  instance.frame.reset();
  desk_.drop(std::exchange(turn.taken.done, {}));
  turn.incoming = read_messages(instance, {}, std::move(turn.taken.messages));
  add_start_answers(commit, instance, turn.incoming);
  commit.consumed = turn.incoming.used_up;
  commit.set_aside = turn.incoming.set_aside;
}

// Its start is delayed, and somebody was faster: with a wish for its id, or with a request to end it. No code
// has begun that could be asked.
Ran CommitBuilder::answer_before_start(PreparedTurn& turn, store::TurnCommit& commit) {
  CachedInstance& instance = *turn.taken.instance;
  if (!turn.incoming.set_aside.empty()) return Ran::no_start;
  engine::Outcome outcome{.first_event = EventId{1}};
  for (const engine::Message& message : turn.incoming.messages) {
    if (std::holds_alternative<engine::Delivery>(message.body)) continue;
    outcome.consumed.push_back(message.id);
    if (const auto* request = std::get_if<history::CancelRequested>(&message.body)) {
      outcome.end = history::ExecutionCancelled{Failure{.category = Category::cancelled,
                                                        .type = "cancel_requested",
                                                        .message = request->reason,
                                                        .retryable = false}};
    }
  }
  if (turn.incoming.terminate) outcome.end = history::ExecutionTerminated{*turn.incoming.terminate};
  add_outcome(commit, instance, std::move(outcome), {});
  add_start_answers(commit, instance, turn.incoming);
  commit.consumed.insert(commit.consumed.end(), turn.incoming.used_up.begin(), turn.incoming.used_up.end());
  turn.forget = true;
  return Ran::no_code;
}

}  // namespace holdfast::runtime
