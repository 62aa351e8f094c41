// Operations of the engine as a test sees them.
#pragma once

#include "engine/turn.hpp"

#include <holdfast/testing/replay.hpp>

#include <optional>
#include <string>

namespace holdfast::testing {

/// Nothing for operations whose outcome stands in their own event: the code never waits for those.
std::optional<StartedOperation> to_started(const engine::Action& action);

/// Set for what goes to another instance.
std::optional<SentMessage> to_sent(const engine::Action& action);

/// "activity 'greet' (event 3)", for messages.
std::string in_words(const StartedOperation& operation);

/// What a failure of it names as its source: "activity greet", "orchestration ship".
std::string failure_source(const StartedOperation& operation);

}  // namespace holdfast::testing
