#include <holdfast/detail/enum_names.hpp>
#include <holdfast/session_state.hpp>

#include <stdexcept>

namespace holdfast {

std::string_view to_string(SaveState when) noexcept { return detail::enum_name(when); }

namespace detail {

void check_session_state(const SessionStateCode& code, bool can_be_made) {
  const auto require = [&](bool fine, const char* what) {
    if (!fine) throw std::invalid_argument("holdfast: the state of sessions '" + code.name() + "': " + what);
  };
  require(can_be_made, "its type has no default constructor, so it needs `make`");
  require(
      !(code.is_concurrent() && code.saved_with_each_activity()),
      "its type is concurrent, so it can't be saved with each activity: it would be saved in the middle of "
      "what others do");
}

}  // namespace detail
}  // namespace holdfast
