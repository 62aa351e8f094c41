// Group commit: calls that come while a transaction is on its way are gathered, and share the next one.
#pragma once

#include "base/mutex.hpp"
#include "contract/pace.hpp"

#include <holdfast/store/error.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::store {

/// Where a call stands in its group, and what it needs.
enum class Order : std::uint8_t {
  first,  ///< renewals: nothing may make them late
  middle,
  last,  ///< fetches of turns: they find what the rest of the group has made ready
};

class GroupedCall;
/// Answers each item of it: the store was opened to be read.
void refuse_to_write(GroupedCall& call);

/// A call that waits for its transaction: one item or several. It lives on the stack of the thread that
/// called.
class GroupedCall {
 public:
  explicit GroupedCall(std::size_t size, Order order) noexcept : size_(size), order_(order) {}
  virtual ~GroupedCall() = default;
  GroupedCall(const GroupedCall&) = delete;
  GroupedCall& operator=(const GroupedCall&) = delete;

  /// The item has failed, or nobody knows what became of it.
  virtual void fail(std::size_t item, const StoreError& error) = 0;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Order order() const noexcept { return order_; }

 private:
  friend class CallQueue;
  enum State : std::uint32_t { kWaits, kLeads, kDone };

  /// Returns when it leads or is done. With a word of its own, whoever is woken finds nobody in its way.
  State wait() noexcept;
  /// It may be gone as soon as it knows.
  void tell(State state) noexcept;

  std::size_t size_;
  Order order_;
  std::atomic<std::uint32_t> state_{kWaits};
};

/// Whoever finds nobody leading leads: it takes all calls that queued up, and answers them together. The last
/// transaction is the window in which the next group gathers, so a caller that is alone pays nothing. Only
/// where commits wait long for the disk, a group waits for those who were just answered: see Pace.
class CallQueue {
 public:
  struct Led {
    Duration waited_for_disk{};
    /// What is left to do when everybody was answered, before the next group is led.
    std::function<void()> afterwards{};
  };
  /// Answers all items of all calls.
  using Lead = std::function<Led(std::span<GroupedCall* const> group)>;

  /// A group has about so many items at most, a call of more is a group of its own; and it waits no longer
  /// than that for others.
  explicit CallQueue(std::size_t items, Duration longest_wait = Pace::kLongest)
      : items_(items), pace_(longest_wait) {}

  /// Returns when every item has its answer.
  void run(GroupedCall& call, const Lead& lead);
  /// Calls that no group has taken yet.
  [[nodiscard]] std::size_t waiting() const {
    const MutexLock lock(mutex_);
    return queue_.size();
  }

 private:
  void enqueue(GroupedCall& call);
  void gather(MutexLock& lock) HOLDFAST_REQUIRES(mutex_);
  void pass_on(std::size_t items_answered, Duration waited_for_disk);
  [[nodiscard]] bool all_came() const HOLDFAST_REQUIRES(mutex_) { return items_queued_ >= items_expected_; }
  std::vector<GroupedCall*> take_group(GroupedCall& leader);

  const std::size_t items_;
  mutable Mutex mutex_;
  Condition came_;
  std::deque<GroupedCall*> queue_ HOLDFAST_GUARDED_BY(mutex_);
  std::size_t items_queued_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  /// Whoever was answered by the last group that waited for the disk comes back, and who waited is there.
  std::size_t items_expected_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point answered_ HOLDFAST_GUARDED_BY(mutex_){};  // that group
  bool leading_ HOLDFAST_GUARDED_BY(mutex_) = false;
  Pace pace_ HOLDFAST_GUARDED_BY(mutex_);
};

/// One item of a call.
template <class Call>
struct ItemOf {
  Call* call = nullptr;
  std::size_t index = 0;
};

/// All items of a group, in their order.
template <class Call>
std::vector<ItemOf<Call>> items_of(std::span<GroupedCall* const> group) {
  std::vector<ItemOf<Call>> items;
  for (const Order order : {Order::first, Order::middle, Order::last}) {
    for (GroupedCall* call : group) {
      if (call->order() != order) continue;
      for (std::size_t i = 0; i < call->size(); ++i) items.push_back({static_cast<Call*>(call), i});
    }
  }
  return items;
}

