#include "runtime/turns.hpp"

#include "runtime/outgoing.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>

namespace holdfast::runtime {
namespace {

using namespace std::chrono_literals;

// Enough to fill a commit, few enough to keep it short.
constexpr std::size_t kBatch = 256;
constexpr std::size_t kHistoryBytes = 1U << 20U;
// Longer than a turn takes.
constexpr Duration kSoon = 200ms;
// A parked instance that is asked to end is ready all the same; its code is tried again after this.
constexpr Duration kParkedPause = 10s;
// What may kill its worker waits so long for another one, while this one runs such an instance.
constexpr Duration kSuspectPause = 250ms;

/// Those of `list` that are meant, in their order; the others stay.
template <class T, class Meant>
std::vector<T> take_out(std::vector<T>& list, Meant meant) {
  std::vector<T> out;
  std::erase_if(list, [&](T& one) {
    if (!meant(one)) return false;
    out.push_back(std::move(one));
    return true;
  });
  return out;
}

void add_completed(store::TurnCommit& commit, const std::vector<LocalDone>& done) {
  for (const LocalDone& one : done)
    commit.completed.push_back({one.id.event, one.token, one.save, one.abort_session});
}

}  // namespace

Progress TurnStep::step() {
  const Fetched fetched = fetch();
  std::vector<InstanceCache::Taken> taken = cache_.take_ready(kBatch);
  if (taken.empty()) {
    // Nothing to fetch, or another thread does: it looks again when there is more.
    if (!standing_.accepts() || fetched == Fetched::elsewhere) return {};
    return {fetched == Fetched::some, due_};
  }
  if (cache_.has_ready()) waker_.poke(Step::turns);  // another thread may go on with the rest

  return run_and_commit(std::move(taken));
}

// What may kill this process goes last and by itself: nothing else of this step is lost with it.
Progress TurnStep::run_and_commit(std::vector<InstanceCache::Taken>&& taken) try {
  const auto is_suspect = [&](const auto& one) { return settings_.is_suspect(one.instance->delivery); };
  std::vector<InstanceCache::Taken> suspects = take_out(taken, is_suspect);
  std::ranges::move(suspects, std::back_inserter(taken));
  const auto batch = std::make_shared<TurnBatch>(std::move(taken));
  while (batch->next < batch->waiting.size()) {
    const BootTime begun = settings_.now();
    run_some(*batch);
    commit(*batch);
    settings_.counters.turn_seconds.observe(std::chrono::duration<double>(settings_.now() - begun).count());
  }
  return {wanted_ || cache_.has_ready(), due_};
} catch (const GivenUp&) {
  log(*settings_.logger, LogLevel::info, "a turn that was given up has come back; what it did is dropped");
  --stuck_;
  return {.came_back = true};
}

void TurnStep::commit(TurnBatch& batch) {
  if (batch.commits.empty()) return;
  const store::CommitRequest request{standing_.key(), &settings_.abilities, settings_.options.activity_lease};
  for (const store::TurnCommit& commit : batch.commits) {
    if (!commit.activities.empty()) desk_.expect(commit.activity_token);
  }
  const BootTime asked = settings_.now();  // leases of what is handed off begin with the commit
  auto answers = settings_.store->commit_turns(request, batch.commits);
  for (std::size_t i = 0; i < answers.size(); ++i)
    settle(batch.prepared[i], batch.commits[i], std::move(answers[i]), asked);
  batch.prepared.clear();
  batch.commits.clear();
}

// One thread fetches; the others go on with what is there.
TurnStep::Fetched TurnStep::fetch() {
  if (!standing_.accepts() || (!wanted_ && settings_.now() < due_.load())) return Fetched::nothing;
  // What is fetched now would be lost with this process, if that is what the suspect kills.
  if (const InstanceKey suspect{suspect_.load()}; suspect.value != 0 && cache_.holds(suspect))
    return Fetched::elsewhere;
  if (!fetching_.try_lock()) return Fetched::elsewhere;
  MutexLock lock(fetching_, std::adopt_lock);
  const bool any = fetch_alone();
  lock.unlock();
  // This thread will be busy; whoever left the fetch to it has to know when the next one is due.
  if (wanted_ || due_.load() < after(settings_.now(), kSoon)) waker_.poke(Step::turns);
  return any ? Fetched::some : Fetched::nothing;
}

bool TurnStep::fetch_alone() {
  wanted_ = false;
  const std::vector<store::HeldInstance> held = cache_.held();
  const store::TurnRequest request{.worker = standing_.key(),
                                   .code = &settings_.code,
                                   .token = unanswered_ ? *unanswered_ : chance_.token<LockToken>(),
                                   .repeated = unanswered_.has_value(),
                                   .lease = settings_.options.instance_lease,
                                   .max = kBatch,
                                   .held = held};
  const BootTime asked = settings_.now();
  auto fetched = settings_.store->fetch_turns(request);
  if (!fetched) {
    standing_.note(fetched.error(), request.worker);
    due_ = trouble_.failed("fetch turns", fetched.error());
    unanswered_ = request.token;
    return false;
  }
  unanswered_.reset();
  trouble_.worked();
  calendar_ = fetched->now;
  calendar_read_ = settings_.now();
  due_ = after(asked, fetched->next_due);
  if (fetched->left_behind) wanted_ = true;
  const bool any = !fetched->turns.empty();
  keep_one_suspect(fetched->turns);
  for (store::LockedTurn& turn : fetched->turns) {
    say_taken_over(turn);
    cache_.add(std::move(turn));
  }
  if (any) waker_.keep_by(after(asked, settings_.options.instance_lease / 3));
  return any;
}

// An instance that was handed out again and again without a commit may be what kills its workers, or may have
// been beside it. So that this shows, a process has one of them at a time; the others go back before it is
// run, and this hand-out does not count for them.
void TurnStep::keep_one_suspect(std::vector<store::LockedTurn>& turns) {
  std::vector<store::TurnRelease> others;
  std::erase_if(turns, [&](const store::LockedTurn& turn) {
    if (turn.held || !settings_.is_suspect(turn.delivery)) return false;
    const InstanceKey current{suspect_.load()};
    if (current.value == 0 || current == turn.key || !cache_.holds(current)) {
      suspect_ = turn.key.value;
      log(*settings_.logger, LogLevel::warn, "an instance is run by itself: it may crash its worker",
          {{"instance", turn.instance}, {"orchestration", turn.code.name}, {"delivery", turn.delivery}});
      return false;
    }
    others.push_back({.key = turn.key,
                      .token = turn.token,
                      .delay = kSuspectPause,
                      .seen = turn.messages.empty() ? MessageId{} : turn.messages.back().id});
    return true;
  });
  if (others.empty()) return;
  const auto answers = settings_.store->release_turns(others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!answers[i] && may_pass(answers[i].error())) outbox_.release_again(others[i]);
  }
}

