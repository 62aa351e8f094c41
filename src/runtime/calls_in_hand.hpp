// CallsInHand: the attempts that a worker has locked, from the moment when their code begins to that of their
// answer.
#pragma once

#include "base/block_containers.hpp"
#include "runtime/calls.hpp"
#include "runtime/settings.hpp"
#include "runtime/stopping.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/activities.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime {

using CallPointer = std::shared_ptr<detail::ActivityCall>;

/// What is to be done about calls, by somebody who holds no mutex: code of the user is called, the store and
/// other parts are told.
struct CallOrders {
  struct Stop {
    CallPointer call{};
    CancelReason reason{};
    std::optional<BootTime> taken_at{};  ///< by the store, if that is known
  };
  std::vector<Stop> stop{};              ///< their code is asked to stop
  std::vector<CallPointer> end{};        ///< their coroutines are ended
  std::vector<CallPointer> timed_out{};  ///< they are answered as such
  std::vector<CallPointer> lapsed{};     ///< their locks could not be kept
  std::vector<CallPointer> abandoned{};  ///< their code goes on, without a slot
  std::vector<CallPointer> over{};       ///< let go: they may be the last in their sessions
  std::vector<store::CancelAcknowledgement> acknowledge{};
  BootTime limit_by = BootTime::max();  ///< somebody has to look at them by then
};

/// A call is here under its lock, until the store knows how it ended. When the lease of the lock is over, its
/// code is asked to stop, but what it returns counts for as long as nobody else has taken the activity. When
/// it is this worker that locks it again, it is not run twice: what is in hand goes on under the new lock.
///
/// Knows no threads and calls no code of the user: what has to be done is in the orders. Not thread-safe.
class CallsInHand {
 public:
  using Key = std::pair<store::ActivityId, LockToken>;

  explicit CallsInHand(const Settings& settings) : settings_(settings) {}

  // ---- locks that are asked for -----------------------------------------------------------------

  /// The store is about to be asked to lock activities by this token. What it says about them before they
  /// begin here counts.
  void expect(LockToken token) { expected_.insert(token); }
  /// All that was locked by this token has begun.
  void stop_expecting(LockToken token, CallOrders& orders);
  /// Whether the store has taken it away before it came.
  bool was_cancelled_early(const Key& key, CallOrders& orders);

  // ---- coming and going -------------------------------------------------------------------------

  void add(const CallPointer& call, BootTime lease_until);
  /// An activity was locked again. If it is in hand, and nobody else had it in between, nor the session whose
  /// `memory` it uses, it goes on: then the lock that it had before is returned.
  std::optional<LockToken> take_again(const store::LockedActivity& locked, LockToken token, BootTime asked,
                                      const SessionMemory* memory);

  struct CodeEnd {
    bool known = false;                     ///< it is in hand
    bool frees_slot = false;                ///< nobody has given it up before
    std::optional<CancelReason> stopped{};  ///< it was asked to stop, for this reason
  };
  /// Its code has returned.
  CodeEnd code_ended(const detail::ActivityCall& call, CallOrders& orders);
  /// The store knows how it ended. Where that was a timeout its code may go on: then it is not over yet, and
  /// nothing is returned.
  [[nodiscard]] CallPointer close(const Key& key, CallOrders& orders);
  /// It ended after its instance had dropped it, so the request to stop it will find nobody: it is answered
  /// now.
  [[nodiscard]] CallPointer drop(const Key& key, CallOrders& orders);
  /// The lock is gone for this reason: nothing is answered any more.
  void cancel(const Key& key, CancelReason reason, std::optional<BootTime> taken_at, CallOrders& orders);
  /// Asks everything to stop; what runs in a session that nobody else may claim for a reason of its own.
  void stop_all(CancelReason reason, CancelReason in_fail_session, CallOrders& orders);

  // ---- time -------------------------------------------------------------------------------------

  /// Attempts that took too long, locks that could not be kept, code that does not stop.
  void check(CallOrders& orders);
  /// When check() has something to do.
  [[nodiscard]] BootTime next_limit() const;
  /// Locks to renew, with what heartbeats said.
  std::vector<store::ActivityRenewal> renewals();
  void renewed(std::span<const store::ActivityRenewal> renewals, BootTime asked, CallOrders& orders);

  // ---- questions --------------------------------------------------------------------------------

  [[nodiscard]] CallPointer find(const Key& key) const;
  /// What the activity of an answer that was refused is locked by now, if this worker has locked it again.
  [[nodiscard]] std::optional<LockToken> newer_lock(const Key& key) const;
  /// The store says that this lock is another's. True while that may be a fetch of this worker which is under
  /// way.
  [[nodiscard]] bool may_be_locked_again(const Key& key);
  /// When the last one began that may be what kills its workers, if one is here.
  [[nodiscard]] std::optional<BootTime> suspect_since() const;
  /// Those whose code runs in a slot.
  [[nodiscard]] std::vector<CallPointer> running() const;
  /// Whether one comes to its end soon: its code can be ended, or, if the store takes it, its answer is on
  /// its way.
  [[nodiscard]] bool ends_soon(bool store_answers) const;
  [[nodiscard]] std::size_t size() const noexcept { return calls_.size(); }

 private:
  using State = store::CancelRecord::State;
  using Tokens = BlockSet<LockToken>;
  struct Entry {
    CallPointer call{};
    std::uint32_t delivery = 0;  ///< of the lock that it has now
    BootTime lease_until{};
    Stopping stopping{};
    bool code_runs = true;            ///< in a slot
    bool abandoned = false;           ///< its code goes on without one
    bool lapsed = false;              ///< its lease is over, as far as this process knows
    bool gone = false;                ///< nothing to answer
    bool on_record = false;           ///< taken away or timed out: the store wants to know how its code ends
    std::vector<LockToken> former{};  ///< locks that were over, before this worker locked it again
    /// The fetches that were under way when the store said that it is another's.
    std::optional<Tokens> overtaken_by{};
  };
  using Calls = BlockMap<Key, Entry>;

  void ask_to_stop(Entry& entry, CancelReason reason, std::optional<BootTime> taken_at, CallOrders& orders);
  void check_attempt(Entry& entry, BootTime now, CallOrders& orders);
  Calls::iterator check_grace(Calls::iterator it, BootTime now, CallOrders& orders);
  Calls::iterator let_go(Calls::iterator it, CallOrders& orders);
  static void acknowledge(const Key& key, const Entry& entry, State state, CallOrders& orders);
  [[nodiscard]] bool may_be_locked_again(Entry& entry) const;

  const Settings& settings_;
  Calls calls_;
  Tokens expected_;
  std::set<Key> cancelled_early_;  // of those that are expected
};

}  // namespace holdfast::runtime
