// Standing: what a worker is to the store at the moment: its registration, and whether it takes new work.
#pragma once

#include "base/moments.hpp"
#include "runtime/waker.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/error.hpp>

#include <atomic>
#include <cstdint>

namespace holdfast::runtime {

/// Any thread reads it, and notes what errors of the store say about it. Only the keep step, and whoever
/// joins or stops the worker, change it for good.
class Standing {
 public:
  Standing(Waker& waker, Duration stale_after) : waker_(waker), stale_after_(stale_after) {}
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

  /// The registration that calls are made under; given by the store at join.
  [[nodiscard]] WorkerKey key() const noexcept { return {key_}; }
  void set_key(WorkerKey key) noexcept { key_ = key.value; }

  /// Whether it takes new work.
  [[nodiscard]] bool accepts() const noexcept { return accepts_; }
  void set_accepts(bool accepts) noexcept { accepts_ = accepts; }

  /// Whether another process runs under this node's name.
  [[nodiscard]] bool is_superseded() const noexcept { return superseded_; }
  void set_superseded(bool superseded) noexcept { superseded_ = superseded; }

  /// Whether the store has removed the registration: it has to join again.
  [[nodiscard]] bool is_forgotten() const noexcept { return forgotten_; }
  bool take_forgotten() noexcept { return forgotten_.exchange(false); }
  void set_forgotten() noexcept { forgotten_ = true; }

  /// The store has heard a sign of life that was sent then.
  void heard_at(BootTime asked) noexcept { heard_at_ = asked; }
  /// Until then nobody takes this worker for gone, also if the store hears no more of it. The margin is for
  /// what begins just before that.
  [[nodiscard]] BootTime known_until() const {
    return after(heard_at_.load(), stale_after_ - stale_after_ / 8);
  }
  /// Until then it is not among the first that a sweep could take for gone.
  [[nodiscard]] BootTime known_well_until() const { return after(heard_at_.load(), stale_after_ / 2); }

  /// Notes what an error says about the registration; the keep step acts on it. `asked_as` is the
  /// registration that the call was made under: it may have joined again since.
  void note(const StoreError& error, WorkerKey asked_as) {
    if (asked_as != key()) return;
    const bool news = (error.kind == StoreError::Kind::superseded && !superseded_.exchange(true)) ||
                      (error.kind == StoreError::Kind::not_found && !forgotten_.exchange(true));
    if (news) waker_.poke(Step::keep);
  }

 private:
  Waker& waker_;
  const Duration stale_after_;
  std::atomic<std::uint64_t> key_{0};
  std::atomic<bool> accepts_{false};
  std::atomic<bool> superseded_{false};
  std::atomic<bool> forgotten_{false};
  std::atomic<BootTime> heard_at_{kLongAgo};
};

}  // namespace holdfast::runtime