void TurnStep::say_taken_over(const store::LockedTurn& turn) {
  if (turn.held || turn.delivery <= 1) return;
  log(*settings_.logger, LogLevel::warn,
      "instance taken over: the worker that had it committed nothing before its lease was over",
      {{"instance", turn.instance}, {"orchestration", turn.code.name}, {"delivery", turn.delivery}});
}

void TurnStep::clear_suspect(InstanceKey key) {
  std::uint64_t suspect = key.value;
  if (!suspect_.compare_exchange_strong(suspect, 0)) return;
  want();
  waker_.poke(Step::turns);
}

CalendarTime TurnStep::turn_time() const {
  return calendar_.load() + (settings_.now() - calendar_read_.load());
}

// Runs the code of all up to the next suspect, or of that one alone. Those that can't be run are released or
// parked, and have no commit.
void TurnStep::run_some(TurnBatch& batch) {
  const auto suspect_is_next = [&] {
    return settings_.is_suspect(batch.waiting[batch.next].instance->delivery);
  };
  do {
    batch.current = {.taken = std::move(batch.waiting[batch.next++])};
    store::TurnCommit commit;
    if (!prepare(batch, commit)) continue;
    batch.prepared.push_back(std::move(batch.current));
    batch.commits.push_back(std::move(commit));
  } while (batch.next < batch.waiting.size() && !suspect_is_next());
}

// Runs code of the current turn. Throws GivenUp when it has come back too late.
template <class Code>
auto TurnStep::watched(TurnBatch& batch, Code code) {
  const BootTime until = after(settings_.now(), settings_.options.turn_time_limit);
  TurnWatch::Running running(watch_, batch, until);
  waker_.limit_by(until);
  try {
    auto result = code();
    if (running.came_back()) return result;
  } catch (...) {
    if (running.came_back()) throw;
  }
  throw GivenUp{};
}

