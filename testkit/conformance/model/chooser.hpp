// Chooser: picks what a step is about from what there is in a namespace.
#pragma once

#include "testkit/conformance/model/operations.hpp"
#include "testkit/conformance/model/world.hpp"
#include "testkit/dice.hpp"

#include <functional>
#include <vector>

namespace holdfast::testing::model {

class Chooser {
 public:
  Chooser(const World& world, On on, Random& random, bool with_sessions)
      : dice(random), space(world.space(on)), sessions(with_sessions) {}

  using Wanted = std::function<bool(const store::InstanceRow&)>;
  /// Mostly one of those that are wanted, if there are any.
  Id instance(const Wanted& wanted);
  [[nodiscard]] std::vector<Id> instances(const Wanted& wanted) const;
  Id any_instance();
  /// Mostly the life that there is.
  Life life();

  using WantedActivity = std::function<bool(const store::ActivityId&, const store::ActivityRow*)>;
  /// The row is null for those that are gone. Mostly one that is wanted, if there is one.
  Made activity(const WantedActivity& wanted);
  [[nodiscard]] std::vector<Made> activities(const WantedActivity& wanted) const;

  /// Mostly a worker that is there; `key` in particular, if it is set.
  Who worker(std::optional<WorkerKey> key = {});
  Sid session();
  /// Mostly one that somebody owns.
  Sid owned_session();
  using WantedSession = std::function<bool(const store::SessionView&)>;
  [[nodiscard]] std::vector<Sid> sessions_that(const WantedSession& wanted) const;
  /// Mostly the last.
  Which which();
  store::SessionPolicy policy();
  Duration short_time();
  AttributeSpec attribute();

  // How a step of this namespace uses its luck, and what is there.
  Dice dice;           // NOLINT(misc-non-private-member-variables-in-classes)
  const Space& space;  // NOLINT(misc-non-private-member-variables-in-classes)
  bool sessions;       // NOLINT(misc-non-private-member-variables-in-classes)
};

/// A turn of this instance, sensible for the most part.
TurnSpec make_turn(Chooser& choose, Id id);

}  // namespace holdfast::testing::model
