#include <holdfast/detail/enum_names.hpp>
#include <holdfast/store.hpp>

namespace holdfast {

std::string_view to_string(StoreError::Kind kind) noexcept { return detail::enum_name(kind); }

namespace store {

void SessionCounts::add(SessionState state, bool is_orphaned, std::uint64_t count) {
  if (is_orphaned) orphaned += count;
  switch (state) {
    case SessionState::unclaimed:
      unclaimed += count;
      break;
    case SessionState::active:
      active += count;
      break;
    case SessionState::lapsed:
      lapsed += count;
      break;
    case SessionState::expired:
      expired += count;
      break;
    case SessionState::closed:
      closed += count;
      break;
    case SessionState::failed:
      failed += count;
      break;
  }
}

std::string_view to_string(CancelRecord::State state) noexcept { return detail::enum_name(state); }
std::string_view to_string(InstanceStatus status) noexcept { return detail::enum_name(status); }
std::string_view to_string(Reuse reuse) noexcept { return detail::enum_name(reuse); }
std::string_view to_string(SessionLogEntry::Kind kind) noexcept { return detail::enum_name(kind); }
std::string_view to_string(WishAnswer answer) noexcept { return detail::enum_name(answer); }
std::string_view to_string(SessionPolicy::WhenLost when) noexcept { return detail::enum_name(when); }
std::string_view to_string(SessionReason reason) noexcept { return detail::enum_name(reason); }
std::string_view to_string(SessionState state) noexcept { return detail::enum_name(state); }

}  // namespace store
}  // namespace holdfast
