// SessionDesk: the sessions that this worker holds, from the claim to the moment when they leave.
#pragma once

#include "base/mutex.hpp"
#include "runtime/executor.hpp"
#include "runtime/session_memory.hpp"
#include "runtime/session_stay.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/waker.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/sessions.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// The books: what the store has said about sessions of this worker, and what is to become of them. It asks
/// the store nothing; SessionKeeper does. Thread-safe.
///
/// The life of a session here: it comes with the first of its activities that is locked for this worker, or
/// by acquire_session. It is *held* while its lease is renewed. It *leaves* in peace when it is idle, when
/// another one needs its place, when its work belongs to another worker, or when this worker drains: its
/// states are saved in a thread of activities, then it is released. It is *lapsed* when its lease could not
/// be kept: its states stay, and this worker claims it again unless somebody else does before. When it has
/// left, its states are destroyed as soon as the last activity in it has ended.
///
/// It may hold very many: what is asked for at every keep step costs what has changed or is due, not what is
/// held. Only renewals, and a drain, go through all of them.
class SessionDesk {
 public:
  SessionDesk(const Settings& settings, const Standing& standing, Waker& waker, Executor& executor)
      : settings_(settings), standing_(standing), waker_(waker), executor_(executor) {}

  /// What must live as long as code of the user runs that was begun here.
  void keep_alive(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

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
  [[nodiscard]] bool quiet() const { return *jobs_ == 0 && size() == 0; }
  /// A session has left with this worker, and its code could not save what was in memory.
  [[nodiscard]] bool lost_a_state() const { return lost_a_state_; }

 private:
  /// How long a wish for room counts: a little longer than until the next fetch, which is once per second.
  static constexpr Duration kWish = std::chrono::milliseconds(1500);

  struct Leaving {
    store::SessionReason reason{};
    std::uint64_t number = 0;  ///< here; never given twice
    BootTime since{};
    bool ready = false;            ///< saved, or nothing to save
    bool asked = false;            ///< the store is about to answer whether it may go
    BootTime retry_at = kLongAgo;  ///< is the store asked again
    std::optional<store::SessionSave> save{};
  };
  struct Held;
  using HeldPointer = std::shared_ptr<Held>;
  /// By the time when to look at one, and its number here.
  using Agenda = std::map<std::pair<BootTime, std::uint64_t>, HeldPointer>;
  struct Held {
    store::SessionHold hold{};
    std::uint64_t number = 0;  ///< here; never given twice
    Duration lease{};          ///< its length
    BootTime asked{};          ///< when it was claimed or renewed last
    BootTime renew_not_before = kLongAgo;
    BootTime lease_until{};
    Duration idle_timeout = never;
    bool fails = false;  ///< under `fail`: nobody else may claim it
    int activities = 0;  ///< in it, until both their code and their answer have come to an end
    BootTime quiet_since{};
    std::optional<store::ActivityId> first{};  ///< the activity that is fresh
    std::shared_ptr<SessionMemory> memory{};
    bool lapsed = false;
    BootTime looked_at = kLongAgo;  ///< since it has lapsed
    bool said_overdue = false;
    bool hand_over = false;
    bool wanted_back = false;
    bool unsaved = false;  ///< its state could not be saved: its work goes on, whoever asks for it
    bool refused = false;  ///< the store would not let it go
    bool said_stranded = false;
    std::optional<Leaving> leaving{};
    bool saving = false;                 ///< a thread saves it, for whichever leaving is the newest
    BootTime not_before = kLongAgo;      ///< is it tried again to let it go
    BootTime look_at = BootTime::max();  ///< its place in the agenda; max: it has none
    Gauge* shown_in = nullptr;           ///< where its state is counted
    std::list<Held*>::iterator place{};  ///< in the order of rest
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view id) const noexcept { return std::hash<std::string_view>{}(id); }
  };
  using Books = std::unordered_map<std::string, HeldPointer, Hash, std::equal_to<>>;

