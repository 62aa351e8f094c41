// SessionDesk: the sessions that this worker holds, from the claim to the moment when they leave.
#pragma once

#include "base/mutex.hpp"
#include "runtime/executor.hpp"
#include "runtime/held_session.hpp"
#include "runtime/session_books.hpp"
#include "runtime/session_changes.hpp"
#include "runtime/session_leavers.hpp"
#include "runtime/session_memory.hpp"
#include "runtime/session_notices.hpp"
#include "runtime/session_stay.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/user_jobs.hpp"
#include "runtime/waker.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/sessions.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// The books (SessionBooks), who leaves and when (SessionLeavers), saving, and hooks, for all threads. Of the
/// store it asks one thing: what is saved of a session, in the thread of an activity that needs its state, or
/// of a save, when nobody here knows. All else is for SessionKeeper to ask. The mutex is for the books; code
/// of the user is called without it: what follows from a change is done once the mutex is free. Thread-safe.
///
/// The life of a session here: it comes with the first of its activities that is locked for this worker, or
/// by acquire_session. It is *held* while its lease is renewed. It *leaves* in peace when it is idle, when
/// another one needs its room, when its work belongs to another worker, or when this worker drains: its
/// states are saved in a thread of activities, then it is released. It is *lapsed* when its lease could not
/// be kept: its states stay, and this worker claims it again unless somebody else does before. When it has
/// left, its states are destroyed as soon as the last activity in it has ended.
///
/// It may hold very many: what is asked for at every keep step costs what has changed or is due, not what is
/// held. Only renewals, and a drain, go through all of them.
class SessionDesk {
 public:
  SessionDesk(const Settings& settings, const Standing& standing, Waker& waker, Executor& executor);

  /// What must live as long as code of the user runs that was begun here.
  void keep_alive(std::weak_ptr<const void> owner) { jobs_.keep_alive(std::move(owner)); }

  // ---- coming ---------------------------------------------------------------------------------

  /// A fetch has locked an activity of a session, and may have claimed the session with it. `asked` is the
  /// time before that was asked for.
  void granted(const store::SessionGrant& grant, BootTime asked);
  /// An activity that was locked is about to run. Null when it must not: the lease of its session was over
  /// before it could begin; the session is just being released, with what was saved before; or somebody asks
  /// for it, and it could never leave if more and more of its activities began.
  std::unique_ptr<SessionStay> enter(const store::LockedActivity& locked, BootTime asked);
  /// acquire_session was answered: it is this worker's.
  void acquired(const store::Acquired& acquired, BootTime asked);

  /// What acquires or renews a session has this meanwhile: it stays here, and comes back if it was about to
  /// leave. A release that is under way is waited for: the store is asked after it.
  class Wish {
   public:
    Wish(SessionDesk& desk, std::string_view id) : desk_(desk), id_(id) { desk_.wish(id_); }
    ~Wish() { desk_.end_wish(id_); }
    Wish(const Wish&) = delete;
    Wish& operator=(const Wish&) = delete;

   private:
    SessionDesk& desk_;
    const std::string id_;
  };
  /// Somebody has asked for it to be renewed, and the store has done so: it is not idle.
  void renewed_by_request(const store::SessionHold& hold, BootTime asked);

  /// Whether a turn may wish to run an activity of this session here.
  [[nodiscard]] bool holds(std::string_view id) const;
  [[nodiscard]] std::optional<store::SessionHold> find(std::string_view id) const;
  /// What its activities share here; null when this hold is not the one in the books.
  [[nodiscard]] std::shared_ptr<const SessionMemory> memory_of(const store::SessionHold& hold) const;

  // ---- keeping --------------------------------------------------------------------------------

  /// By id.
  [[nodiscard]] std::vector<store::SessionRenewal> renewals();
  /// When the first of them has to be renewed, and all of them are: a third of the shortest lease after the
  /// last time.
  [[nodiscard]] BootTime renewal_due();
  void renewed(const store::SessionHold& hold, BootTime asked);
  /// The store did not answer for this one; it is asked again then.
  void not_renewed(const store::SessionHold& hold, BootTime retry_at);
  /// Its lease is over, and the store does not renew it.
  void lapsed(const store::SessionHold& hold);
  /// Those whose lease is over: somebody else may have them by now. At most `max`, and first those that were
  /// answered longest ago.
  [[nodiscard]] std::vector<store::SessionHold> lapsed_ones(std::size_t max);
  /// Its lease was over, and the store says that it is this worker's again, as in `view`. No effect when this
  /// is not what is in the books any more, or when somebody else had it in between.
  void held_again(const store::SessionHold& before, const store::SessionView& view, BootTime asked);
  /// Says which leases could not be kept, once for each.
  void note_overdue();

