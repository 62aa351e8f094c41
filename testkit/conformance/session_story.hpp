// What the parts of the suite that are about sessions share.
#pragma once

#include "testkit/conformance/story.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <string>
#include <utility>

namespace holdfast::testing::conformance {

inline NewActivity of_session(std::string id, SessionPolicy policy = {}) {
  return {.name = "charge", .session = SessionUse{.id = std::move(id), .policy = std::move(policy)}};
}

/// Nobody else may ever claim it.
inline SessionPolicy fails() { return {.when_lost = SessionPolicy::WhenLost::fail, .on_record = true}; }

/// One activity at a time.
inline SessionPolicy one_by_one() { return {.max_concurrent = 1}; }

/// "claimed", "released": of one session, oldest first.
inline Texts log_of(const World& world, std::string_view id) {
  Texts kinds;
  const auto entries = must(world.store().session_log(id, 0, 100));
  for (const SessionLogEntry& entry : entries) kinds.emplace_back(detail::enum_name(entry.kind));
  return kinds;
}

/// What instances were told since they ran last, in the order of their ids' ages.
inline Texts told(const Worker& worker) {
  Texts all;
  const Turns fetched = worker.fetch_turns();
  for (const Turn& turn : fetched.turns) {
    for (const std::string& message : turn.messages()) all.push_back(turn->instance + ": " + message);
  }
  return all;
}

}  // namespace holdfast::testing::conformance
