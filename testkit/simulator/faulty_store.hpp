// FaultyStore: the store as one process sees it. It forwards every call, unless it is told to fail.
#pragma once

#include "contract/store_forwarder.hpp"
#include "testkit/simulator/session_witness.hpp"
#include "testkit/simulator/witness.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/store.hpp>

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::simulator {

class FaultyStore;

/// Who decides what happens to calls, and hears of them.
class CallGuard {
 public:
  virtual ~CallGuard() = default;
  /// A call begins or ends. Time may pass in here, others may run, and the caller may be killed.
  virtual void around(FaultyStore& handle) = 0;
  /// What is to go wrong with the call that begins.
  virtual Fault choose(FaultyStore& handle) = 0;
  /// Whether an item of a call with several is left out, alone.
  virtual bool refuses_item() = 0;
  /// A call was made, and what the store did.
  virtual void tell(const FaultyStore& handle, std::string_view call, const std::string& what) = 0;
  [[nodiscard]] virtual bool tells() const noexcept = 0;
  [[nodiscard]] virtual Witness& witness() noexcept = 0;
  [[nodiscard]] virtual SessionWitness& session_witness() noexcept = 0;
};

/// A handle that can be cut off: then every call is answered `unavailable`, and nothing happens any more.
/// What the store truly did goes to the witness, whatever the caller is told. One thread.
class FaultyStore final : public store::StoreForwarder<FaultyStore> {
 public:
  /// `guard` outlives it. `process` names its owner in the trace; 0 is no worker.
  FaultyStore(std::shared_ptr<Store> inner, CallGuard& guard, std::uint64_t process, std::string name);

  void cut_off() noexcept { cut_off_ = true; }
  [[nodiscard]] bool is_cut_off() const noexcept { return cut_off_; }
  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  /// How often it was called so far.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // The calls that somebody hears of, or that are made in another way than most.
  StoreResult<WorkerKey> join(const store::NewWorker& info) override;
  StoreResult<void> refresh(WorkerKey worker, bool draining) override;
  StoreResult<void> leave(WorkerKey worker) override;
  StoreResult<store::FetchedTurns> fetch_turns(const store::TurnRequest& request) override;
  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override;
  std::vector<StoreResult<void>> release_turns(std::span<const store::TurnRelease> releases) override;
  StoreResult<store::FetchedActivities> fetch_activities(const store::ActivityRequest& request) override;
  std::vector<StoreResult<void>> finish_activities(std::span<const store::ActivityResult> results) override;
  std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                             std::span<const store::TurnRenewal> turns) override;
  std::vector<StoreResult<void>> renew_activities(
      WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) override;
  StoreResult<store::Acquired> acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                               std::string_view id,
                                               const store::SessionPolicy& policy) override;
  std::vector<StoreResult<void>> renew_sessions(WorkerKey worker,
                                                std::span<const store::SessionRenewal> holds) override;
  std::vector<StoreResult<void>> release_sessions(WorkerKey worker,
                                                  std::span<const store::SessionRelease> releases) override;
  StoreResult<store::WishAnswer> ask_for_session(std::string_view id,
                                                 const store::SessionWish& wish) override;
  std::vector<StoreResult<store::StartAnswer>> start(std::span<const store::StartRequest> requests) override;
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) override;
  std::vector<StoreResult<InstanceKey>> set_suspended(std::span<const store::Suspension> wishes) override;
  std::vector<StoreResult<void>> delete_instances(std::span<const store::Deletion> deletions) override;
  StoreResult<store::Swept> sweep(const store::SweepRequest& request) override;

 private:
  friend class store::StoreForwarder<FaultyStore>;
  struct Nothing {
    template <class... Args>
    void operator()(const Args&...) const {}
  };
  /// A call with one answer. `seen` gets what the store truly answered.
  template <class Call, class Seen = Nothing>
  auto one(std::string_view name, Call call, Seen seen = {}) -> decltype(call());
  /// A call with one answer for each item.
  template <class Item, class Call, class Seen = Nothing>
  auto each(std::string_view name, std::span<const Item> items, Call call, Seen seen = {})
      -> decltype(call(items));
  template <class Item, class Call>
  auto call_with_some(std::string_view name, std::span<const Item> items, Call& call)
      -> decltype(call(items));
  void note_answered(LockToken token, bool answered);
  [[nodiscard]] StoreError unavailable(std::string_view name, std::string_view why) const;

  CallGuard& guard_;
  const std::uint64_t process_;
  const std::string name_;
  bool cut_off_ = false;
  bool has_joined_ = false;
  std::uint64_t calls_ = 0;
  std::set<LockToken> unanswered_;  // of fetches
};

template <class T>
std::string outcome(const StoreResult<T>& answer) {
  return answer ? "done" : std::string(to_string(answer.error().kind));
}

template <class Call, class Seen>
auto FaultyStore::one(std::string_view name, Call call, Seen seen) -> decltype(call()) {
  ++calls_;
  guard_.around(*this);
  const Fault fault = cut_off_ ? Fault::fail_before : guard_.choose(*this);
  if (fault == Fault::fail_before) {
    guard_.tell(*this, name, "not reached");
    return Unexpected(unavailable(name, "nothing happened"));
  }
  auto answer = call();
  seen(answer);
  if (guard_.tells())
    guard_.tell(*this, name, outcome(answer) + (fault == Fault::none ? "" : ", and the answer is lost"));
  guard_.around(*this);
  if (fault == Fault::lose_answer || cut_off_) return Unexpected(unavailable(name, "the answer was lost"));
  return answer;
}

template <class Item, class Call, class Seen>
auto FaultyStore::each(std::string_view name, std::span<const Item> items, Call call, Seen seen)
    -> decltype(call(items)) {
  using Answers = decltype(call(items));
  using Answer = typename Answers::value_type;
  ++calls_;
  guard_.around(*this);
  const Fault fault = cut_off_ ? Fault::fail_before : guard_.choose(*this);
  if (fault == Fault::fail_before) {
    guard_.tell(*this, name, "not reached");
    return Answers(items.size(), Answer(Unexpected(unavailable(name, "nothing happened"))));
  }
  Answers answers = call_with_some(name, items, call);
  for (std::size_t i = 0; i < items.size(); ++i) seen(i, answers[i]);
  if (guard_.tells() && !items.empty()) {
    std::string all;
    for (const Answer& answer : answers) all += (all.empty() ? "" : ", ") + outcome(answer);
    guard_.tell(*this, name, all + (fault == Fault::none ? "" : ", and the answer is lost"));
  }
  guard_.around(*this);
  if (fault == Fault::lose_answer || cut_off_)
    return Answers(items.size(), Answer(Unexpected(unavailable(name, "the answer was lost"))));
  return answers;
}

// Some items can't be done though the others are: another has locked their rows.
template <class Item, class Call>
auto FaultyStore::call_with_some(std::string_view name, std::span<const Item> items, Call& call)
    -> decltype(call(items)) {
  using Answers = decltype(call(items));
  using Answer = typename Answers::value_type;
  std::vector<Item> reached;
  std::vector<bool> refused(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    refused[i] = guard_.refuses_item();
    if (!refused[i]) reached.push_back(items[i]);
  }
  if (reached.size() == items.size()) return call(items);
  Answers some = call(std::span<const Item>(reached));
  Answers all;
  auto next = some.begin();
  for (const bool one : refused)
    all.push_back(
        one ? Answer(Unexpected(StoreError{
                  .kind = StoreError::Kind::busy,
                  .message = std::string(name) + ": somebody else has locked what this item needs"}))
            : std::move(*next++));
  return all;
}

}  // namespace holdfast::simulator
