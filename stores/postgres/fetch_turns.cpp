// Turns are fetched: what is due becomes messages, then held instances with news and ready ones are handed
// out. Nothing here waits for a lock: what others have locked is left to them.
#include "calls.hpp"
#include "statements.hpp"
#include "stores/rules/readiness.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

namespace holdfast::postgres_store {

using store::FetchedTurns;
using store::TurnRequest;

namespace {

/// Numbers without a sign in the order of numbers with one.
std::int64_t ordered(std::uint64_t build) {
  return static_cast<std::int64_t>(build ^ (std::uint64_t{1} << 63U));
}

/// With the ranges of versions that it has one of: rows are found by what they ask for.
Parameters for_code(const WorkingSet& set, const store::Code& code, BootTime now) {
  std::vector<std::string> names;
  std::vector<std::string> versions;
  std::set<store::CodeVersion> orchestrations = code.orchestrations;
  for (const Route& route : set.ranges()) {
    if (rules::suits(code, {.code = route.code})) orchestrations.insert(route.code);
  }
  for (const store::CodeVersion& orchestration : orchestrations) {
    names.push_back(orchestration.name);
    versions.push_back(orchestration.version);
  }
  Parameters all(set.ns());
  all.add_all(names).add_all(versions);
  return all.add(ordered(code.oldest_build)).add(ordered(code.newest_build)).add(now);
}

/// Timers and delayed messages that are due come into the set, with the ids of the messages that they become.
void bring_due(WorkingSet& set, const std::vector<InstanceKey>& due) {
  if (due.empty()) return;
  set.want_free_instances(due);
  if (set.asked()) set.bring();
  std::vector<InstanceKey> locked;
  for (const InstanceKey key : due) {
    if (set.tx().space.instances.contains(key)) locked.push_back(key);
  }
  set.want_timers(locked);
  set.want_delayed(locked);
  if (set.asked()) set.bring();
  const rules::Transaction& tx = set.tx();
  const auto timers =
      std::ranges::count_if(tx.space.timers, [&](const auto& timer) { return timer.first <= tx.calendar; });
  const auto delayed =
      std::ranges::count_if(tx.space.delayed, [&](const auto& entry) { return entry.first.first <= tx.now; });
  set.number_next_messages(static_cast<std::size_t>(timers + delayed));
}

/// Instances that the caller holds. Most have no news, and are not touched.
struct Held {
  explicit Held(const TurnRequest& request) {
    for (const store::HeldInstance& instance : request.held) {
      keys.push_back(instance.key);
      seen.push_back(instance.seen);
    }
  }
  std::vector<InstanceKey> keys{};
  std::vector<MessageId> seen{};
  std::vector<InstanceKey> with_news{};
};

/// What the fetch will not have in its hands is due later. `ranges`: how many routes ask for one.
void ask_next_due(WorkingSet& set, const TurnRequest& request, const Held& held, Duration& next_due,
                  std::size_t& ranges) {
  const rules::Transaction& tx = set.tx();
  const auto due_at = [&next_due](Duration due) { next_due = std::min(next_due, due); };
  Parameters others = for_code(set, *request.code, tx.now);
  others.add_all(held.keys).add_all(held.seen);
  set.ask(sql::kNextTurn, others, [&tx, &ranges, due_at](const Answer& answer) {
    ranges = static_cast<std::size_t>(answer.integer(0, 1));
    if (!answer.is_null(0, 0)) due_at(left(Row(answer, 0).next<BootTime>(), tx.now));
  });
  set.ask(sql::kNextTimer, Parameters(set.ns(), tx.calendar), [&tx, due_at](const Answer& answer) {
    if (answer.rows() > 0) due_at(left(Row(answer, 0).next<CalendarTime>(), tx.calendar));
  });
  set.ask(sql::kNextDelayed, Parameters(set.ns(), tx.now), [&tx, due_at](const Answer& answer) {
    if (answer.rows() > 0) due_at(left(Row(answer, 0).next<BootTime>(), tx.now));
  });
}

std::vector<InstanceKey> keys_of(const Answer& answer) {
  std::vector<InstanceKey> all;
  for (int i = 0; i < answer.rows(); ++i) all.push_back(Row(answer, i).next<InstanceKey>());
  return all;
}

/// Messages of what was locked just now, and of held instances that have news.
void bring_messages(WorkingSet& set, const Held& held, const std::vector<InstanceKey>& ready) {
  std::vector<std::pair<InstanceKey, MessageId>> wanted;
  for (const InstanceKey key : ready) wanted.emplace_back(key, MessageId{});
  for (std::size_t i = 0; i < held.keys.size(); ++i) {
    if (std::ranges::binary_search(held.with_news, held.keys[i])) {
      wanted.emplace_back(held.keys[i], held.seen[i]);
    }
  }
  set.want_free_instances(held.with_news);
  set.want_messages_after(wanted);
  if (set.asked()) set.bring();
}

/// What is not in the set: when something of it will be due, and what others have locked.
struct Elsewhere {
  Duration next_due = never;
  bool due_is_locked = false;    ///< instances whose time has come, or that are held and have news
  bool ready_is_locked = false;  ///< which concerns only who has room for it
};

bool all_came(WorkingSet& set, const std::vector<InstanceKey>& keys) {
  return std::ranges::all_of(keys, [&](InstanceKey key) { return set.tx().space.instances.contains(key); });
}

Elsewhere bring_candidates(WorkingSet& set, const TurnRequest& request) {
  const BootTime now = set.tx().now;
  Elsewhere elsewhere;
  std::vector<InstanceKey> due;
  std::vector<InstanceKey> ready_keys;
  Held held(request);
  set.want_worker(request.worker);
  set.ask(sql::kDueKeys, Parameters(set.ns(), set.tx().calendar, now),
          [&](const Answer& answer) { due = keys_of(answer); });
  const std::size_t known_ranges = set.ranges().size();
  std::size_t ranges = 0;
  ask_next_due(set, request, held, elsewhere.next_due, ranges);
  if (!held.keys.empty()) {
    set.ask(sql::kHeldWithNews, Parameters().add_all(held.keys).add_all(held.seen),
            [&](const Answer& answer) { held.with_news = keys_of(answer); });
  }
  std::vector<InstanceKey> unanswered;
  if (request.repeated) {
    set.ask(sql::kInstancesLockedBy, Parameters(set.ns(), request.token, now),
            [&](const Answer& answer) { unanswered = keys_of(answer); });
  }
  const auto ask_ready = [&] {
    Parameters ready = for_code(set, *request.code, now);
    ready.add(static_cast<std::int64_t>(request.max + 1));
    set.ask(sql::kReadyKeys, ready, [&](const Answer& answer) { ready_keys = keys_of(answer); });
    // Messages come before the instances are placed: whether one whose lock is over is ready depends on them.
    set.ask(sql::kReadyInstances, ready, [&](const Answer& answer) {
      set.take_instances(answer);
      bring_messages(set, held, keys_of(answer));
    });
    set.bring();
  };
  ask_ready();
  if (ranges != known_ranges) {  // another process has brought one
    set.learn_ranges(ranges);
    ask_next_due(set, request, held, elsewhere.next_due, ranges);
    ask_ready();
  }
  set.want_free_instances(unanswered);
  if (set.asked()) set.bring();
  if (rules::refusal(set.tx(), request.worker, rules::Call::takes_work)) return elsewhere;
  bring_due(set, due);
  elsewhere.due_is_locked = !all_came(set, held.with_news) || !all_came(set, due);
  elsewhere.ready_is_locked = !all_came(set, ready_keys);
  set.leave(held.keys);
  return elsewhere;
}

}  // namespace

StoreResult<FetchedTurns> fetch_turns(WorkingSet& set, const TurnRequest& request, LookAgain& look_again) {
  const Elsewhere elsewhere = bring_candidates(set, request);
  StoreResult<FetchedTurns> fetched = rules::fetch_turns(set.tx(), request);
  if (fetched) {
    const bool has_room = fetched->turns.size() < request.max;
    const Duration again =
        look_again.after(elsewhere.due_is_locked || (has_room && elsewhere.ready_is_locked));
    fetched->next_due = std::min({fetched->next_due, elsewhere.next_due, again});
  }
  set.write_back();
  set.clear();
  return fetched;
}

}  // namespace holdfast::postgres_store
