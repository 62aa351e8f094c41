#include "codec/history.hpp"

#include <array>
#include <cstddef>

namespace holdfast::history {

namespace {

// In the order of Body.
constexpr std::array<std::string_view, std::variant_size_v<Body>> kKindNames = {
    "turn_started",
    "started",
    "completed",
    "failed",
    "cancel_requested",
    "execution_completed",
    "execution_failed",
    "execution_cancelled",
    "execution_terminated",
    "continued_as_new",
    "operation_cancelled",
    "activity_scheduled",
    "timer_started",
    "event_awaited",
    "message_awaited",
    "child_started",
    "detached_started",
    "session_opened",
    "session_closing",
    "session_event_awaited",
    "value_read",
    "side_effect_recorded",
    "message_tried",
    "value_set",
    "message_sent",
    "cancel_sent",
    "patched",
    "terminate_sent",
    "end_awaited",
    "attribute_set",
};

}  // namespace

std::string_view kind_name(const Body& body) noexcept {
  return kind_name(static_cast<std::uint8_t>(body.index()));
}

std::string_view kind_name(std::uint8_t kind) noexcept {
  return kind < kKindNames.size() ? kKindNames[kind] : std::string_view{};
}

}  // namespace holdfast::history
