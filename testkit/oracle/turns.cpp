// Turns: instances are locked, released and renewed.
#include "base/version_ranges.hpp"
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::oracle {

using store::Message;
using store::MessageKind;

namespace {

store::LockedTurn locked(const Instance& instance) {
  return {.key = instance.key,
          .instance = instance.id,
          .token = instance.token,
          .stamp = instance.stamp,
          .code = instance.code,
          .build = instance.build,
          .execution = instance.execution,
          .status = instance.status,
          .delivery = instance.delivery};
}

}  // namespace

StoreResult<store::FetchedTurns> Oracle::fetch_turns(const store::TurnRequest& request) {
  if (const auto refused = refusal(request.worker)) return Unexpected(*refused);
  // What is locked by this token is released, as if by release_turns, before anything is handed out. A lock
  // that lapsed is taken with the next delivery as always.
  if (request.repeated) {
    for (Instance& instance : rows().instances) {
      if (is_locked_by(instance, request.token) && !lock_is_over(instance)) release_lock(instance, false);
    }
  }
  make_due_messages_visible();
  store::FetchedTurns fetched{.now = today()};

  // For one in `held` that got more, those after `seen`.
  for (const store::HeldInstance& held : request.held) {
    Instance* const instance = find_instance(held.key);
    if (instance == nullptr || !is_locked_by(*instance, held.token)) continue;
    std::vector<Message> more = instance->messages;
    std::erase_if(more, [&](const Message& message) { return message.id <= held.seen; });
    const auto is_news = [&](const Message& message) { return makes_ready(*instance, message, held.seen); };
    if (std::none_of(more.begin(), more.end(), is_news)) continue;
    // What comes while it is held is no other hand-out.
    instance->delivery = std::max(instance->delivery, 1U);
    hand_out(*instance, request, held.token);
    fetched.turns.push_back(locked(*instance));
    fetched.turns.back().held = true;
    fetched.turns.back().messages = std::move(more);
  }

  // Up to `max` ready instances that the worker may run, in the order in which they became ready.
  std::vector<std::pair<BootTime, Instance*>> ready;
  for (Instance& instance : rows().instances) {
    const auto since = ready_since(instance);
    if (since && may_run(*request.code, instance)) ready.emplace_back(*since, &instance);
  }
  std::sort(ready.begin(), ready.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->key) < std::pair(b.first, b.second->key);
  });
  fetched.left_behind = ready.size() > request.max;
  if (fetched.left_behind) ready.resize(request.max);
  for (const auto& [since, instance] : ready) {
    ++instance->delivery;
    hand_out(*instance, request, request.token);
    fetched.turns.push_back(locked(*instance));
    fetched.turns.back().messages = instance->messages;
  }
  fetched.next_due = next_turn_due();
  return fetched;
}

void Oracle::hand_out(Instance& instance, const store::TurnRequest& request, LockToken token) const {
  instance.locked_by = request.worker;
  instance.token = token;
  instance.lease_until = later(request.lease);
  instance.not_before = {};
  instance.woken = false;
}

// None of its code is needed to end it.
bool Oracle::may_run(const store::Code& code, const Instance& instance) {
  const auto terminates = [](const Message& message) { return message.kind == MessageKind::control; };
  return std::any_of(instance.messages.begin(), instance.messages.end(), terminates) ||
         has_code(code, instance);
}

// An instance of build 0 may be run by any. One that asks for a range of versions may be run by who has one
// of them.
bool Oracle::has_code(const store::Code& code, const Instance& instance) {
  return has_code(code, instance.code, instance.build);
}

bool Oracle::has_code(const store::Code& code, const store::CodeVersion& version, std::uint64_t build) {
  const bool has_version =
      std::any_of(code.orchestrations.begin(), code.orchestrations.end(), [&](const store::CodeVersion& own) {
        if (own.name != version.name) return false;
        if (own.version == version.version) return true;
        return holdfast::detail::is_range(version.version) && !own.version.empty() &&
               holdfast::detail::in_range(own.version, version.version);
      });
  if (!has_version) return false;
  return build == 0 || (code.oldest_build <= build && build <= code.newest_build);
}

