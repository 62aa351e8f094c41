// TurnFetch: asks the store for instances that are ready, and puts them into the cache.
#pragma once

#include "base/moments.hpp"
#include "base/mutex.hpp"
#include "runtime/cache.hpp"
#include "runtime/chance.hpp"
#include "runtime/outbox.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/store_calendar.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/suspect.hpp"
#include "runtime/waker.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/store/turns.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::runtime {

/// Any thread. One fetches at a time; the others go on with what is there.
class TurnFetch {
 public:
  /// Enough to fill a commit, few enough to keep it short.
  static constexpr std::size_t kBatch = 256;

  TurnFetch(const Settings& settings, Standing& standing, Waker& waker, Chance& chance, InstanceCache& cache,
            Outbox& outbox, StoreTrouble& trouble)
      : settings_(settings),
        standing_(standing),
        waker_(waker),
        chance_(chance),
        cache_(cache),
        outbox_(outbox),
        trouble_(trouble) {}

  enum class Fetched : std::uint8_t {
    nothing,
    some,
    elsewhere,  ///< another thread does, or a suspect has to be run first: whoever it is looks again
  };
  /// Fetches if that is worth its while.
  Fetched fetch();

  /// The store may have more.
  void want() noexcept { wanted_ = true; }
  [[nodiscard]] bool is_wanted() const noexcept { return wanted_; }
  /// When a fetch is worth its while without being asked for.
  [[nodiscard]] BootTime due() const noexcept { return due_; }
  /// The store's calendar, now.
  [[nodiscard]] CalendarTime calendar_now() const { return calendar_.at(settings_.now()); }

  /// An instance has had its turn, or goes back. If it was the suspect, others are fetched again.
  void clear_suspect(InstanceKey key);

 private:
  bool fetch_alone() HOLDFAST_REQUIRES(fetching_);
  void keep_one_suspect(std::vector<store::LockedTurn>& turns);

  const Settings& settings_;
  Standing& standing_;
  Waker& waker_;
  Chance& chance_;
  InstanceCache& cache_;
  Outbox& outbox_;
  StoreTrouble& trouble_;
  SuspectInstance suspect_;
  StoreCalendar calendar_;
  std::atomic<bool> wanted_{true};
  std::atomic<BootTime> due_{kLongAgo};
  Mutex fetching_;
  /// Of a fetch that may have locked something nobody here knows of.
  std::optional<LockToken> unanswered_ HOLDFAST_GUARDED_BY(fetching_);
};

}  // namespace holdfast::runtime
