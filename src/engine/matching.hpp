// Does the code do what history shows? And in words, when it doesn't.
#pragma once

#include "codec/operation.hpp"
#include "codec/segment.hpp"
#include "engine/turn.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::engine {

/// Whether the code may start `started` where history has `recorded`: the same kind, name, session, queue,
/// id. Inputs, and values that are set, are compared only when `strict`: a new field in a struct must not
/// stop what runs. Values that only history has, such as that of a side effect, are not compared.
bool same_operation(const detail::Operation& recorded, const detail::Operation& started, bool strict);

/// "activity 'charge' on session 's1'", "a timer".
std::string in_words(const detail::Operation& operation);
/// The same from what is known of an operation that is open: "activity 'charge'".
std::string in_words(std::uint8_t kind, std::string_view label);
/// Any event: "the completion of event 4", "the end of the execution with a result".
std::string in_words(const history::Body& body);
/// What code did that ended so: "ended with a result".
std::string in_words(const End& end);

/// A payload for people: the part of it where it begins to differ from `other`.
std::string excerpt(const Payload& payload, const Payload& other);
/// The input of an operation that has one, or the value that it sets; or null.
const Payload* input_of(const detail::Operation& operation);

}  // namespace holdfast::engine
