// SessionLeavers: which sessions of a worker leave, and when.
#pragma once

#include "runtime/held_session.hpp"
#include "runtime/session_changes.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/sessions.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// What a session's code made of it when its states were saved.
struct SavedSession {
  std::optional<std::string> bytes{};
  std::string problem{};
  bool unanswered = false;  ///< the store did not say what it has
};

/// A session leaves when it is idle, when another one needs its room, when its work belongs to another
/// worker, when somebody asks for it, or when this worker drains: it is saved, then the store is asked, and
/// lets it go or not.
///
/// It may know very many: what is asked for at every keep step costs what has changed or is due. It calls
/// nobody: what has to be done is in the orders. Not thread-safe.
class SessionLeavers {
 public:
  SessionLeavers(const Settings& settings, const Standing& standing, const SessionWishes& wishes)
      : settings_(settings), standing_(standing), wishes_(wishes) {}

  /// One has come, at rest. One has left: there is room for another.
  void add(const HeldPointer& held);
  void remove(HeldSession& held, SessionOrders& orders);

  /// It comes to rest now: an activity of it is over, or somebody has asked for it.
  void rest_from_now(const HeldPointer& held);
  /// It is looked at when it may leave, if it stays at rest until then.
  void look_again(const HeldPointer& held) { look_by(held, held->leaves_at()); }
  /// An activity of it is over, and it is at rest.
  void came_to_rest(const HeldPointer& held, SessionOrders& orders);
  /// It has work that only others can do, or somebody asks for it.
  void want_hand_over(const HeldPointer& held);
  /// Another session waits for a worker that has room, as the store said when it was `asked`.
  void want_room(BootTime asked);

  /// It has work again, or its lease is over: it does not leave for now.
  void stop_leaving(HeldSession& held, SessionOrders& orders);

  /// Those that are to leave now begin to be saved. `all`: this worker drains.
  template <class Books>
  void choose(const Books& all, bool draining, SessionOrders& orders) {
    if (draining) {
      for (const auto& [id, held] : all) {
        if (may_leave(*held) && held->not_before <= settings_.now())
          begin_to_leave(held, store::SessionReason::drained, orders);
      }
    }
    choose_due(orders);
    choose_displaced(orders);
  }
  /// What was saved of one, or why it could not be.
  void saved(const HeldPointer& held, SavedSession&& result, SessionOrders& orders);
  /// Those that are saved, or have nothing to save; by id.
  std::vector<store::SessionRelease> releases();
  /// The store did not answer for this one; it is asked again then.
  void not_released(HeldSession& held, BootTime retry_at, SessionOrders& orders);
  /// The store won't let it go.
  void stays(const HeldPointer& held, const std::string& why, SessionOrders& orders);

  /// When one may leave, or the store should be asked again.
  template <class Books>
  [[nodiscard]] BootTime next_due(const Books& all) const {
    BootTime due = next_due();
    if (standing_.accepts()) return due;
    for (const auto& [id, held] : all) {
      if (may_leave(*held)) due = std::min(due, held->not_before);
    }
    return due;
  }
  /// A session has left with this worker, and its code could not save what was in memory.
  [[nodiscard]] bool lost_a_state() const noexcept { return lost_a_state_; }
  /// Counts it where its state is shown.
  void show(HeldSession& held) const;

 private:
  /// How long a wish for room counts: a little longer than until the next fetch, which is once per second.
  static constexpr Duration kWish = std::chrono::milliseconds(1500);
  /// By the time when to look at one, and its number here.
  using Agenda = std::map<std::pair<BootTime, std::uint64_t>, HeldPointer>;

  [[nodiscard]] bool may_leave(const HeldSession& held) const;
  [[nodiscard]] bool is_room_wanted() const;
  [[nodiscard]] HeldPointer longest_quiet() const;
  void choose_due(SessionOrders& orders);
  void choose_displaced(SessionOrders& orders);
  void look_by(const HeldPointer& held, BootTime time);
  void take_off_agenda(HeldSession& held);
  void come_back(const HeldPointer& held, BootTime not_before, SessionOrders& orders);
  void begin_to_leave(const HeldPointer& held, store::SessionReason reason, SessionOrders& orders);
  [[nodiscard]] BootTime next_due() const;
  static void show(HeldSession& held, Gauge* state);

  const Settings& settings_;
  const Standing& standing_;
  const SessionWishes& wishes_;
  std::uint64_t last_leaving_ = 0;
  Agenda agenda_;  // those at rest, not later than they have to leave; some may work again by then
  std::list<HeldPointer> by_rest_;                // all, by the time when they came to rest last
  std::map<std::uint64_t, HeldPointer> leaving_;  // all that leave, by number
  BootTime room_wanted_until_ = kLongAgo;
  BootTime room_wanted_at_ = kLongAgo;
  BootTime room_made_at_ = kLongAgo;  // when one left last: who asked before that could not know
  bool lost_a_state_ = false;
};

}  // namespace holdfast::runtime