std::vector<std::thread::id> TurnStep::give_up_overdue() {
  std::vector<std::thread::id> stuck;
  for (const std::shared_ptr<TurnBatch>& batch : watch_.give_up_overdue(settings_.now())) {
    give_up(*batch);
    stuck.push_back(batch->thread);
  }
  return stuck;
}

// In another thread than the one that is stuck in it. What is still in the batch has not been committed, so
// all of it goes back as it came; only the instance that did not come back is parked.
void TurnStep::give_up(TurnBatch& batch) {
  ++stuck_;
  settings_.counters.slow_turns.add();
  for (PreparedTurn& turn : batch.prepared) {
    desk_.unreserve(turn.hand_offs);
    release(turn, {.key = turn.taken.instance->key, .token = turn.taken.instance->token});
  }
  for (; batch.next < batch.waiting.size(); ++batch.next) {
    PreparedTurn turn{.taken = std::move(batch.waiting[batch.next])};
    release(turn, {.key = turn.taken.instance->key, .token = turn.taken.instance->token});
  }
  CachedInstance& instance = *batch.current.taken.instance;
  log(*settings_.logger, LogLevel::error,
      "a turn has not come back within turn_time_limit: code of orchestrations must not block or compute for "
      "long; its instance is parked, its thread is left to it",
      {{"instance", instance.id}, {"orchestration", instance.code.name}});
  if (const int stuck = stuck_; std::cmp_greater(stuck, settings_.options.max_abandoned)) {
    log(*settings_.logger, LogLevel::error,
        "its thread is not replaced: too many are stuck in turns; restart this worker",
        {{"stuck", stuck}, {"max_abandoned", settings_.options.max_abandoned}});
  }
  clear_suspect(instance.key);
  outbox_.release({.key = instance.key,
                   .token = instance.token,
                   .delay = batch.current.requested ? kParkedPause : Duration::zero(),
                   .seen = batch.current.taken.seen,
                   .park = "a turn took longer than turn_time_limit"});
  cache_.abandon(batch.current.taken, batch.abandoned);
  want();
  waker_.poke(Step::turns);
}

bool TurnStep::prepare(TurnBatch& batch, store::TurnCommit& commit) {
  PreparedTurn& turn = batch.current;
  CachedInstance& instance = *turn.taken.instance;
  commit.key = instance.key;
  commit.token = instance.token;
  commit.expected = instance.stamp;
  commit.stamp = chance_.token<TurnStamp>();
  commit.activity_token = chance_.token<LockToken>();
  commit.execution = instance.execution;
  commit.seen = turn.taken.seen;
  turn.requested = std::ranges::any_of(turn.taken.messages, [](const store::Message& message) {
    return message.kind == store::MessageKind::control;
  });
  if (has_ended(instance.status)) {
    answer_after_end(turn, commit);
    return true;
  }
  if (instance.delivery > settings_.options.poison_after) return end_as_poison(turn, commit);
  if (instance.status == store::InstanceStatus::parked && asks_to_terminate(turn.taken.messages)) {
    // Its code could not go on before; it is not needed to end it.
    if (end_without_code(turn, commit, std::nullopt)) return true;
    if (turn.taken.instance != nullptr) park(turn, "it can't be terminated: its history can't be read");
    return false;
  }
  FirstTurn first;
  try {
    if (!instance.frame && !rebuild(batch, first)) {
      // rebuild() said why; what it got is still in the store.
      release(turn, {.key = instance.key, .token = instance.token, .delay = 100ms});
      return false;
    }
  } catch (const Error& e) {
    // Its code can't go on, but it can be ended.
    if (turn.requested && end_without_code(turn, commit, std::nullopt)) return true;
    if (turn.taken.instance != nullptr) park(turn, e.failure().message);
    return false;
  }
  if (drop_unwanted(turn)) return false;
  turn.incoming = read_messages(instance, first, std::move(turn.taken.messages));
  add_local(turn.incoming, instance, turn.taken.done);
  if (first.fresh && !turn.incoming.start) return answer_before_start(turn, commit);
  if (first.fresh && turn.incoming.terminate) {
    instance.frame.reset();  // none of its code has run, and none shall
    end_with(turn, commit, engine::LastTurn(std::to_string(settings_.options.build)), first,
             history::ExecutionTerminated{*turn.incoming.terminate});
    return true;
  }
  engine::Outcome outcome = run_code(batch);
  if (outcome.end) {
    if (const auto* failed = std::get_if<history::ExecutionFailed>(&*outcome.end))
      turn.failure = failed->failure;
  }
  const CalendarTime now = turn_time();
  const Surroundings around{
      .now = now, .retry_in = retry_in(turn, now), .activity_lease = settings_.options.activity_lease};
  add_outcome(commit, instance, std::move(outcome), around);
  hand_off(turn, commit);
  add_start_answers(commit, instance, turn.incoming);
  commit.consumed.insert(commit.consumed.end(), turn.incoming.used_up.begin(), turn.incoming.used_up.end());
  commit.set_aside.insert(commit.set_aside.end(), turn.incoming.set_aside.begin(),
                          turn.incoming.set_aside.end());
  add_completed(commit, turn.taken.done);
  if (first.fresh) commit.version = first.version;
  if (instance.build != settings_.options.build) commit.build = settings_.options.build;
  // A frame that begins anew has to be given all that is unread, so its instance is fetched anew, too.
  const bool goes_on = !turn.forget && std::holds_alternative<std::monostate>(commit.end);
  commit.keep_lock =
      standing_.accepts() && goes_on &&
      (turn.hand_offs > 0 || turn.taken.running_here > static_cast<int>(turn.taken.done.size()));
  return true;
}

