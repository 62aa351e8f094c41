// World: what the model has said so far. It turns the symbolic arguments of steps into keys, tokens and
// stamps, and tells the generator what there is to play with.
#pragma once

#include "testkit/conformance/model/operations.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store.hpp>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace holdfast::testing::model {

struct Worker {
  WorkerKey key{};
  store::NewWorker info{};
};

/// One life of an instance.
struct InstanceMemory {
  std::vector<LockToken> tokens{};  ///< that its lock had, oldest first
  std::vector<TurnStamp> stamps{};  ///< likewise; the first is the empty one
  std::vector<MessageId> given{};   ///< to the one who has the lock now, or had it last
};

/// What is known of one namespace.
class Space {
 public:
  /// The model's state after the last step.
  [[nodiscard]] const store::StoreState& state() const noexcept { return state_; }
  /// Takes a newer one, and remembers the keys, tokens, stamps and generations that are new in it.
  void learn(store::StoreState state);
  void joined(Node node, Worker worker) { workers_[node].push_back(std::move(worker)); }
  void given(const store::LockedTurn& turn);
  void made_activity(Made made, store::ActivityId id) { activities_[made] = id; }
  void made_timer(Made made, store::ActivityId id) { timers_[made] = id; }

  /// A worker that never joined for those who are not there.
  [[nodiscard]] Worker worker(Who who) const;
  /// A key that never was, when the id had no such life.
  [[nodiscard]] InstanceKey key(Id id, Life life) const;
  /// Null when it isn't there any more, or never was.
  [[nodiscard]] const store::InstanceRow* row(InstanceKey key) const;
  [[nodiscard]] const store::InstanceRow* row(Id id) const { return row(key(id, Life::now)); }
  [[nodiscard]] const store::ActivityRow* row(const store::ActivityId& id) const;
  [[nodiscard]] const store::SessionView* session(Sid id) const;
  [[nodiscard]] const InstanceMemory& memory(InstanceKey key) const;

  /// An id that never was, when no step made it.
  [[nodiscard]] store::ActivityId activity(Made made) const;
  [[nodiscard]] const std::map<Made, store::ActivityId>& activities() const noexcept { return activities_; }
  [[nodiscard]] const std::map<Made, store::ActivityId>& timers() const noexcept { return timers_; }

  [[nodiscard]] LockToken token(InstanceKey key, Which which) const;
  [[nodiscard]] TurnStamp stamp(InstanceKey key, Which which) const;
  [[nodiscard]] LockToken token(const store::ActivityId& id, Which which) const;
  [[nodiscard]] Generation generation(Sid id, Which which) const;

 private:
  store::StoreState state_{};
  std::map<Node, std::vector<Worker>> workers_{};
  std::map<std::string, std::vector<InstanceKey>> lives_{};
  std::map<InstanceKey, InstanceMemory> instances_{};
  std::map<Made, store::ActivityId> activities_{};
  std::map<Made, store::ActivityId> timers_{};
  std::map<store::ActivityId, std::vector<LockToken>> activity_tokens_{};
  std::map<std::string, std::vector<Generation>> generations_{};
};

struct World {
  ManualClock clock{};
  Space here{};   ///< the namespace of On::left and On::right
  Space other{};  ///< that of On::other

  [[nodiscard]] Space& space(On on) { return on == On::other ? other : here; }
  [[nodiscard]] const Space& space(On on) const { return on == On::other ? other : here; }
};

/// Names as stores see them.
template <class E>
std::string name(E value) {
  return std::string(holdfast::detail::enum_name(value));
}
Address address(At at);
store::NewWorker worker_info(Node node, Profile profile);

/// Made of the step's number: no two calls make the same.
LockToken token_of(std::uint32_t step);
/// The step that a token was made in; 0 when it is empty.
std::uint32_t step_of(LockToken token);
TurnStamp stamp_of(std::uint32_t step);
std::string body_of(std::uint32_t step, std::size_t nth);
/// A few values of each type, which compare in all ways.
AttributeValue attribute_value(AttributeType type, std::uint32_t nth);
/// Sorted; of those that are named twice the last counts.
std::vector<Attribute> attributes_of(const std::vector<AttributeSpec>& specs);

/// Events of a turn: each step has a hundred numbers of its own.
EventId first_event_of(std::uint32_t step);
EventId activity_event_of(Made made);
EventId timer_event_of(Made made);
EventId other_event_of(Made made);

}  // namespace holdfast::testing::model
