// SessionBooks: the sessions that a worker holds, as the store has said.
#pragma once

#include "runtime/held_session.hpp"
#include "runtime/session_changes.hpp"
#include "runtime/session_leavers.hpp"
#include "runtime/session_stay.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/sessions.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::runtime {

/// Follows a session from the claim to the moment when it has left: which lease it has, when it has to be
/// renewed, whether somebody else may have it by now. Answers of the store may come late: what is in the
/// books under an id is the same hold, one before, or one after. It calls nobody: what has to be done is in
/// the orders. Not thread-safe.
class SessionBooks {
 public:
  /// Makes what the activities of a session share. `saved`: what the claim gave; nothing: it has to be read.
  using MakeMemory = std::function<std::shared_ptr<SessionMemory>(
      const HeldPointer& held, std::optional<std::optional<std::string>> saved)>;

  SessionBooks(const Settings& settings, const Standing& standing, SessionLeavers& leavers,
               MakeMemory make_memory)
      : settings_(settings), standing_(standing), leavers_(leavers), make_memory_(std::move(make_memory)) {}

  // ---- coming -----------------------------------------------------------------------------------

  /// An activity of it was locked, and it may have been claimed with it.
  HeldPointer take_up(const store::SessionGrant& grant, BootTime asked, SessionOrders& orders);
  /// An activity that was locked is about to run. Null when it must not: see SessionDesk.
  HeldPointer enter(const store::LockedActivity& locked, BootTime asked, SessionOrders& orders);
  /// An activity of it is over; `aborted`: it has ended the session.
  void end_stay(const HeldPointer& held, bool aborted, SessionOrders& orders);
  /// acquire_session was answered: it is this worker's.
  void acquired(const store::Acquired& acquired, BootTime asked, SessionOrders& orders);
  /// Its lease was over, and the store says that it is this worker's again.
  void held_again(const store::SessionHold& before, const store::SessionView& view, BootTime asked,
                  SessionOrders& orders);

  // ---- keeping ----------------------------------------------------------------------------------

  /// By id.
  [[nodiscard]] std::vector<store::SessionRenewal> renewals();
  /// When the first of them has to be renewed.
  [[nodiscard]] BootTime renewal_due();
  void renewed(const store::SessionHold& hold, BootTime asked);
  void not_renewed(const store::SessionHold& hold, BootTime retry_at);
  void lapsed(const store::SessionHold& hold, SessionOrders& orders);
  /// Those whose lease is over, at most `max`, and first those that were answered longest ago.
  [[nodiscard]] std::vector<store::SessionHold> lapsed_ones(std::size_t max);
  /// Says which leases could not be kept, once for each.
  void note_overdue(SessionOrders& orders);

  // ---- leaving ----------------------------------------------------------------------------------

  void leave(const HeldPointer& held, store::SessionReason reason, SessionOrders& orders);
  void all_left(store::SessionReason reason, SessionOrders& orders);

  // ---- questions --------------------------------------------------------------------------------

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view id) const noexcept { return std::hash<std::string_view>{}(id); }
  };
  using Books = std::unordered_map<std::string, HeldPointer, Hash, std::equal_to<>>;
  [[nodiscard]] const Books& all() const noexcept { return books_; }
  /// Null when it is not here; or not under this very hold.
  [[nodiscard]] HeldPointer find(std::string_view id) const;
  [[nodiscard]] HeldPointer find(const store::SessionHold& hold) const;
  /// Past its lease somebody else may have it; and when the store has not heard of this worker for long,
  /// others may take it for gone, and with it all that it holds.
  [[nodiscard]] bool is_held(const HeldSession& held) const;

 private:
  HeldPointer add(const store::SessionGrant& grant, BootTime asked, store::SessionReason reason,
                  SessionOrders& orders);
  void claim_again(const HeldPointer& held, const store::SessionGrant& grant, BootTime asked,
                   SessionOrders& orders);
  void note_lease(const HeldSession& held);
  static void keep_in_time(const HeldSession& held, SessionOrders& orders);

  const Settings& settings_;
  const Standing& standing_;
  SessionLeavers& leavers_;
  const MakeMemory make_memory_;
  Books books_;
  std::uint64_t last_number_ = 0;
  std::optional<BootTime> renewal_due_;      // not later than it is; unknown after renewals
  BootTime overdue_from_ = BootTime::max();  // no lease is over before that
};

}  // namespace holdfast::runtime