// When a child that failed begins anew, if it does.
std::optional<Duration> TurnStep::retry_in(const PreparedTurn& turn, CalendarTime now) {
  const CachedInstance& instance = *turn.taken.instance;
  const std::optional<Duration> left = turn.failure ? time_to_retry(instance, now) : std::nullopt;
  if (!left) return std::nullopt;
  const history::Retrying& child = *instance.frame->retrying();
  return chance_.retry_delay(child.policy, settings_.options.retry, *turn.failure, child.attempt, *left);
}

// Activities that this worker runs at once, as far as there are slots for them.
void TurnStep::hand_off(PreparedTurn& turn, store::TurnCommit& commit) {
  if (!std::holds_alternative<std::monostate>(commit.end)) return;
  std::vector<store::NewActivity*> ours;
  for (store::NewActivity& activity : commit.activities) {
    // Of a session the queue may be the session's own: the store knows.
    const bool takes_it = settings_.abilities.handlers.contains(activity.name) &&
                          (activity.session ? sessions_.holds(activity.session->id)
                                            : settings_.abilities.queues.serve(activity.queue));
    if (takes_it) ours.push_back(&activity);
  }
  if (ours.empty()) return;
  turn.hand_offs = desk_.reserve_for_hand_off(ours.size());
  for (std::size_t i = 0; i < turn.hand_offs; ++i) ours[i]->hand_off = true;
}

// An activity may end here after a turn has dropped it, or with that turn still on its way to the store. Its
// row is gone, and a commit that names it would be refused as a whole. True when nothing else had come: the
// frame is as it was, and its lock is kept until it has been idle for long enough.
bool TurnStep::drop_unwanted(PreparedTurn& turn) {
  CachedInstance& instance = *turn.taken.instance;
  std::vector<LocalDone>& done = turn.taken.done;
  const std::vector<LocalDone> unwanted =
      take_out(done, [&](const LocalDone& one) { return !instance.frame->awaits(one.id.event); });
  if (unwanted.empty()) return false;
  desk_.drop(unwanted);
  turn.taken.running_here -= static_cast<int>(unwanted.size());
  const bool committed_before = instance.delivery == 0;
  if (!committed_before || !done.empty() || !turn.taken.messages.empty()) return false;
  cache_.put_back(turn.taken, true);
  waker_.keep_by(after(settings_.now(), settings_.options.hold_instances));
  return true;
}

engine::Outcome TurnStep::run_code(TurnBatch& batch) {
  PreparedTurn& turn = batch.current;
  CachedInstance& instance = *turn.taken.instance;
  engine::Outcome outcome = watched(batch, [&] {
    return turn.incoming.terminate ? instance.frame->terminate(turn_time(), *turn.incoming.terminate)
                                   : instance.frame->run({turn_time(), std::move(turn.incoming.messages)});
  });
  report(instance, outcome);
  return outcome;
}

