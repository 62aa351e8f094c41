// Does the code do what history shows? And in words, when it doesn't.
#pragma once

#include "codec/segment.hpp"
#include "engine/turn.hpp"

#include <holdfast/detail/operation.hpp>

#include <string>

namespace holdfast::engine {

/// Whether the code may start `started` where history has `recorded`: the same kind, name, session, queue,
/// id. Inputs are compared only when `strict`: a new field in a struct must not stop what runs. Values inside
/// history's event, such as that of a side effect, are not compared.
bool same_operation(const detail::Operation& recorded, const detail::Operation& started, bool strict);

/// "activity 'charge' on session 's1'", "a timer".
std::string in_words(const detail::Operation& operation);
/// Any event: "the completion of event 4", "the end of the execution with a result".
std::string in_words(const history::Body& body);

}  // namespace holdfast::engine
