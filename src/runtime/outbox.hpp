// Outbox: what the store has yet to hear from this worker.
#pragma once

#include "base/mutex.hpp"
#include "runtime/local_done.hpp"
#include "runtime/waker.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/turns.hpp>

#include <vector>

namespace holdfast::runtime {

/// Results of activities, which the answers step drains; acknowledgements of cancels and locks of instances
/// that go back, which the keep step drains. Nobody else sends what is in here, so nothing is sent twice, and
/// who leaves something here does not wait for the store. A fetch that gives back some of what it has locked
/// does so itself. Any thread; whoever adds something wakes the step, and holds no mutex.
class Outbox {
 public:
  /// `waker` outlives this.
  explicit Outbox(Waker& waker) : waker_(waker) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // ---- results of activities --------------------------------------------------------------------

  void answer(store::ActivityResult answer);
  /// These ended, and no turn of this process takes them.
  void answer(std::vector<LocalDone>&& done);
  /// The store has to be asked about these once more, before all others. For the answers step.
  void answer_again(std::vector<store::ActivityResult>&& answers);
  /// The activity was locked again: what waits here goes out under the new lock. Wakes nobody, so a mutex may
  /// be held.
  void lock_again(const store::ActivityId& id, LockToken before, LockToken now);
  std::vector<store::ActivityResult> take_answers();

  // ---- acknowledgements of cancels --------------------------------------------------------------

  void acknowledge(std::vector<store::CancelAcknowledgement>&& acknowledgements);
  std::vector<store::CancelAcknowledgement> take_acknowledgements();

  // ---- locks of instances -----------------------------------------------------------------------

  /// The lock goes back, under its own token: where it is another's by now, that does no harm.
  void release(store::TurnRelease release);
  /// The store did not answer; the keep step asks again at a time of its own.
  void release_again(store::TurnRelease release);
  std::vector<store::TurnRelease> take_releases();

 private:
  Waker& waker_;
  Mutex mutex_;
  std::vector<store::ActivityResult> answers_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<store::CancelAcknowledgement> acknowledgements_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<store::TurnRelease> releases_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
