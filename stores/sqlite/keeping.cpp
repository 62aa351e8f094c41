// Which rows stay in the space from one transaction to the next: those that will be asked for again.
#include "stores/rules/placing.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sqlite_store {

using rules::Activity;
using rules::Instance;
using rules::Session;
using store::ActivityId;

namespace {

constexpr std::size_t kMaxInstances = 10'000;
constexpr std::size_t kMaxActivities = 10'000;
constexpr std::size_t kMaxSessions = 20'000;
constexpr std::size_t kMaxInSession = 1000;  // activities
constexpr std::size_t kMaxWaiting = 1000;    // activities
// What is kept of an instance stays small.
constexpr std::size_t kMaxMessages = 16;
constexpr std::size_t kMaxMessageBytes = 4096;
constexpr std::size_t kMaxActivityBytes = 4096;

bool is_small(const Instance& instance) {
  if (instance.messages.size() > kMaxMessages) return false;
  return std::ranges::all_of(instance.messages, [](const auto& entry) {
    const auto* const bytes = std::get_if<std::string>(&entry.second.body);
    return bytes == nullptr || bytes->size() <= kMaxMessageBytes;
  });
}

}  // namespace

// Instances in somebody's hands, and those that are about to be with what they have to read.
bool WorkingSet::is_worth_keeping(InstanceKey key) const {
  const Instance& instance = *space_.instances.peek(key);
  if (space_.instances.size() > kMaxInstances) return false;
  const KnownInstance& about = known_.at(key.value);
  if (instance.lock.live) return about.start_in_row == MessageId{} || is_small(instance);
  return instance.ready_since && is_small(instance);
}

// Those in somebody's hands, whose end comes next. Packs stay with their instances, and others with their
// sessions.
bool WorkingSet::is_worth_keeping(const Activity& activity) const {
  return activity.lock.live && !activity.session && space_.activities.size() <= kMaxActivities &&
         activity.body.size() <= kMaxActivityBytes && own_rows_.contains(activity.id);
}

// Sessions with work in them, as long as there is little that waits: a fetch goes through all that waits in
// the space, for whichever worker.
bool WorkingSet::is_worth_keeping(const Session& session) const {
  if (session.ended || visited_sessions_.contains(session.id)) return false;
  if (space_.sessions.size() > kMaxSessions) return false;
  if (session.queued.size() + session.in_flight.size() > kMaxInSession) return false;
  return session.queued.empty() || space_.waiting.size() <= kMaxWaiting;
}

// Only those that this transaction was about may have changed.
void WorkingSet::let_go() {
  std::set<InstanceKey> with_sessions;
  for (const std::string& id : used_sessions_) {
    Session* const session = space_.sessions.fill(id);
    if (session == nullptr) continue;
    if (is_worth_keeping(*session)) {
      if (session->saved) session->saved->bytes.reset();
      known_sessions_.find(id)->second.saved.reset();
      continue;
    }
    // Packs stay together, and with them all of their instance.
    for (const auto* const list : {&session->queued, &session->in_flight}) {
      for (const ActivityId& activity : *list) with_sessions.insert(activity.instance);
    }
    let_go_session(id);
  }
  used_instances_.insert(used_instances_.end(), with_sessions.begin(), with_sessions.end());
  for (const InstanceKey key : used_instances_) {
    Instance* const instance = space_.instances.fill(key);
    if (instance == nullptr) continue;
    if (!with_sessions.contains(key) && is_worth_keeping(key)) {
      trim(*instance);
    } else {
      let_go(key);
    }
  }
  InstanceKey last{};
  bool with_instance = false;
  for (const ActivityId& id : used_activities_) {
    if (id.instance != last) {
      last = id.instance;
      const KnownInstance* const about = known(last);
      with_instance = about != nullptr && about->activities_known;
    }
    const Activity* const activity = with_instance ? nullptr : space_.activities.peek(id);
    if (activity == nullptr) continue;
    if (is_worth_keeping(*activity)) continue;
    if (!activity->session || !space_.sessions.contains(*activity->session)) let_go(id);
  }
  space_.cancels.let_all_go();
  space_.stopping.clear();
  space_.early.let_all_go();
  space_.requests.let_all_go();
  space_.watchers.clear();
  end_visit();
}

// Messages are read again when they are asked for.
void WorkingSet::trim(Instance& instance) {
  instance.values.clear();
  if (is_small(instance)) return;
  instance.messages.clear();
  known_.at(instance.view.key.value).all_after.reset();
}

void WorkingSet::let_go(InstanceKey key) {
  Instance& instance = *space_.instances.fill(key);
  unplace(tx(), instance);
  for (const auto& [event, due] : instance.timers) space_.timers.erase({due, {key, event}});
  for (const rules::DelayedKey& place : instance.delayed) space_.delayed.erase(place);
  std::vector<ActivityId> activities;
  for (auto next = space_.activities.lower_bound(ActivityId{.instance = key});
       next != space_.activities.end() && next->first.instance == key; ++next) {
    if (is_worth_keeping(next->second)) continue;
    const auto& session = next->second.session;
    if (!session || !space_.sessions.contains(*session)) activities.push_back(next->first);
  }
  for (const ActivityId& id : activities) let_go(id);
  space_.keys.erase(instance.view.instance);
  known_.erase(key.value);
  space_.instances.let_go(key);
}

void WorkingSet::let_go(const ActivityId& id) {
  unplace(tx(), *space_.activities.peek(id));
  own_rows_.erase(id);
  if (const auto pack = packs_.find(id.instance); pack != packs_.end() && pack->second.contains(id)) {
    packs_.erase(pack);
  }
  space_.activities.let_go(id);
}

void WorkingSet::let_go_session(const std::string& id) {
  const Session& session = *space_.sessions.peek(id);
  std::vector<ActivityId> activities(session.queued.begin(), session.queued.end());
  activities.insert(activities.end(), session.in_flight.begin(), session.in_flight.end());
  for (const ActivityId& activity : activities) let_go(activity);
  const auto forget_in = [&](auto& index) {
    const auto found = index.find(session.worker);
    if (found == index.end()) return;
    found->second.erase(id);
    if (found->second.empty()) index.erase(found);
  };
  forget_in(space_.owned);
  forget_in(space_.untold);
  known_sessions_.erase(id);
  space_.sessions.let_go(id);
}

}  // namespace holdfast::sqlite_store