void TurnStep::report(const CachedInstance& instance, const engine::Outcome& outcome) {
  settings_.counters.ignored_messages.add(outcome.ignored);
  for (const engine::Unreadable& message : outcome.unreadable) {
    const bool event = message.address.kind == Address::Kind::event;
    log(*settings_.logger, LogLevel::error,
        event ? "an event can't be read as what the code waits for; it is set aside"
              : "a message can't be read as what the code waits for; it is set aside",
        {{"instance", instance.id},
         {"orchestration", instance.code.name},
         {event ? "event" : "mailbox", message.address.name},
         {"why", message.failure.message}});
  }
  for (const std::string& near : outcome.near_limits) {
    settings_.counters.near_limits.add();
    log(*settings_.logger, LogLevel::warn, "instance approaching its limit",
        {{"instance", instance.id}, {"orchestration", instance.code.name}, {"what", near}});
  }
}

// Makes the frame anew. False when the store could not be read; throws Error when the code can't go on from
// its history.
bool TurnStep::rebuild(TurnBatch& batch, FirstTurn& first) {
  CachedInstance& instance = *batch.current.taken.instance;
  first = first_turn(instance);
  auto code = settings_.registry.orchestration(instance.code.name, first.version);
  if (!code) {
    log(*settings_.logger, LogLevel::warn, "no code for this version of the orchestration",
        {{"instance", instance.id}, {"orchestration", instance.code.name}, {"version", first.version}});
    return false;
  }
  engine::Identity identity{.instance = instance.id,
                            .execution = instance.execution,
                            .build = std::to_string(settings_.options.build),
                            .log = &settings_.code_log};
  auto frame = std::make_unique<engine::Execution>(std::move(identity), std::move(code));
  if (!instance.stamp.empty()) {  // else there is no history yet
    const bool read = read_history(instance, [&](std::string_view segment) {
      const auto replayed = watched(batch, [&] { return frame->replay(segment); });
      if (!replayed) throw Error(engine::to_failure(replayed.error()));
      return frame->next_event();
    });
    if (!read) return false;
  }
  first.fresh = frame->next_event().value == 1;
  if (!first.fresh) settings_.counters.replays.add();
  instance.frame = std::move(frame);
  return true;
}

FirstTurn TurnStep::first_turn(const CachedInstance& instance) const {
  return {.version = instance.code.version.empty() ? settings_.registry.newest_version(instance.code.name)
                                                   : instance.code.version,
          .history_budget = settings_.options.history_budget,
          .limits = settings_.options.limits};
}

// Gives all of history to `read`, which answers with the next event. False when the store could not be read.
template <class Read>
bool TurnStep::read_history(const CachedInstance& instance, Read read) {
  EventId after{};
  for (;;) {
    auto segments = settings_.store->read_history(instance.key, instance.execution, after, kHistoryBytes);
    if (!segments) {
      trouble_.failed("read history", segments.error());
      return false;
    }
    if (segments->empty()) return true;
    for (const store::Segment& segment : *segments) after = EventId{read(segment.bytes).value - 1};
  }
}

bool TurnStep::end_as_poison(PreparedTurn& turn, store::TurnCommit& commit) {
  CachedInstance& instance = *turn.taken.instance;
  Failure failure{.category = Category::poison,
                  .type = "poison",
                  .message = "its turn was handed out " + std::to_string(instance.delivery - 1) +
                             " times, and each worker was lost before it committed it",
                  .retryable = false};
  settings_.counters.poisoned.add();
  log(*settings_.logger, LogLevel::error, "an instance crashes every worker that runs it, and is ended",
      {{"instance", instance.id}, {"orchestration", instance.code.name}, {"failure", failure.message}});
  if (end_without_code(turn, commit, engine::End(history::ExecutionFailed{std::move(failure)}))) return true;
  if (turn.taken.instance != nullptr)
    park(turn, "it crashed every worker that ran it, and can't be ended: its history can't be read");
  return false;
}

