#include "engine/turn.hpp"

namespace holdfast::engine {

std::string describe(const Problem& problem) {
  if (problem.kind == Problem::Kind::corrupt_history) {
    const std::string event = "event " + to_string(problem.event);
    const bool named = problem.history_says.starts_with(event);  // by what could not read it
    return "history is damaged" + (named ? "" : " at " + event) + ": " + problem.history_says;
  }
  return "the code no longer matches its history at event " + to_string(problem.event) + ": history has " +
         problem.history_says + ", but the code " + problem.code_did + ". " + problem.hint;
}

Failure to_failure(const Problem& problem) {
  const bool corrupt = problem.kind == Problem::Kind::corrupt_history;
  return {.category = corrupt ? Category::store : Category::nondeterminism,
          .type = corrupt ? "corrupt_history" : "nondeterminism",
          .message = describe(problem),
          .event = problem.event,
          .retryable = false};
}

}  // namespace holdfast::engine
