// What a store says, as short text: for comparing, and for reading when a comparison fails.
#pragma once

#include <holdfast/store.hpp>

#include <string>
#include <vector>

namespace holdfast::testing::conformance {

using Texts = std::vector<std::string>;

/// "lost", "conflict", "gone(dropped)".
std::string answer(const StoreError& error);
/// "ok", or the error.
template <class T>
std::string answer(const StoreResult<T>& result) {
  return result ? "ok" : answer(result.error());
}
template <class T>
Texts answers(const std::vector<StoreResult<T>>& results) {
  Texts texts;
  for (const auto& result : results) texts.push_back(answer(result));
  return texts;
}

/// "start: body", "outcome 1/3: body" (execution/source), "timer 1/4", "taken 1/3: schedule_to_start",
/// "value 1/3: body" (or none, or no instance), "session 1/3: opened", "ended 1/3: completed, body" (or
/// not_found, ...), "control: body", "cancel: body", "event decision: body", "mailbox orders: body", "news
/// gpu: claimed".
std::string text(const store::Message& message);
Texts texts(const std::vector<store::Message>& messages);

/// Everything, a line for each member, so that the first difference is easy to see.
std::string text(const store::StoreState& state);

}  // namespace holdfast::testing::conformance
