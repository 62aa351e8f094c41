#include "session_results.hpp"

#include "sessions.hpp"

namespace holdfast::rules {

SessionResults::SessionResults(const Activity& activity, const std::optional<SessionSave>& save,
                               const std::optional<std::string>& abort)
    : session_(activity.session),
      worker_(activity.lock.worker),
      generation_(activity.generation),
      session_over_(activity.session_over.has_value()),
      save_(save),
      abort_(abort) {}

bool SessionResults::counts(const Transaction& tx) const {
  if (!session_ || !save_ || !save_->required || session_over_) return true;
  const Session* const session = find_session(tx, *session_);
  return session == nullptr || session->ended || is_current(*session, worker_, generation_);
}

void SessionResults::apply(Transaction& tx) const {
  if (!session_ || (!save_ && !abort_)) return;
  Session* const session = session_now(tx, *session_);
  if (session == nullptr || !is_current(*session, worker_, generation_)) return;
  if (save_) save(tx, *session, *save_);
  if (abort_) abort(tx, *session, *abort_);
}

}  // namespace holdfast::rules
