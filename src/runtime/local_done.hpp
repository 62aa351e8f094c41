// LocalDone: an activity that ended in this process while its instance is locked here.
#pragma once

#include "client/bodies.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/store/activities.hpp>

#include <optional>
#include <string>

namespace holdfast::runtime {

/// It goes into the next turn of its instance without a way through the store, if there is one here.
struct LocalDone {
  store::ActivityId id{};
  LockToken token{};
  bodies::Outcome outcome{};
  std::optional<store::SessionSave> save{};
  std::optional<std::string> abort_session{};
};

}  // namespace holdfast::runtime
