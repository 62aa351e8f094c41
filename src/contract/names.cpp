#include <holdfast/detail/enum_names.hpp>
#include <holdfast/store/error.hpp>

namespace holdfast {

std::string_view to_string(StoreError::Kind kind) noexcept { return detail::enum_name(kind); }

}  // namespace holdfast
