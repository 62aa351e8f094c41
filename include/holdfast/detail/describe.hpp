// From options to operations: copies the texts, checks the names.
#pragma once

#include <holdfast/detail/core.hpp>
#include <holdfast/detail/operation.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>

#include <optional>
#include <string_view>

namespace holdfast::detail {

SessionSettings session_settings(const SessionOptions& options);
/// `session`: the policy that comes with the activity; its id may also be options.session.
Description describe_activity(std::string_view name, const ActivityOptions* options, Payload input,
                              const SessionSettings* session = nullptr);
Description describe_child(std::string_view name, const ChildOptions& options, Payload input);
Description describe_detached(std::string_view name, const DetachedOptions& options, Payload input);
Description describe_event(std::string_view name);
Description describe_value_read(std::string_view instance, std::string_view key);

}  // namespace holdfast::detail