/// A call whose items are done one by one inside a transaction.
template <class Transaction>
class Job : public GroupedCall {
 public:
  using GroupedCall::GroupedCall;
  /// Says what the item will need. Called for all items before the first one runs.
  virtual void prepare(Transaction& tx, std::size_t item) = 0;
  /// Does one item and keeps its answer. May be called again for the same item after a rollback: then what it
  /// kept before counts no more. Throws when the transaction can't go on.
  virtual void run(Transaction& tx, std::size_t item) = 0;

  /// Somebody else has what the item needs. It gets no answer from this group: whoever called asks again.
  virtual void postpone(std::size_t item) { postponed_.push_back(item); }
  /// For whoever called, when the group is done.
  std::vector<std::size_t> take_postponed() { return std::exchange(postponed_, {}); }
  /// Whether its items were postponed before.
  [[nodiscard]] virtual bool was_postponed() const noexcept { return false; }

  /// Whoever called has other things to do: an item whose rows somebody else has locked is soon answered
  /// `busy`.
  void wait_briefly() noexcept { waits_briefly_ = true; }
  [[nodiscard]] bool waits_briefly() const noexcept { return waits_briefly_; }

 private:
  bool waits_briefly_ = false;
  std::vector<std::size_t> postponed_{};
};

/// Items of a call that were postponed, in another group. Their answers are kept by the call itself.
template <class Transaction>
class Again final : public Job<Transaction> {
 public:
  Again(Job<Transaction>& call, std::vector<std::size_t> items)
      : Job<Transaction>(items.size(), call.order()), call_(call), items_(std::move(items)) {
    if (call.waits_briefly()) this->wait_briefly();
  }
  void prepare(Transaction& tx, std::size_t item) override { call_.prepare(tx, items_[item]); }
  void run(Transaction& tx, std::size_t item) override { call_.run(tx, items_[item]); }
  void fail(std::size_t item, const StoreError& error) override { call_.fail(items_[item], error); }
  void postpone(std::size_t item) override { call_.postpone(items_[item]); }
  [[nodiscard]] bool was_postponed() const noexcept override { return true; }

 private:
  Job<Transaction>& call_;
  std::vector<std::size_t> items_;
};

/// Nothing is needed.
struct NeedsNothing {
  void operator()(auto&, const auto&...) const {}
};

/// A call with one answer.
template <class Transaction, class Answer, class Call, class Needs = NeedsNothing>
class OneAnswer final : public Job<Transaction> {
 public:
  OneAnswer(Call call, Order order, Needs needs = {})
      : Job<Transaction>(1, order), call_(std::move(call)), needs_(std::move(needs)) {}
  void prepare(Transaction& tx, std::size_t) override { needs_(tx); }
  void run(Transaction& tx, std::size_t) override { answer_.emplace(call_(tx)); }
  void fail(std::size_t, const StoreError& error) override { answer_.emplace(Unexpected(error)); }
  StoreResult<Answer> take() { return *std::move(answer_); }

 private:
  Call call_;
  Needs needs_;
  std::optional<StoreResult<Answer>> answer_{};
};

/// A call with an answer for each of its items.
template <class Transaction, class Answer, class Item, class Call, class Needs = NeedsNothing>
class ManyAnswers final : public Job<Transaction> {
 public:
  ManyAnswers(std::span<const Item> items, Call call, Order order, Needs needs = {})
      : Job<Transaction>(items.size(), order),
        items_(items),
        call_(std::move(call)),
        needs_(std::move(needs)),
        answers_(items.size()) {}
  void prepare(Transaction& tx, std::size_t item) override { needs_(tx, items_[item]); }
  void run(Transaction& tx, std::size_t item) override { answers_[item].emplace(call_(tx, items_[item])); }
  void fail(std::size_t item, const StoreError& error) override { answers_[item].emplace(Unexpected(error)); }
  std::vector<StoreResult<Answer>> take() {
    std::vector<StoreResult<Answer>> answers;
    answers.reserve(answers_.size());
    for (auto& answer : answers_) answers.push_back(*std::move(answer));
    return answers;
  }

 private:
  std::span<const Item> items_;
  Call call_;
  Needs needs_;
  std::vector<std::optional<StoreResult<Answer>>> answers_;
};

}  // namespace holdfast::store