  HeldPointer take_up(const store::SessionGrant& grant, BootTime asked) HOLDFAST_REQUIRES(mutex_);
  HeldPointer add(const store::SessionGrant& grant, BootTime asked, store::SessionReason reason)
      HOLDFAST_REQUIRES(mutex_);
  void claim_again(const HeldPointer& held, const store::SessionGrant& grant, BootTime asked)
      HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] static Duration quiet_for(const Held& held, BootTime now) {
    return held.activities > 0 ? Duration::zero() : std::max(now - held.quiet_since, Duration::zero());
  }
  void wish(const std::string& id);
  void end_wish(const std::string& id);
  [[nodiscard]] bool is_held(const Held& held) const HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] static bool takes_no_more(const Held& held) {
    return held.wanted_back && !held.fails && !held.unsaved;
  }
  [[nodiscard]] static BootTime renewal_due_of(const Held& held);
  void note_lease(const Held& held) HOLDFAST_REQUIRES(mutex_);
  void keep_in_time(const Held& held) HOLDFAST_REQUIRES(mutex_);
  void end_stay(const HeldPointer& held, bool aborted);
  [[nodiscard]] HeldPointer find_current(const store::SessionHold& hold) const HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] bool may_leave(const Held& held) const HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] bool is_room_wanted() const HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] HeldPointer longest_quiet() const HOLDFAST_REQUIRES(mutex_);
  void rest_from_now(const HeldPointer& held) HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] BootTime leaves_at(const Held& held) const HOLDFAST_REQUIRES(mutex_);
  void look_by(const HeldPointer& held, BootTime time) HOLDFAST_REQUIRES(mutex_);
  void take_off_agenda(Held& held) HOLDFAST_REQUIRES(mutex_);
  void stop_leaving(Held& held) HOLDFAST_REQUIRES(mutex_);
  void come_back(const HeldPointer& held, BootTime not_before) HOLDFAST_REQUIRES(mutex_);
  void show(Held& held, Gauge* state) const;
  void show(Held& held) const;
  void begin_to_leave(const HeldPointer& held, store::SessionReason reason) HOLDFAST_REQUIRES(mutex_);
  void save(const HeldPointer& held);
  struct Saved {
    std::optional<std::string> bytes{};
    std::string problem{};
    bool unanswered = false;  ///< the store did not say what it has
  };
  [[nodiscard]] Saved save(SessionMemory& memory, const store::SessionHold& hold, bool all_or_nothing) const;
  void saved(const HeldPointer& held, Saved result) HOLDFAST_REQUIRES(mutex_);
  void leave(const HeldPointer& held, store::SessionReason reason) HOLDFAST_REQUIRES(mutex_);
  void tell(const SessionHook& hook, SessionNotice notice) HOLDFAST_REQUIRES(mutex_);
  void tell_next();
  void run(std::function<void()> job);
  [[nodiscard]] SessionMemory::Dispose disposer();
  [[nodiscard]] StoreResult<std::optional<std::string>> read_saved(const std::weak_ptr<Held>& of) const;

  const Settings& settings_;
  const Standing& standing_;
  Waker& waker_;
  Executor& executor_;
  std::weak_ptr<const void> owner_;
  mutable Mutex mutex_;
  Books books_ HOLDFAST_GUARDED_BY(mutex_);
  std::multiset<std::string, std::less<>> wishes_
      HOLDFAST_GUARDED_BY(mutex_);  // ids that verbs are asking the store for
  Condition released_;              // or not: the store has answered
  std::uint64_t last_number_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_leaving_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  // Those at rest, not later than they have to leave; some may work again by then.
  Agenda agenda_ HOLDFAST_GUARDED_BY(mutex_);
  std::list<Held*> by_rest_ HOLDFAST_GUARDED_BY(mutex_);  // all, by the time when they came to rest last
  std::map<std::uint64_t, HeldPointer> leaving_ HOLDFAST_GUARDED_BY(mutex_);  // all that leave, by number
  std::optional<BootTime> renewal_due_
      HOLDFAST_GUARDED_BY(mutex_);  // not later than it is; unknown after renewals
  BootTime overdue_from_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::max();  // no lease is over before that
  BootTime room_wanted_until_ HOLDFAST_GUARDED_BY(mutex_) = kLongAgo;
  BootTime room_wanted_at_ HOLDFAST_GUARDED_BY(mutex_) = kLongAgo;
  BootTime room_made_at_ HOLDFAST_GUARDED_BY(mutex_) =
      kLongAgo;  // when one left last: who asked before that could not know
  // Posted, and not yet done; what destroys states may outlive the desk.
  std::shared_ptr<std::atomic<int>> jobs_ = std::make_shared<std::atomic<int>>(0);
  std::deque<std::function<void()>> notices_ HOLDFAST_GUARDED_BY(mutex_);  // for hooks, one after the other
  bool telling_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::atomic<bool> lost_a_state_{false};
};

}  // namespace holdfast::runtime
