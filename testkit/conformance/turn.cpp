#include "testkit/conformance/turn.hpp"

#include <algorithm>
#include <variant>

namespace holdfast::testing::conformance {

using namespace holdfast::store;

namespace {

TurnCommit begin_commit(const World& world, const LockedTurn& locked) {
  const EventId first = world.next_event(locked.key, locked.execution);
  return {.key = locked.key,
          .token = locked.token,
          .expected = locked.stamp,
          .stamp = world.token<TurnStamp>(),
          .execution = locked.execution,
          .first_event = first,
          .segment = "events from " + to_string(first),
          .activity_token = world.token<LockToken>()};
}

}  // namespace

Turn::Turn(const World& world, LockedTurn locked)
    : commit(begin_commit(world, locked)), world_(&world), locked_(std::move(locked)) {
  for (const Message& message : locked_.messages) {
    commit.seen = message.id;
    if (!waits_for_code(message.kind)) commit.consumed.push_back(message.id);
  }
}

void Turn::next() {
  const MessageId seen = commit.seen;
  if (std::holds_alternative<NextExecution>(commit.end)) ++locked_.execution.value;
  locked_.stamp = commit.stamp;
  locked_.messages.clear();
  commit = begin_commit(*world_, locked_);
  commit.seen = seen;
}

// ---- what the code did --------------------------------------------------------------------------

Turn& Turn::schedules(NewActivity activity) {
  if (activity.event == EventId{}) activity.event = world_->next_event(locked_.key, locked_.execution);
  if (activity.body.empty()) activity.body = activity.name + " input";
  commit.activities.push_back(std::move(activity));
  return *this;
}
Turn& Turn::completes(const Work& work) {
  commit.completed.push_back({.event = work.id().event, .token = work.token});
  return *this;
}
Turn& Turn::cancels(EventId activity, CancelReason reason) {
  commit.cancelled.push_back({activity, reason});
  return *this;
}
Turn& Turn::sets_timer(EventId timer, CalendarTime due) {
  commit.timers.push_back({timer, due});
  return *this;
}
Turn& Turn::cancels_timer(EventId timer) {
  commit.cancelled_timers.push_back(timer);
  return *this;
}
Turn& Turn::waits_for(std::vector<Address> addresses) {
  std::ranges::sort(addresses);
  commit.waits = std::move(addresses);
  return *this;
}
Turn& Turn::sends(InstanceKey to, NewMessage message) {
  commit.messages.push_back({.key = to, .message = std::move(message), .after_starts = commit.starts.size()});
  return *this;
}
Turn& Turn::sends(std::string to, NewMessage message) {
  commit.messages.push_back(
      {.instance = std::move(to), .message = std::move(message), .after_starts = commit.starts.size()});
  return *this;
}
Turn& Turn::starts_child(std::string instance) {
  starts_detached(std::move(instance));
  commit.starts.back().parent = locked_.key;
  return *this;
}
Turn& Turn::starts_detached(std::string instance) {
  std::string body = instance + " input";
  commit.starts.push_back({.instance = std::move(instance), .code = {"child", "1"}, .body = std::move(body)});
  return *this;
}
Turn& Turn::sets_value(std::string key, std::string value) {
  commit.values.push_back({std::move(key), std::move(value)});
  return *this;
}
Turn& Turn::removes_value(std::string key) {
  commit.values.push_back({std::move(key), std::nullopt});
  return *this;
}
Turn& Turn::sets_attribute(std::string attribute, AttributeValue value) {
  const AttributeType type = type_of(value);
  commit.attributes.push_back({std::move(attribute), type, std::move(value)});
  return *this;
}
Turn& Turn::clears_attribute(std::string attribute, AttributeType type) {
  commit.attributes.push_back({std::move(attribute), type, std::nullopt});
  return *this;
}
Turn& Turn::reads_value(EventId source, std::string instance, std::string key) {
  commit.value_reads.push_back({source, std::move(instance), std::move(key)});
  return *this;
}
Turn& Turn::asks_for_end(EventId source, std::string instance) {
  commit.end_requests.push_back({source, std::move(instance)});
  return *this;
}
Turn& Turn::forgets_end(EventId source, std::string instance) {
  commit.cancelled_end_requests.push_back({source, std::move(instance)});
  return *this;
}
Turn& Turn::opens_session(std::string id, SessionPolicy policy, EventId source) {
  commit.open_sessions.push_back({source, std::move(id), std::move(policy)});
  return *this;
}
Turn& Turn::closes_session(std::string id, EventId source) {
  commit.close_sessions.push_back({source, std::move(id)});
  return *this;
}
Turn& Turn::watches_session(std::string id) {
  commit.watch_sessions.push_back(std::move(id));
  return *this;
}
Turn& Turn::shows(std::string custom_status) {
  commit.custom_status = std::move(custom_status);
  return *this;
}
Turn& Turn::ends(InstanceStatus status, std::string output) {
  commit.end = InstanceEnd{status, std::move(output)};
  return *this;
}
Turn& Turn::continues_as_new(std::string body, std::string version) {
  commit.end = NextExecution{.version = std::move(version), .body = std::move(body)};
  return *this;
}
Turn& Turn::keeps_lock() {
  commit.keep_lock = true;
  return *this;
}

// ---- what it says of its messages ---------------------------------------------------------------

Turn& Turn::consumes_nothing() {
  commit.consumed.clear();
  return *this;
}
Turn& Turn::consumes(std::size_t index) {
  commit.consumed.push_back(locked_.messages.at(index).id);
  std::ranges::sort(commit.consumed);
  return *this;
}
Turn& Turn::consumes_all() {
  commit.consumed.clear();
  for (const Message& message : locked_.messages) commit.consumed.push_back(message.id);
  return *this;
}
Turn& Turn::sets_aside(std::size_t index) {
  const MessageId id = locked_.messages.at(index).id;
  std::erase(commit.consumed, id);
  commit.set_aside.push_back(id);
  return *this;
}

}  // namespace holdfast::testing::conformance
