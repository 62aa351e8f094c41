// Description: an operation that is described and not yet started, as the engine makes it of what the code
// asked for.
#pragma once

#include "codec/operation.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/detail/blocks.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/payload.hpp>

#include <functional>
#include <optional>
#include <utility>

namespace holdfast::detail {

struct Description : InBlocks {
  Operation operation{};
  WhyUnreadable why_unreadable = nullptr;  // of what waits for messages
  std::optional<Duration> delay{};         // of a timer, from the moment when it is started
  std::function<Payload()> effect{};       // of a side effect
};

template <class T>
Described describe_operation(T operation) {
  Described described(new Description);
  described->operation = std::move(operation);
  return described;
}

}  // namespace holdfast::detail
