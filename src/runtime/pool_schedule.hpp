// Which piece of work a thread of a pool begins next, and who is called for what it leaves behind. Threads
// carry it out: see ThreadPool.
#pragma once

#include "base/ring.hpp"
#include "runtime/work.hpp"

#include <holdfast/options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace holdfast::runtime {

/// Events and times go in, orders come out: it knows neither threads nor a clock. Not thread-safe.
class PoolSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The rest waits for work that others want to begin, but no longer than half of what it takes itself,
  /// within these bounds.
  static constexpr Duration kRestWaitsAtLeast = std::chrono::microseconds(300);
  static constexpr Duration kRestWaitsAtMost = std::chrono::milliseconds(5);
  /// What has waited for longer is late: whoever was to begin it has not come.
  static constexpr Duration kLateAfter = std::chrono::microseconds(400);

  enum class Kind : std::uint8_t { brief, ordinary, apart };
  /// Who is to see to what is there.
  enum class Order : std::uint8_t {
    none,  ///< somebody will
    call,  ///< one thread more
    look,  ///< whoever is busy with brief work, unless that is late: a thread has to look now and then
  };
  /// Where something is posted or asked for.
  enum class From : std::uint8_t {
    outside,
    work,  ///< by work of the pool, whose thread comes back when that has ended
    rest,  ///< by the rest, likewise
  };
  struct Piece {
    Work work{};  ///< empty: the rest
    bool is_brief = false;
    Order others = Order::none;  ///< for what is left
  };

  Order post(Work work, Kind kind, From from, Time now) {
    work_.push_back({std::move(work), now, kind == Kind::brief});
    const bool comes_back = from != From::outside && kind != Kind::apart;
    if (comes_back && work_.size() == 1) return Order::none;
    return kind == Kind::brief && (comes_back || brief_ > 0) ? Order::look : Order::call;
  }
  /// Work that runs in a thread of the pool asks for what follows it: that thread looks itself.
  Order ask_for_rest(From from, Time now) {
    want_rest(now);
    return from == From::work ? Order::none : Order::call;
  }
  /// Precondition: anything().
  Piece begin(Time now) {
    Piece piece;
    if (rest_is_next(now)) {
      rest_wanted_ = false;
    } else {
      Posted next = work_.take_front();
      piece.work = std::move(next.run);
      piece.is_brief = next.is_brief;
    }
    piece.others = order_for_others(piece.is_brief, now);
    if (piece.is_brief) ++brief_;
    return piece;
  }
  void end_work(bool was_brief) {
    if (was_brief) --brief_;
  }
  /// `again`: there is more of it.
  void end_rest(Duration took, bool again, Time now) {
    rest_takes_ += (took - rest_takes_) / 8;
    if (again) want_rest(now);
  }
  /// No rest any more: only what was posted is still run.
  void stop() {
    stopped_ = true;
    rest_wanted_ = false;
  }

  [[nodiscard]] bool has_work() const noexcept { return !work_.empty(); }
  [[nodiscard]] bool anything() const noexcept { return rest_wanted_ || !work_.empty(); }
  [[nodiscard]] bool anything_late(Time now) const {
    const Time late = now - kLateAfter;
    return (!work_.empty() && work_.front().at < late) || (rest_wanted_ && rest_asked_ < late);
  }

 private:
  struct Posted {
    Work run{};
    Time at{};
    bool is_brief = false;
  };

  void want_rest(Time now) {
    if (stopped_ || std::exchange(rest_wanted_, true)) return;
    rest_asked_ = now;
  }
  [[nodiscard]] bool rest_is_next(Time now) const {
    if (!rest_wanted_) return false;
    return work_.empty() ||
           now - rest_asked_ > std::clamp(rest_takes_ / 2, kRestWaitsAtLeast, kRestWaitsAtMost);
  }
  /// A thread is about to run one piece: the others are begun by others, unless that and all of them are
  /// brief.
  [[nodiscard]] Order order_for_others(bool is_brief, Time now) const {
    if (!anything()) return Order::none;
    const bool all_brief = is_brief && (work_.empty() || work_.front().is_brief);
    return all_brief && !anything_late(now) ? Order::look : Order::call;
  }

  Ring<Posted> work_;
  bool rest_wanted_ = false;
  Time rest_asked_{};
  Duration rest_takes_{};  // lately
  std::size_t brief_ = 0;  // pieces of brief work that run
  bool stopped_ = false;
};

}  // namespace holdfast::runtime
