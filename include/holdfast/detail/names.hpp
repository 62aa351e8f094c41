// The rule for names of instances, orchestrations and their versions, activities, events, mailboxes,
// sessions, queues, patches, capabilities and namespaces. It is checked once, where a name enters.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::detail {

/// What is wrong with a name, as a sentence: it has no or more than 255 bytes, is not valid UTF-8, or has a
/// control character (U+0000 to U+001F, U+007F to U+009F). Empty when it is fine. `what` says whose name it
/// is: "an activity".
std::string name_problem(std::string_view what, std::string_view name);

/// `name` as a string. Throws Error of type `invalid_name` with name_problem().
std::string checked_name(std::string_view what, std::string_view name);

}  // namespace holdfast::detail
