// The rule for names of instances, orchestrations and their versions, activities, events, mailboxes,
// sessions, queues, capabilities and namespaces. It is checked once, where a name enters.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::detail {

/// `name` as a string. Throws Error of type `invalid_name` when it has no or more than 255 bytes, control
/// characters, or is not valid UTF-8; `what` says whose name it is: "activity".
std::string checked_name(std::string_view what, std::string_view name);

}  // namespace holdfast::detail
