#include "locked_rows.hpp"

#include "statements.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

namespace {

/// Between two looks: those who wait cost the others a tenth of the time at most.
constexpr std::chrono::milliseconds kBetweenLooks(20);
/// Longer than those pause who try again.
constexpr std::chrono::seconds kRemembered(3);

template <class Set>
bool meet(const Set& needed, const Set& locked) {
  if (locked.empty()) return false;
  return std::ranges::any_of(needed, [&](const auto& one) { return locked.contains(one); });
}

template <class Set>
void merge(const Set& from, Set& to) {
  to.insert(from.begin(), from.end());
}

template <class Set>
auto as_list(const Set& set) {
  return std::vector(set.begin(), set.end());
}

}  // namespace

bool LockedRows::concern(const Needs& needs) const {
  if (!any_) return false;
  const auto has_locked_activity = [this](InstanceKey key) {
    const auto found = locked_.activities.lower_bound({.instance = key});
    return found != locked_.activities.end() && found->instance == key;
  };
  return meet(needs.reserved, locked_.reserved) || meet(needs.reserved, locked_.names) ||
         meet(needs.names, locked_.names) || meet(needs.instances, locked_.instances) ||
         meet(needs.sessions, locked_.sessions) || meet(needs.activities, locked_.activities) ||
         meet(needs.ending, locked_.ending) || std::ranges::any_of(needs.ending, has_locked_activity);
}

bool LockedRows::waited_lately() const { return waited_at_ && Clock::now() - *waited_at_ < kRemembered; }

bool LockedRows::looked_just_now() const { return looked_at_ && Clock::now() - *looked_at_ < kBetweenLooks; }

void LockedRows::forget_old() {
  if (!any_ || Clock::now() - *looked_at_ < kRemembered) return;
  locked_ = {};
  any_ = false;
}

void LockedRows::look(Connection& connection, std::int32_t ns, Needs needed) {
  for (auto part : {&Needs::reserved, &Needs::names, &Needs::sessions}) merge(locked_.*part, needed.*part);
  for (auto part : {&Needs::instances, &Needs::ending}) merge(locked_.*part, needed.*part);
  merge(locked_.activities, needed.activities);
  locked_ = {};
  any_ = false;
  std::vector<std::string> names = as_list(needed.names);
  names.insert(names.end(), needed.reserved.begin(), needed.reserved.end());
  Rows<InstanceKey, ExecutionNumber, EventId> activities;
  for (const auto& id : needed.activities) activities.add(id.instance, id.execution, id.event);
  connection.queue(sql::kBegin, Parameters());
  connection.queue(sql::kLockedNames, Parameters(ns).add_all(as_list(needed.reserved)));
  connection.queue(sql::kLockedSessionIds, Parameters(ns).add_all(as_list(needed.sessions)));
  connection.queue(
      sql::kLockedSessions,
      activities.parameters(ns).add_all(as_list(needed.sessions)).add_all(as_list(needed.ending)));
  connection.queue(sql::kLockedInstances, Parameters(ns).add_all(as_list(needed.instances)).add_all(names));
  connection.queue(sql::kLockedActivities, activities.parameters(ns).add_all(as_list(needed.ending)));
  connection.queue(sql::kRollback, Parameters());
  const std::vector<Answer> answers = connection.exchange();
  take(answers);
  looked_at_ = Clock::now();
}

void LockedRows::take(const std::vector<Answer>& answers) {
  const auto each = [&](std::size_t which, auto read) {
    for (int i = 0; i < answers[which].rows(); ++i) {
      Row row(answers[which], i);
      read(row);
      any_ = true;
    }
  };
  each(1, [this](Row& row) { locked_.reserved.insert(row.next<std::string>()); });
  each(2, [this](Row& row) { locked_.sessions.insert(row.next<std::string>()); });
  each(3, [this](Row& row) {
    locked_.sessions.insert(row.next<std::string>());
    const auto instance = row.next<InstanceKey>();
    const auto execution = row.next<ExecutionNumber>();
    const auto event = row.next<EventId>();
    if (event != EventId{}) locked_.activities.insert({instance, execution, event});
    if (event == EventId{} && instance != InstanceKey{}) locked_.ending.insert(instance);
  });
  each(4, [this](Row& row) {
    locked_.instances.insert(row.next<InstanceKey>());
    locked_.names.insert(row.next<std::string>());
  });
  each(5, [this](Row& row) {
    const auto instance = row.next<InstanceKey>();
    const auto execution = row.next<ExecutionNumber>();
    locked_.activities.insert({instance, execution, row.next<EventId>()});
  });
}

}  // namespace holdfast::postgres_store
