// Writer: the one connection that writes, and the group commit over it.
#pragma once

#include "transaction.hpp"

#include <holdfast/store/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace holdfast::sqlite_store {

/// Where a call stands in its group, and what it needs.
enum class Place : std::uint8_t {
  first,  ///< renewals: nothing may make them late
  middle,
  last,  ///< fetches of turns: they find what the rest of the group has made ready
};

/// A call that writes: one item or several. It lives on the stack of the thread that called.
class Job {
 public:
  explicit Job(std::size_t size, Place place = Place::middle) noexcept : size_(size), place_(place) {}
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Does one item and keeps its answer. May be called again for the same item after a rollback: then what it
  /// kept before counts no more. Throws when the transaction can't go on.
  virtual void run(Transaction& tx, std::size_t item) = 0;
  /// The item has failed, or nobody knows what became of it.
  virtual void fail(std::size_t item, const StoreError& error) = 0;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Place place() const noexcept { return place_; }

 private:
  friend class Writer;
  enum State : std::uint32_t { kWaits, kLeads, kDone };

  /// Returns when it leads or is done. With a word of its own, whoever is woken finds nobody in its way.
  State wait() noexcept;
  /// It may be gone as soon as it knows.
  void tell(State state) noexcept;

  std::size_t size_;
  Place place_;
  std::atomic<std::uint32_t> state_{kWaits};
};

/// Whoever finds the writer free leads: it takes all jobs that queued up, runs them in one transaction and
/// commits once for all. Nobody is answered before that commit. There is no timer: the last commit is the
/// window in which the next group gathers, so a caller that is alone pays nothing.
class Writer {
 public:
  /// What surrounds a transaction: turns between processes, the clock, publishing.
  struct Hooks {
    /// Before a transaction: whether its commit has to wait for the disk. Locks alone need not: a power cut
    /// that takes them takes the process that holds them, too, and the next commit that waits brings them to
    /// the disk.
    std::function<void(bool)> wait_for_disk{};
    std::function<void()> begin{};                      ///< takes the write lock
    std::function<LeaseTime()> lease_now{};             ///< asked after the write lock was granted
    std::function<void(Transaction&)> settle{};         ///< what time alone has done comes first
    std::function<void()> over{};                       ///< the write lock is free again
    std::function<void(const store::News&)> publish{};  ///< after the commit
    std::function<void()> unavailable{};                ///< somebody is answered so
    std::function<bool()> log_is_long{};                ///< asked after commits; then
    std::function<void()> shorten_log{};                ///< is called with no transaction open
  };

  Writer(Link& link, const Clock& clock, Hooks hooks)
      : link_(link), clock_(clock), hooks_(std::move(hooks)) {}

  /// Returns when every item has its answer.
  void run(Job& job);

 private:
  struct Item {
    Job* job = nullptr;
    std::size_t index = 0;
  };
  // An error that doesn't depend on what was asked for: trying the items one by one would not help.
  struct Unavailable {
    StoreError error{};
  };

  void enqueue(Job& job);
  void pass_on();
  std::vector<Job*> take_group();
  void lead(std::span<Job* const> group);
  void commit_together(std::span<const Item> items);
  void commit_alone(const Item& item);
  void commit(std::span<const Item> items);
  void run_transaction(std::span<const Item> items);
  void undo() noexcept;
  static void fail_all(std::span<const Item> items, const StoreError& error);

  Link& link_;
  const Clock& clock_;
  Hooks hooks_;
  std::int64_t data_version_ = 0;

  std::mutex mutex_;
  std::deque<Job*> queue_;
  bool leading_ = false;
};

}  // namespace holdfast::sqlite_store
