// Turn and Work: what a worker has in its hands, and what it is going to say about it.
#pragma once

#include "testkit/conformance/world.hpp"

#include <holdfast/store.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::testing::conformance {

/// An activity that a worker has locked.
struct Work {
  store::LockedActivity activity{};
  LockToken token{};

  const store::LockedActivity* operator->() const { return &activity; }
  [[nodiscard]] const store::ActivityId& id() const { return activity.id; }
};

/// A turn that a worker has locked, and the commit that it is going to be. It begins as what an engine does
/// with an orchestration that goes on: one segment of history, all messages consumed but those that wait for
/// code. After a commit it is the next turn of the same instance, which only makes sense if the lock was
/// kept.
class Turn {
 public:
  Turn(const World& world, store::LockedTurn locked);

  const store::LockedTurn* operator->() const { return &locked_; }
  [[nodiscard]] InstanceKey key() const { return locked_.key; }
  /// As texts, see text.hpp.
  [[nodiscard]] Texts messages() const { return texts(locked_.messages); }
  [[nodiscard]] store::HeldInstance held() const { return {locked_.key, locked_.token, commit.seen}; }

  // ---- what the code did

  /// Without an event number it gets the next one.
  Turn& schedules(store::NewActivity activity);
  Turn& schedules(std::string_view name) { return schedules({.name = std::string(name)}); }
  Turn& completes(const Work& work);
  Turn& cancels(EventId activity, CancelReason reason = CancelReason::dropped);
  Turn& sets_timer(EventId timer, CalendarTime due);
  Turn& cancels_timer(EventId timer);
  Turn& waits_for(std::vector<Address> addresses);
  Turn& sends(InstanceKey to, store::NewMessage message);
  Turn& sends(std::string to, store::NewMessage message);
  Turn& starts_child(std::string instance);
  Turn& starts_detached(std::string instance);
  Turn& sets_value(std::string key, std::string value);
  Turn& removes_value(std::string key);
  Turn& sets_attribute(std::string attribute, AttributeValue value);
  Turn& clears_attribute(std::string attribute, AttributeType type);
  Turn& reads_value(EventId source, std::string instance, std::string key);
  Turn& asks_for_end(EventId source, std::string instance);
  Turn& forgets_end(EventId source, std::string instance);
  Turn& opens_session(std::string id, store::SessionPolicy policy = {}, EventId source = {});
  Turn& closes_session(std::string id, EventId source = {});
  Turn& watches_session(std::string id);
  Turn& shows(std::string custom_status);
  Turn& ends(store::InstanceStatus status = store::InstanceStatus::completed, std::string output = "done");
  Turn& continues_as_new(std::string body, std::string version = "1");
  Turn& keeps_lock();

  // ---- what it says of its messages

  Turn& consumes_nothing();
  /// This one too, by its place among the messages of the fetch.
  Turn& consumes(std::size_t index);
  Turn& consumes_all();
  Turn& sets_aside(std::size_t index);

  /// It was committed: the next turn begins.
  void next();

  store::TurnCommit commit{};

 private:
  const World* world_;
  store::LockedTurn locked_;
};

}  // namespace holdfast::testing::conformance