  // ---- leaving --------------------------------------------------------------------------------

  /// Another session waits for a worker that has room, as the store said when it was `asked`. Whoever fetches
  /// says so again while it does.
  void want_room(BootTime asked);
  /// Somebody asks for these: they leave as soon as they are at rest.
  void want_back(std::span<const store::SessionHold> holds);
  /// These have work that only others can do.
  void want_hand_over(std::span<const store::SessionHold> holds);
  /// This one was claimed for an activity that there was no slot for after all; unless it is in use by now.
  void want_hand_over(const store::SessionHold& unused);
  /// Those that are to leave now begin to be saved.
  void choose_leavers(bool draining);
  /// Those that are saved, or have nothing to save; by id. Each is answered by one of those below.
  [[nodiscard]] std::vector<store::SessionRelease> releases();
  /// The store did not answer for this one; it is asked again then.
  void not_released(const store::SessionHold& hold, BootTime retry_at);
  /// The store won't let it go: something of it is queued or runs, or its state can't be saved.
  void stays(const store::SessionHold& hold, const std::string& why);
  /// It is no longer this worker's.
  void left(const store::SessionHold& hold, store::SessionReason reason);
  void all_left(store::SessionReason reason);
  /// Another process has started under this node's name: whoever wants to know is told, after all that has
  /// left.
  void tell_superseded();
  /// Those that nobody else may ever claim; or only those of them that the store would not let go.
  enum class Which : std::uint8_t { refused, all };
  [[nodiscard]] std::vector<store::SessionHold> unmovable(Which which) const;
  [[nodiscard]] bool has_unmovable() const { return !unmovable(Which::refused).empty(); }

  /// When one of them becomes idle, or should be tried again.
  [[nodiscard]] BootTime next_due() const;
  [[nodiscard]] std::size_t size() const;
  /// None is here, and nobody is about to hear of it.
  [[nodiscard]] bool quiet() const { return jobs_.are_done() && size() == 0; }
  /// A session has left with this worker, and its code could not save what was in memory.
  [[nodiscard]] bool lost_a_state() const;

 private:
  /// What follows from a change: made before the books are locked, it is carried out once they are free.
  /// Until then the desk is not quiet.
  class Afterwards {
   public:
    explicit Afterwards(SessionDesk& desk) : desk_(desk), about_to_(desk.jobs_) {}
    ~Afterwards() { desk_.carry_out(std::move(orders)); }
    Afterwards(const Afterwards&) = delete;
    Afterwards& operator=(const Afterwards&) = delete;

    SessionOrders orders{};

   private:
    SessionDesk& desk_;
    const UserJobs::AboutTo about_to_;
  };
  /// The books are this thread's for as long as it lives. What hooks have to hear is noted at its end, so
  /// that they hear it in the order in which it happened.
  class HOLDFAST_SCOPED_CAPABILITY BooksLock {
   public:
    BooksLock(Mutex& mutex, SessionNotices& notices, const Afterwards& afterwards) HOLDFAST_ACQUIRE(mutex)
        : notices_(notices), orders_(afterwards.orders), lock_(mutex) {}
    ~BooksLock() HOLDFAST_RELEASE() {
      for (const SessionChange& change : orders_.changes) notices_.note(change);
    }
    BooksLock(const BooksLock&) = delete;
    BooksLock& operator=(const BooksLock&) = delete;

   private:
    SessionNotices& notices_;
    const SessionOrders& orders_;
    MutexLock lock_;
  };

  void carry_out(SessionOrders&& orders);
  void wish(const std::string& id);
  void end_wish(const std::string& id);
  void end_stay(const HeldPointer& held, bool aborted);
  void save(const HeldPointer& held);
  [[nodiscard]] std::shared_ptr<SessionMemory> make_memory(const HeldPointer& held,
                                                           std::optional<std::optional<std::string>> saved);
  [[nodiscard]] StoreResult<std::optional<std::string>> read_saved(
      const std::weak_ptr<HeldSession>& of) const;

  const Settings& settings_;
  const Standing& standing_;
  Waker& waker_;
  UserJobs jobs_;
  SessionNotices notices_;
  mutable Mutex mutex_;
  SessionWishes wishes_ HOLDFAST_GUARDED_BY(mutex_);
  Condition released_;  // or not: the store has answered
  SessionLeavers leavers_ HOLDFAST_GUARDED_BY(mutex_);
  SessionBooks books_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
