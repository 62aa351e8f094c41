#include <holdfast/cancel_reason.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/store.hpp>

namespace holdfast {

std::string_view to_string(CancelReason reason) noexcept { return detail::enum_name(reason); }
std::string_view to_string(StoreError::Kind kind) noexcept { return detail::enum_name(kind); }

namespace store {

std::string_view to_string(InstanceStatus status) noexcept { return detail::enum_name(status); }
std::string_view to_string(SessionReason reason) noexcept { return detail::enum_name(reason); }

}  // namespace store
}  // namespace holdfast
