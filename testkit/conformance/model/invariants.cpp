#include "testkit/conformance/model/invariants.hpp"

#include "testkit/conformance/model/differences.hpp"

#include <algorithm>
#include <map>

namespace holdfast::testing::model {

namespace {

using Problems = std::vector<std::string>;

void expect(bool holds, const std::string& otherwise, Problems& problems) {
  if (!holds) problems.push_back(otherwise);
}

const store::InstanceRow* find(const store::StoreState& state, InstanceKey key) {
  const auto found = std::find_if(state.instances.begin(), state.instances.end(),
                                  [&](const store::InstanceRow& row) { return row.view.key == key; });
  return found == state.instances.end() ? nullptr : &*found;
}

bool waits_for(const store::InstanceRow* row, const store::ActivityId& id) {
  return row != nullptr && !has_ended(row->view.status) && row->view.execution == id.execution;
}

void check_instances(const store::StoreState& state, Problems& problems) {
  MessageId last{};
  std::set<MessageId> ids;
  for (const store::InstanceRow& row : state.instances) {
    const std::string who = "instance " + name_of(row) + ": ";
    expect(row.locked_by.has_value() == !row.token.empty(),
           who + "an owner without a token, or a token alone", problems);
    expect(row.lease_left == Duration{} || row.locked_by, who + "a lease without a lock", problems);
    expect(!has_ended(row.view.status) || row.timers.empty(), who + "timers after its end", problems);
    last = {};
    for (const store::Message& message : row.messages) {
      expect(last < message.id, who + "messages that are not in order", problems);
      expect(ids.insert(message.id).second, who + "a message that another has, too", problems);
      last = message.id;
    }
  }
}

void check_activities(const store::StoreState& state, Problems& problems) {
  for (const store::ActivityRow& row : state.activities) {
    const std::string which = "activity " + name_of(row) + ": ";
    expect(waits_for(find(state, row.view.id.instance), row.view.id),
           which + "its execution is over, or its instance is not there", problems);
    expect(row.view.running == (row.lease_left > Duration{}),
           which + "it runs without a lease, or has one alone", problems);
    expect(!row.view.running || !row.token.empty(), which + "it runs without a token", problems);
    expect(row.view.running || row.view.owner.empty(), which + "it has an owner, and does not run", problems);
  }
  for (const store::CancelRecord& record : state.cancels) {
    const bool there = std::any_of(
        state.activities.begin(), state.activities.end(),
        [&](const store::ActivityRow& row) { return row.view.id == record.id && row.token == record.token; });
    expect(!there, "activity " + name_of(record.id) + ": it is cancelled, and still there", problems);
  }
}

void check_session(const store::StoreState& state, const store::SessionView& session, Problems& problems) {
  using store::SessionStatus;
  const std::string which = "session " + session.id + ": ";
  const auto count = [&](bool running) {
    return static_cast<std::uint64_t>(
        std::count_if(state.activities.begin(), state.activities.end(), [&](const store::ActivityRow& row) {
          return row.view.session == session.id && row.view.running == running;
        }));
  };
  expect(session.queued == count(false), which + "its count of queued items is not what is queued", problems);
  expect(session.in_flight == count(true), which + "its count of items in flight is not what runs", problems);
  const bool owned = session.state == SessionStatus::active || session.state == SessionStatus::lapsed;
  expect(!owned || (session.worker.value != 0 && session.generation.value != 0),
         which + "it is owned by nobody, or without a generation", problems);
  expect(session.held_since <= session.generation &&
             (session.held_since.value == 0) == (session.generation.value == 0),
         which + "it is held since a generation that it never had", problems);
  expect(session.state != SessionStatus::unclaimed || session.worker.value == 0,
         which + "it is unclaimed and has an owner", problems);
  expect((session.state == SessionStatus::active) == (session.lease_left > Duration{}),
         which + "it is active without a lease, or has one alone", problems);
}

void check_sessions(const store::StoreState& state, Problems& problems) {
  std::set<Generation> generations;
  std::map<WorkerKey, std::uint32_t> owned;
  for (const store::SessionView& session : state.sessions) {
    check_session(state, session, problems);
    if (session.generation.value != 0) {
      expect(generations.insert(session.generation).second,
             "session " + session.id + ": another has its generation", problems);
    }
    if (session.state == store::SessionStatus::active) ++owned[session.worker];
  }
  for (const store::WorkerView& worker : state.workers) {
    expect(worker.sessions_owned == owned[worker.key],
           "worker " + name_of(worker) + ": its count of sessions is not what it owns", problems);
  }
}

bool was_told(const store::InstanceRow& row, const store::ActivityId& id) {
  return std::any_of(row.messages.begin(), row.messages.end(), [&](const store::Message& message) {
    const bool tells =
        message.kind == store::MessageKind::outcome || message.kind == store::MessageKind::taken;
    return tells && message.execution == id.execution && message.source == id.event;
  });
}

}  // namespace

std::vector<std::string> contradictions(const store::StoreState& state) {
  Problems problems;
  check_instances(state, problems);
  check_activities(state, problems);
  check_sessions(state, problems);
  store::StatusCounts counts;
  for (const store::InstanceRow& row : state.instances) ++counts[row.view.status];
  expect(counts == state.counts, "instances are not counted by their status", problems);
  return problems;
}

std::vector<std::string> silently_gone(const store::StoreState& before, const store::StoreState& after,
                                       const std::set<InstanceKey>& committed) {
  Problems problems;
  std::set<store::ActivityId> left;
  for (const store::ActivityRow& row : after.activities) left.insert(row.view.id);
  for (const store::ActivityRow& row : before.activities) {
    const store::ActivityId& id = row.view.id;
    if (left.contains(id) || committed.contains(id.instance)) continue;
    const store::InstanceRow* const instance = find(after, id.instance);
    expect(!waits_for(instance, id) || was_told(*instance, id),
           "activity " + name_of(id) + " is gone, and its instance was not told", problems);
  }
  return problems;
}

}  // namespace holdfast::testing::model