// Ends an instance whose code can't be run: as poison, or because somebody wants it ended. False when there
// is nothing to commit: nobody wants it, its history can't be read, or, with the turn released and its
// instance null, the store did not answer.
bool TurnStep::end_without_code(PreparedTurn& turn, store::TurnCommit& commit,
                                std::optional<engine::End> end) {
  CachedInstance& instance = *turn.taken.instance;
  engine::LastTurn last(std::to_string(settings_.options.build));
  bool readable = true;
  const bool answered = read_history(instance, [&](std::string_view segment) {
    readable = readable && last.read(segment);
    return last.next_event();
  });
  if (!answered) {
    release(turn, {.key = instance.key, .token = instance.token, .delay = 100ms});
    turn.taken.instance = nullptr;
    return false;
  }
  if (!readable) return false;
  instance.frame.reset();
  FirstTurn first = first_turn(instance);
  first.fresh = last.next_event().value == 1;
  first.parent = last.parent();
  turn.incoming = read_messages(instance, first, std::move(turn.taken.messages));
  if (!end && turn.incoming.terminate) end = history::ExecutionTerminated{*turn.incoming.terminate};
  if (!end || (first.fresh && !turn.incoming.start)) return false;
  end_with(turn, commit, std::move(last), first, *std::move(end));
  return true;
}

// Adds the last turn of an instance whose code is not run. It has no frame.
void TurnStep::end_with(PreparedTurn& turn, store::TurnCommit& commit, engine::LastTurn last,
                        const FirstTurn& first, engine::End end) {
  CachedInstance& instance = *turn.taken.instance;
  if (first.fresh) {
    last.begin(turn.incoming.start->started);
    commit.version = first.version;
  }
  add_outcome(commit, instance, last.end(turn_time(), std::move(end)), {.parent = last.parent()});
  add_start_answers(commit, instance, turn.incoming);
  for (const engine::Message& message : turn.incoming.messages) commit.consumed.push_back(message.id);
  commit.consumed.insert(commit.consumed.end(), turn.incoming.used_up.begin(), turn.incoming.used_up.end());
  commit.set_aside = turn.incoming.set_aside;
  add_completed(commit, turn.taken.done);
}

// It has ended, and is ready only because somebody wanted its id for another instance. What ends of its
// activities is of no use to anybody.
void TurnStep::answer_after_end(PreparedTurn& turn, store::TurnCommit& commit) {
  CachedInstance& instance = *turn.taken.instance;
  desk_.drop(std::exchange(turn.taken.done, {}));
  turn.incoming = read_messages(instance, {}, std::move(turn.taken.messages));
  add_start_answers(commit, instance, turn.incoming);
  commit.consumed = turn.incoming.used_up;
  commit.set_aside = turn.incoming.set_aside;
}

// Its start is delayed, and somebody was faster: with a wish for its id, or with a request to end it. No code
// has begun that could be asked.
bool TurnStep::answer_before_start(PreparedTurn& turn, store::TurnCommit& commit) {
  CachedInstance& instance = *turn.taken.instance;
  if (!turn.incoming.set_aside.empty()) {
    park(turn, "its start message can't be read");
    return false;
  }
  engine::Outcome outcome{.first_event = instance.frame->next_event()};
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
  return true;
}

void TurnStep::settle(PreparedTurn& turn, store::TurnCommit& commit, StoreResult<store::Committed>&& answer,
                      BootTime asked) {
  if (!answer) {
    desk_.unreserve(turn.hand_offs);
    desk_.stop_expecting(commit.activity_token);
    if (answer.error().kind == StoreError::Kind::unavailable) desk_.give_back_doubtful(commit);
    return give_up(turn, answer.error());
  }
  trouble_.worked();
  settings_.counters.turns.add();
  if (turn.failure) say_failed(turn, commit);
  CachedInstance& instance = *turn.taken.instance;
  say_dropped(instance, commit, *answer);
  say_refused_launches(turn);
  locked_out_.committed(instance.key);
  clear_suspect(instance.key);
  instance.stamp = commit.stamp;
  instance.build = settings_.options.build;
  instance.delivery = 0;
  if (commit.version) instance.code.version = *commit.version;
  if (commit.waits) instance.waits = std::move(*commit.waits);
  begin_handed_off(turn, commit, *answer, asked);
  desk_.settle(std::exchange(turn.taken.done, {}));
  if (answer->ready) want();

  const bool ended = std::holds_alternative<store::InstanceEnd>(commit.end) || has_ended(instance.status);
  if (ended) return cache_.drop(turn.taken);
  if (const auto* next = std::get_if<store::NextExecution>(&commit.end)) {
    cache_.begin_execution(instance, next->version);
    want();
  }
  if (turn.forget) {
    instance.frame.reset();
    instance.given = {};
    want();
  }
  cache_.put_back(turn.taken, commit.keep_lock);
  if (commit.keep_lock) waker_.keep_by(after(settings_.now(), settings_.options.hold_instances));
}

