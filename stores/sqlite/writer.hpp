// Writer: the one connection that writes, and the group commit over it.
#pragma once

#include "base/role.hpp"
#include "contract/group_commit.hpp"
#include "working_set.hpp"

#include <holdfast/store/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace holdfast::sqlite_store {

using store::Order;
using Job = store::Job<WorkingSet>;

/// Runs a group of jobs in one transaction and commits once for all. Nobody is answered before that commit.
class Writer {
 public:
  /// What surrounds a transaction: turns between processes, the clock, publishing.
  struct Hooks {
    /// Before a transaction: whether its commit has to wait for the disk. Locks alone need not: a power cut
    /// that takes them takes the process that holds them, too, and the next commit that waits brings them to
    /// the disk.
    std::function<void(bool)> wait_for_disk{};
    /// Takes the write lock, for a group whose first call has waited for so long already.
    std::function<void(std::chrono::milliseconds)> begin{};
    std::function<void()> commit{};                     ///< of what was done since
    std::function<void(int)> failed{};                  ///< with that code of SQLite
    std::function<void()> others_wrote{};               ///< since the last transaction here; in a new one
    std::function<BootTime()> lease_now{};              ///< asked after the write lock was granted
    std::function<void()> over{};                       ///< the write lock is free again
    std::function<void(const store::News&)> publish{};  ///< after the commit
    std::function<void()> unavailable{};                ///< somebody is answered so
    std::function<bool()> make_room{};                  ///< with no transaction open: is there more now?
    std::function<bool()> log_is_long{};                ///< asked after commits; then
    std::function<void()> shorten_log{};                ///< is called with no transaction open
  };

  Writer(Link& link, const Clock& clock, Hooks hooks)
      : link_(link), clock_(clock), hooks_(std::move(hooks)), set_(link, Access::writes) {}

  /// Returns when every item has its answer.
  void run(Job& job);

 private:
  using Item = store::ItemOf<Job>;
  // An error that doesn't depend on what was asked for: trying the items one by one would not help.
  struct Unavailable {
    StoreError error{};
  };

  void lead(std::span<store::GroupedCall* const> group) HOLDFAST_REQUIRES(leading_);
  void commit_together(std::span<const Item> items) HOLDFAST_REQUIRES(leading_);
  void commit_alone(const Item& item) HOLDFAST_REQUIRES(leading_);
  enum class WhenFull : std::uint8_t { make_room, give_up };
  void commit(std::span<const Item> items, WhenFull when_full = WhenFull::make_room)
      HOLDFAST_REQUIRES(leading_);
  void run_transaction(std::span<const Item> items) HOLDFAST_REQUIRES(leading_);
  void undo() noexcept HOLDFAST_REQUIRES(leading_);
  static void fail_all(std::span<const Item> items, const StoreError& error);

  Link& link_;
  const Clock& clock_;
  Hooks hooks_;
  Role leading_;  // which the queue gives to one thread at a time
  WorkingSet set_ HOLDFAST_GUARDED_BY(leading_);
  std::int64_t data_version_ HOLDFAST_GUARDED_BY(leading_) = 0;
  /// As was told. What others write does not change it: they tell of what is due sooner.
  BootTime next_sweep_ HOLDFAST_GUARDED_BY(leading_) = rules::kNever;
  // Since when the group that is led waits for the lock.
  std::chrono::steady_clock::time_point came_ HOLDFAST_GUARDED_BY(leading_){};

  Duration waited_for_disk_ HOLDFAST_GUARDED_BY(leading_){};  // by the group that is led

  // Keeps a transaction well below 50 ms: an item takes 10 to 50 microseconds.
  static constexpr std::size_t kItemsPerTransaction = 500;
  store::CallQueue queue_{kItemsPerTransaction};
};

}  // namespace holdfast::sqlite_store
