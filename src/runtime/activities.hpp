// The two steps of activities: fetching them, and telling the store how they ended.
#pragma once

#include "runtime/chance.hpp"
#include "runtime/desk.hpp"
#include "runtime/outbox.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/waker.hpp"

#include <atomic>
#include <optional>
#include <vector>

namespace holdfast::runtime {

/// Fetches as many activities as there are free slots. One thread at a time.
class FetchStep {
 public:
  FetchStep(const Settings& settings, Standing& standing, Waker& waker, Chance& chance, ActivityDesk& desk,
            SessionDesk& sessions)
      : settings_(settings),
        standing_(standing),
        waker_(waker),
        chance_(chance),
        desk_(desk),
        sessions_(sessions),
        trouble_(settings) {}

  Progress step();
  /// The store may have more.
  void want() noexcept { wanted_ = true; }

 private:
  Progress fetch(const store::ActivityRequest& request);
  void stop_repeating(LockToken token);
  void mind_sessions(const store::FetchedActivities& fetched, BootTime asked);
  void put_back_suspects(std::vector<store::LockedActivity>& activities, LockToken token);

  const Settings& settings_;
  Standing& standing_;
  Waker& waker_;
  Chance& chance_;
  ActivityDesk& desk_;
  SessionDesk& sessions_;
  StoreTrouble trouble_;
  std::atomic<bool> wanted_{true};
  BootTime due_ = kLongAgo;
  std::optional<LockToken> unanswered_;  // of a fetch that may have locked something nobody here knows of
};

/// Sends the answers that queued up since the last call: threads that run activities never wait for a commit.
/// One that the store could not take is tried again after a pause of its own; the others don't wait for it.
/// One thread at a time.
class AnswerStep {
 public:
  AnswerStep(const Settings& settings, ActivityDesk& desk, Outbox& outbox)
      : settings_(settings), desk_(desk), outbox_(outbox), trouble_(settings) {}

  Progress step();

 private:
  /// An answer that the store could not take.
  struct Refused {
    store::ActivityResult answer{};
    BackOff back_off{};
    BootTime due{};
  };

  void take_due(std::vector<store::ActivityResult>& answers, std::vector<BackOff>& back_offs);
  [[nodiscard]] BootTime next_due() const;

  const Settings& settings_;
  ActivityDesk& desk_;
  Outbox& outbox_;
  StoreTrouble trouble_;
  std::vector<Refused> refused_;
};

}  // namespace holdfast::runtime