// Until a timer, a delayed message or a lapsing lock needs a fetch.
Duration Oracle::next_turn_due() const {
  Duration due = never;
  for (const Instance& instance : rows().instances) {
    for (const store::NewTimer& timer : instance.timers) {
      if (timer.due != CalendarTime::max()) due = std::min(due, timer.due - today());
    }
    for (const Delayed& delayed : instance.delayed) due = std::min(due, left(delayed.due));
    if (instance.locked_by && !lock_is_over(instance)) due = std::min(due, left(instance.lease_until));
    if (instance.not_before > now()) due = std::min(due, left(instance.not_before));
  }
  return std::max(due, Duration{});
}

void Oracle::release_lock(Instance& instance, bool counts) const {
  instance.locked_by.reset();
  instance.token = {};
  instance.lease_until = {};
  if (!counts && instance.delivery > 0) --instance.delivery;
  // Its frame is gone: what it was given makes it ready again.
  instance.seen = {};
  instance.free_since = now();
}

std::vector<StoreResult<void>> Oracle::release_turns(std::span<const store::TurnRelease> releases) {
  std::vector<StoreResult<void>> answers;
  for (const store::TurnRelease& release : releases) {
    Instance* const instance = find_instance(release.key);
    if (instance == nullptr || !is_locked_by(*instance, release.token)) {
      answers.emplace_back(error(Kind::lost));
      continue;
    }
    if (release.park && !has_ended(instance->status)) {
      instance->status = Status::parked;
      instance->parked_because = *release.park;
      instance->updated_at = today();
    }
    release_lock(*instance, release.counts);
    // Not ready before the delay has passed, or somebody asks it to stop: also after `seen`.
    const bool has_come = std::any_of(
        instance->messages.begin(), instance->messages.end(),
        [&](const Message& message) { return asks_to_stop(message.kind) && message.id > release.seen; });
    instance->not_before = has_come ? now() : later(release.delay);
    answers.emplace_back();
  }
  return answers;
}

std::vector<StoreResult<void>> Oracle::renew_turns(WorkerKey worker, Duration lease,
                                                   std::span<const store::TurnRenewal> turns) {
  const auto refused = refusal_to_keep(worker);
  std::vector<StoreResult<void>> answers;
  for (const store::TurnRenewal& turn : turns) {
    Instance* const instance = find_instance(turn.key);
    if (refused) {
      answers.emplace_back(Unexpected(*refused));
    } else if (instance == nullptr || !is_locked_by(*instance, turn.token)) {
      answers.emplace_back(error(Kind::lost));
    } else {
      instance->lease_until = later(lease);
      answers.emplace_back();
    }
  }
  return answers;
}

// After `after`, in order, up to about `max_bytes` and at least one segment.
StoreResult<std::vector<store::Segment>> Oracle::read_history(InstanceKey key, ExecutionNumber execution,
                                                              EventId after, std::size_t max_bytes) {
  Instance* const instance = find_instance(key);
  if (instance == nullptr) return error(Kind::not_found);
  std::vector<store::Segment> segments;
  std::size_t bytes = 0;
  const auto history = instance->history.find(execution.value);
  if (history == instance->history.end()) return segments;
  for (const store::Segment& segment : history->second) {
    if (segment.first_event <= after) continue;
    if (!segments.empty() && bytes + segment.bytes.size() > max_bytes) break;
    bytes += segment.bytes.size();
    segments.push_back(segment);
  }
  return segments;
}

// Parked instances of these versions become running and ready: their code may have changed.
StoreResult<std::uint64_t> Oracle::wake_parked(const store::Code& code) {
  std::uint64_t woken = 0;
  for (Instance& instance : rows().instances) {
    if (instance.status != Status::parked || !has_code(code, instance)) continue;
    instance.status = Status::running;
    instance.parked_because.clear();
    instance.updated_at = today();
    instance.not_before = {};
    instance.free_since = now();
    instance.woken = true;
    ++woken;
  }
  return woken;
}

}  // namespace holdfast::testing::oracle
