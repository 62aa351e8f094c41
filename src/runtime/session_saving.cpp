#include "runtime/session_saving.hpp"

#include "base/failure_text.hpp"

#include <exception>

namespace holdfast::runtime {

SavedSession save_states(const Settings& settings, SessionMemory& memory, const store::SessionHold& hold,
                         bool all_or_nothing) {
  SavedSession result;
  try {
    result.bytes = memory.save_all(all_or_nothing);
  } catch (const NoAnswer& e) {
    result = {.problem = e.what(), .unanswered = true};
  } catch (const std::exception& e) {
    result.problem = detail::failure_text(e);
    if (result.problem.empty()) result.problem = "unknown";
  } catch (...) {
    result.problem = "unknown";
  }
  if (result.problem.empty()) return result;
  if (!result.unanswered) settings.counters.session_saves_failed.add();
  log(*settings.logger, result.unanswered ? LogLevel::warn : LogLevel::error,
      "the state of a session could not be saved", {{"session", hold.id}, {"error", result.problem}});
  return result;
}

}  // namespace holdfast::runtime
