// SessionNotices: tells hooks of the user what happens to sessions.
#pragma once

#include "base/mutex.hpp"
#include "runtime/session_changes.hpp"
#include "runtime/settings.hpp"
#include "runtime/user_jobs.hpp"

#include <deque>
#include <functional>

namespace holdfast::runtime {

/// Hooks are told one after the other, in the order in which it was noted, by a thread of activities. Any
/// thread.
class SessionNotices {
 public:
  SessionNotices(const Settings& settings, UserJobs& jobs) : settings_(settings), jobs_(jobs) {}

  /// Notes it for the hook that wants to know. Calls nobody, so a mutex may be held: whoever decides on the
  /// order of changes holds theirs. begin() has to follow.
  void note(const SessionChange& change);
  /// Another process has started under this node's name.
  void note_superseded();
  /// Tells what was noted, unless somebody does.
  void begin();

 private:
  void tell_all();

  const Settings& settings_;
  UserJobs& jobs_;
  Mutex mutex_;
  std::deque<std::function<void()>> notices_ HOLDFAST_GUARDED_BY(mutex_);
  bool telling_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::runtime
