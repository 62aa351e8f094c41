// AttemptEnds: what the end of an attempt means, and who has to hear of it.
#pragma once

#include "runtime/cache.hpp"
#include "runtime/calls.hpp"
#include "runtime/chance.hpp"
#include "runtime/outbox.hpp"
#include "runtime/settings.hpp"
#include "runtime/waker.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store/sessions.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::runtime {

/// An attempt is put back, retried, or has an outcome. An outcome goes straight into the next turn where that
/// is possible, all else to the outbox. Any thread; for whoever holds no mutex.
class AttemptEnds {
 public:
  /// What its session or the store keeps from running for a moment is tried again after this: not at once, or
  /// it would go round in circles while the moment lasts.
  static constexpr Duration kMoment = std::chrono::milliseconds(100);

  AttemptEnds(const Settings& settings, Waker& waker, Chance& chance, InstanceCache& cache, Outbox& outbox)
      : settings_(settings), waker_(waker), chance_(chance), cache_(cache), outbox_(outbox) {}

  /// Its code has returned, with what its session saves along with that.
  void ended(const detail::ActivityCall& call, Result<Payload> result,
             std::optional<store::SessionSave> save);
  /// It took longer than its timeout. Its code goes on for now; in a session that has a limit it counts for
  /// as long as it does.
  void timed_out(const detail::ActivityCall& call);
  /// It fails without being run.
  void failed_unrun(const store::LockedActivity& locked, LockToken token, Failure failure);

 private:
  void conclude(const detail::ActivityCall& call, Result<Payload> result,
                std::optional<store::SessionSave> save, bool still_runs);
  [[nodiscard]] std::optional<Duration> put_back_after(const detail::ActivityCall& call,
                                                       bool still_runs) const;
  void complete(const detail::ActivityCall& call, Failure& failure) const;
  void finish(const detail::ActivityCall& call, Result<Payload> result,
              std::optional<store::SessionSave> save, std::optional<std::string> abort, bool still_runs);

  const Settings& settings_;
  Waker& waker_;
  Chance& chance_;
  InstanceCache& cache_;
  Outbox& outbox_;
};

}  // namespace holdfast::runtime
