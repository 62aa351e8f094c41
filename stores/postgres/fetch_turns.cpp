// Turns are fetched: what is due becomes messages, then held instances with news and ready ones are handed
// out. Nothing here waits for a lock: what others have locked is left to them.
#include "calls.hpp"
#include "statements.hpp"
#include "stores/rules/readiness.hpp"

#include <algorithm>

namespace holdfast::postgres_store {

using store::FetchedTurns;
using store::TurnRequest;

namespace {

/// Numbers without a sign in the order of numbers with one.
std::int64_t ordered(std::uint64_t build) {
  return static_cast<std::int64_t>(build ^ (std::uint64_t{1} << 63U));
}

Parameters for_code(const WorkingSet& set, const store::Code& code, BootTime now) {
  std::vector<std::string> names;
  std::vector<std::string> versions;
  for (const store::CodeVersion& orchestration : code.orchestrations) {
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

/// What the fetch will not have in its hands is due later.
void ask_next_due(WorkingSet& set, const TurnRequest& request, const Held& held, Duration& next_due) {
  const rules::Transaction& tx = set.tx();
  const auto due_at = [&next_due](Duration due) { next_due = std::min(next_due, due); };
  Parameters others = for_code(set, *request.code, tx.now);
  others.add_all(held.keys).add_all(held.seen);
  set.ask(sql::kNextTurn, others, [&tx, due_at](const Answer& answer) {
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

/// Who has locked the row of an instance that the caller holds is about to commit: it is worth another look.
constexpr Duration kLookAgain = std::chrono::milliseconds(1);

/// Answers when something that is not in the set will be due.
Duration bring_candidates(WorkingSet& set, const TurnRequest& request) {
  const BootTime now = set.tx().now;
  Duration next_due = never;
  std::vector<InstanceKey> due;
  Held held(request);
  set.want_worker(request.worker);
  set.ask(sql::kDueKeys, Parameters(set.ns(), set.tx().calendar, now),
          [&](const Answer& answer) { due = keys_of(answer); });
  ask_next_due(set, request, held, next_due);
  if (!held.keys.empty()) {
    set.ask(sql::kHeldWithNews, Parameters().add_all(held.keys).add_all(held.seen),
            [&](const Answer& answer) { held.with_news = keys_of(answer); });
  }
  std::vector<InstanceKey> unanswered;
  if (request.repeated) {
    set.ask(sql::kInstancesLockedBy, Parameters(set.ns(), request.token, now),
            [&](const Answer& answer) { unanswered = keys_of(answer); });
  }
  Parameters ready = for_code(set, *request.code, now);
  ready.add(static_cast<std::int64_t>(request.max + 1));
  // Messages come before the instances are placed: whether one whose lock is over is ready depends on them.
  set.ask(sql::kReadyInstances, ready, [&](const Answer& answer) {
    set.take_instances(answer);
    bring_messages(set, held, keys_of(answer));
  });
  set.bring();
  set.want_free_instances(unanswered);
  if (set.asked()) set.bring();
  for (const InstanceKey key : held.with_news) {
    if (!set.tx().space.instances.contains(key)) next_due = std::min(next_due, kLookAgain);
  }
  if (!rules::refusal(set.tx(), request.worker, rules::Call::takes_work)) bring_due(set, due);
  set.leave(held.keys);
  return next_due;
}

}  // namespace

StoreResult<FetchedTurns> fetch_turns(WorkingSet& set, const TurnRequest& request) {
  const Duration next_due = bring_candidates(set, request);
  StoreResult<FetchedTurns> fetched = rules::fetch_turns(set.tx(), request);
  if (fetched) fetched->next_due = std::min(fetched->next_due, next_due);
  set.write_back();
  set.clear();
  return fetched;
}

}  // namespace holdfast::postgres_store
