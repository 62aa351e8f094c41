// The names of the enums of the codec and of those below it, which can't find them themselves.
#include <holdfast/address.hpp>
#include <holdfast/attributes.hpp>
#include <holdfast/cancel_reason.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/fault.hpp>
#include <holdfast/json.hpp>
#include <holdfast/options.hpp>
#include <holdfast/session_info.hpp>
#include <holdfast/status.hpp>

namespace holdfast {

std::string_view to_string(Address::Kind kind) noexcept { return detail::enum_name(kind); }
std::string_view to_string(AttributeCondition::Is is) noexcept { return detail::enum_name(is); }
std::string_view to_string(AttributeType type) noexcept { return detail::enum_name(type); }
std::string_view to_string(Backoff backoff) noexcept { return detail::enum_name(backoff); }
std::string_view to_string(CancelReason reason) noexcept { return detail::enum_name(reason); }
std::string_view to_string(CancelState state) noexcept { return detail::enum_name(state); }
std::string_view to_string(ClientError::Kind kind) noexcept { return detail::enum_name(kind); }
std::string_view to_string(Fault fault) noexcept { return detail::enum_name(fault); }
std::string_view to_string(JsonKind kind) noexcept { return detail::enum_name(kind); }
std::string_view to_string(ParentClosePolicy policy) noexcept { return detail::enum_name(policy); }
std::string_view store::to_string(Reuse reuse) noexcept { return detail::enum_name(reuse); }
std::string_view to_string(SessionLogEntry::Kind kind) noexcept { return detail::enum_name(kind); }
std::string_view to_string(SessionPolicy::WhenLost when) noexcept { return detail::enum_name(when); }
std::string_view to_string(SessionReleased released) noexcept { return detail::enum_name(released); }
std::string_view to_string(SessionReason reason) noexcept { return detail::enum_name(reason); }
std::string_view to_string(SessionStatus status) noexcept { return detail::enum_name(status); }
std::string_view to_string(Status status) noexcept { return detail::enum_name(status); }
std::string_view to_string(StoreOpenError::Kind kind) noexcept { return detail::enum_name(kind); }

}  // namespace holdfast
