// The names of the enums below the codec, which can't find them themselves.
#include <holdfast/cancel_reason.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>

namespace holdfast {

std::string_view to_string(Backoff backoff) noexcept { return detail::enum_name(backoff); }
std::string_view to_string(CancelReason reason) noexcept { return detail::enum_name(reason); }
std::string_view to_string(ClientError::Kind kind) noexcept { return detail::enum_name(kind); }
std::string_view to_string(ParentClosePolicy policy) noexcept { return detail::enum_name(policy); }
std::string_view to_string(StoreOpenError::Kind kind) noexcept { return detail::enum_name(kind); }

}  // namespace holdfast
