#include "testkit/conformance/model/chooser.hpp"

#include <algorithm>
#include <array>

namespace holdfast::testing::model {

std::vector<Id> Chooser::instances(const Wanted& wanted) const {
  std::vector<Id> found;
  for (const Id id : kIds) {
    const store::InstanceRow* const row = space.row(id);
    if (row != nullptr && wanted(*row)) found.push_back(id);
  }
  return found;
}

Id Chooser::instance(const Wanted& wanted) {
  const std::vector<Id> found = instances(wanted);
  return found.empty() || dice.chance(5) ? any_instance() : dice.pick(found);
}

Id Chooser::any_instance() {
  return dice.weighted<Id>({{6, Id::a}, {4, Id::b}, {3, Id::c}, {2, Id::d}, {1, Id::e}});
}

Life Chooser::life() { return dice.chance(4) ? Life::before : Life::now; }

std::vector<Made> Chooser::activities(const WantedActivity& wanted) const {
  std::vector<Made> found;
  for (const auto& [made, id] : space.activities()) {
    if (wanted(id, space.row(id))) found.push_back(made);
  }
  return found;
}

Made Chooser::activity(const WantedActivity& wanted) {
  std::vector<Made> found = activities(wanted);
  if (!found.empty() && dice.chance(95)) return dice.pick(found);
  found.clear();
  for (const auto& [made, id] : space.activities()) found.push_back(made);
  return found.empty() ? Made{} : dice.pick(found);
}

Who Chooser::worker(std::optional<WorkerKey> key) {
  constexpr std::array kAll{Who::ada, Who::bob, Who::cyd, Who::former_ada, Who::former_bob};
  if (key && dice.chance(85)) {
    for (const Who who : kAll) {
      if (space.worker(who).key == *key) return who;
    }
  }
  std::vector<Who> there;
  for (const Who who : {Who::ada, Who::bob, Who::cyd}) {
    const auto& all = space.state().workers;
    const bool registered = std::any_of(
        all.begin(), all.end(), [&](const auto& worker) { return worker.key == space.worker(who).key; });
    if (registered) there.push_back(who);
  }
  if (there.empty() || dice.chance(5)) {
    return dice.weighted<Who>(
        {{2, Who::ada}, {2, Who::bob}, {3, Who::former_ada}, {2, Who::former_bob}, {1, Who::stranger}});
  }
  return dice.pick(there);
}

Sid Chooser::session() { return dice.weighted<Sid>({{5, Sid::s}, {3, Sid::t}, {1, Sid::u}}); }

Sid Chooser::owned_session() {
  const std::vector<Sid> owned =
      sessions_that([](const store::SessionView& view) { return view.worker.value != 0; });
  return owned.empty() || dice.chance(8) ? session() : dice.pick(owned);
}

std::vector<Sid> Chooser::sessions_that(const WantedSession& wanted) const {
  std::vector<Sid> found;
  for (const Sid id : {Sid::s, Sid::t, Sid::u}) {
    const store::SessionView* const view = space.session(id);
    if (view != nullptr && wanted(*view)) found.push_back(id);
  }
  return found;
}

Which Chooser::which() {
  return dice.weighted<Which>({{92, Which::last}, {4, Which::stale}, {2, Which::made_up}, {2, Which::empty}});
}

store::SessionPolicy Chooser::policy() {
  store::SessionPolicy policy;
  if (dice.chance(40)) return policy;
  policy.on_record = dice.chance(75);
  if (dice.chance(40)) policy.when_lost = store::SessionPolicy::WhenLost::fail;
  if (dice.chance(25)) policy.ttl = dice.pick<Duration>({8s, 20s, 60s});
  if (dice.chance(40)) policy.lease = dice.pick<Duration>({4s, 12s});
  if (dice.chance(25)) policy.idle_timeout = dice.pick<Duration>({5s, never});
  if (dice.chance(35)) policy.max_concurrent = dice.pick({1U, 1U, 2U});
  if (dice.chance(15)) policy.requirements = {dice.chance(80) ? "gpu" : "tpu"};
  if (dice.chance(12)) policy.queue = "gpu";
  if (dice.chance(10)) policy.connection = "wire";
  if (dice.chance(15)) policy.create_if_missing = false;
  if (dice.chance(15)) policy.outlives_opener = true;
  return policy;
}

AttributeSpec Chooser::attribute() {
  return {.name = dice.pick({"k", "l"}),
          .type = dice.weighted<AttributeType>({{3, AttributeType::text},
                                                {3, AttributeType::keywords},
                                                {3, AttributeType::integer},
                                                {3, AttributeType::real},
                                                {1, AttributeType::boolean},
                                                {1, AttributeType::time}}),
          .nth = static_cast<std::uint32_t>(dice.below(3))};
}

Duration Chooser::short_time() { return dice.pick<Duration>({1s, 2s, 3s, 7s}); }

}  // namespace holdfast::testing::model
