// The report of the engine as a test sees it.
#pragma once

#include "engine/turn.hpp"

#include <holdfast/testing/replay.hpp>

namespace holdfast::testing {

inline Divergence to_divergence(const engine::Problem& problem) {
  return {.event = problem.event,
          .history_says = problem.history_says,
          .code_did = problem.code_did,
          .hint = problem.hint,
          .text = engine::describe(problem)};
}

}  // namespace holdfast::testing