void TurnStep::say_failed(const PreparedTurn& turn, const store::TurnCommit& commit) {
  const CachedInstance& instance = *turn.taken.instance;
  const bool ended = std::holds_alternative<store::InstanceEnd>(commit.end);
  log(*settings_.logger, LogLevel::warn,
      ended ? "instance failed" : "an attempt of an instance failed; its next execution tries again",
      {{"instance", instance.id},
       {"orchestration", instance.code.name},
       {"execution", commit.execution.value},
       {"type", turn.failure->type},
       {"failure", turn.failure->message}});
}

// What its code sent. Answers to parents, and requests to children that end with it, may go nowhere.
void TurnStep::say_dropped(const CachedInstance& instance, const store::TurnCommit& commit,
                           const store::Committed& committed) {
  for (const std::size_t index : committed.dropped) {
    const store::Outgoing& dropped = commit.messages[index];
    const bool sent = dropped.cancels || dropped.message.kind == store::MessageKind::delivery;
    if (!sent) continue;
    log(*settings_.logger, LogLevel::warn,
        "a message of an instance is dropped: its target has ended, or doesn't exist",
        {{"instance", instance.id},
         {"to", dropped.instance},
         {"what",
          dropped.cancels ? std::string_view("cancel") : std::string_view(dropped.message.address.name)}});
  }
}

void TurnStep::say_refused_launches(const PreparedTurn& turn) {
  for (const bodies::Start& refused : turn.incoming.refused_starts) {
    if (refused.launched_by.empty()) continue;
    log(*settings_.logger, LogLevel::warn, "an orchestration is not launched: its id is taken",
        {{"instance", refused.launched_by},
         {"id", turn.taken.instance->id},
         {"orchestration", refused.started.name}});
  }
}

void TurnStep::begin_handed_off(PreparedTurn& turn, const store::TurnCommit& commit,
                                store::Committed& committed, BootTime asked) {
  std::size_t begun = 0;
  for (std::optional<store::LockedActivity>& locked : committed.handed_off) {
    if (!locked) continue;
    ++begun;
    settings_.counters.activities_handed_off.add();
    desk_.begin(*std::move(locked), commit.activity_token, asked);
  }
  desk_.unreserve(turn.hand_offs - begun);
  desk_.stop_expecting(commit.activity_token);
}

// Nothing of the turn has happened, or nobody knows: the frame is of no use any more. Completions go through
// the store, which takes them or knows them already. The lock goes back in any case: where it is another's,
// its token is not this one.
void TurnStep::give_up(PreparedTurn& turn, const StoreError& error) {
  CachedInstance& instance = *turn.taken.instance;
  const bool locked = error.kind == StoreError::Kind::busy;
  if (!locked) settings_.counters.turns_lost.add();
  clear_suspect(instance.key);
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
    say_parked(instance, error.message);
    release.park = error.message;
  }
  outbox_.release(std::move(release));
  cache_.drop(turn.taken);
  if (!locked) want();
}

void TurnStep::park(PreparedTurn& turn, const std::string& why) {
  CachedInstance& instance = *turn.taken.instance;
  say_parked(instance, why);
  release(turn, {.key = instance.key,
                 .token = instance.token,
                 .delay = turn.requested ? kParkedPause : Duration::zero(),
                 .park = why});
}

void TurnStep::say_parked(const CachedInstance& instance, std::string_view why) {
  log(*settings_.logger, LogLevel::error, "instance can't go on and is parked",
      {{"instance", instance.id}, {"orchestration", instance.code.name}, {"why", why}});
}

void TurnStep::release(PreparedTurn& turn, store::TurnRelease release) {
  clear_suspect(release.key);
  release.seen = turn.taken.seen;
  outbox_.release(std::move(release));  // by the keep step: who gives up a turn must not wait for it
  cache_.drop(turn.taken);
}

}  // namespace holdfast::runtime
