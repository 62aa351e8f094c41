#include <holdfast/session_info.hpp>

#include <algorithm>

namespace holdfast {

bool SessionFilter::takes(SessionStatus state, const std::string& its_owner,
                          const std::string& its_queue) const {
  return (states.empty() || std::ranges::find(states, state) != states.end()) &&
         (!owner || *owner == its_owner) && (!queue || *queue == its_queue);
}

void SessionCounts::add(SessionStatus state, bool is_orphaned, std::uint64_t count) {
  if (is_orphaned) orphaned += count;
  switch (state) {
    case SessionStatus::unclaimed:
      unclaimed += count;
      break;
    case SessionStatus::active:
      active += count;
      break;
    case SessionStatus::lapsed:
      lapsed += count;
      break;
    case SessionStatus::expired:
      expired += count;
      break;
    case SessionStatus::closed:
      closed += count;
      break;
    case SessionStatus::failed:
      failed += count;
      break;
  }
}

}  // namespace holdfast
