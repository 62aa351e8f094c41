// StoreGate: what stands between a worker and its store. It lets all calls pass until the worker has to be
// gone; from then on, a store that does not answer is asked nothing more.
#pragma once

#include "base/mutex.hpp"
#include "contract/store_forwarder.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// A call to a store that is away or locked by others may take as long as its timeout, and a worker that
/// leaves has many to make. Past the time of close_at() they are made one at a time, each only if the last
/// one was answered; what is refused is answered `unavailable` at once. So whoever waits for the worker waits
/// for the calls that were under way at that time, and for no others. Thread-safe.
class StoreGate final : public store::StoreForwarder<StoreGate> {
 public:
  explicit StoreGate(std::shared_ptr<Store> inner) : StoreForwarder(std::move(inner)) {}

  /// From that time on, the first call that gets no answer is the last one.
  void close_at(BootTime time);
  /// Whether calls are refused.
  [[nodiscard]] bool is_shut() const;

 private:
  friend class store::StoreForwarder<StoreGate>;
  template <class Call>
  auto one(std::string_view name, Call call) -> decltype(call());
  template <class Item, class Call>
  auto each(std::string_view name, std::span<const Item> items, Call call) -> decltype(call(items));
  class Passage;
  /// Why the call must not be made, if so.
  [[nodiscard]] std::optional<StoreError> enter();
  /// A call has returned, and nobody has answered it, for that reason if one is given.
  void leave_with(std::optional<std::string> unanswered);

  mutable Mutex mutex_;
  Condition changed_;
  BootTime closes_at_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::max();
  std::size_t under_way_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::optional<std::string> unanswered_
      HOLDFAST_GUARDED_BY(mutex_){};  // why the call was not that returned last, if so
};

/// One call on its way, if it may be made. One that throws is not answered.
class StoreGate::Passage {
 public:
  explicit Passage(StoreGate& gate) : gate_(gate), refused_(gate.enter()) {}
  ~Passage() {
    if (!refused_) gate_.leave_with(std::move(unanswered_));
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  [[nodiscard]] const std::optional<StoreError>& refused() const noexcept { return refused_; }
  void answered() noexcept { unanswered_.reset(); }
  void unanswered(const std::string& why) { unanswered_ = why; }

 private:
  StoreGate& gate_;
  const std::optional<StoreError> refused_;
  std::optional<std::string> unanswered_ = "it threw";
};

template <class T>
[[nodiscard]] bool is_unanswered(const StoreResult<T>& answer) {
  return !answer && answer.error().kind == StoreError::Kind::unavailable;
}

template <class Call>
auto StoreGate::one(std::string_view /*name*/, Call call) -> decltype(call()) {
  Passage passage(*this);
  if (passage.refused()) return Unexpected(*passage.refused());
  auto answer = call();
  if (is_unanswered(answer)) {
    passage.unanswered(answer.error().message);
  } else {
    passage.answered();
  }
  return answer;
}

template <class Item, class Call>
auto StoreGate::each(std::string_view /*name*/, std::span<const Item> items, Call call)
    -> decltype(call(items)) {
  using Answers = decltype(call(items));
  using Answer = typename Answers::value_type;
  if (items.empty()) return call(items);
  Passage passage(*this);
  if (passage.refused()) return Answers(items.size(), Answer(Unexpected(*passage.refused())));
  Answers answers = call(items);
  if (std::ranges::all_of(answers, [](const Answer& one) { return is_unanswered(one); })) {
    passage.unanswered(answers.front().error().message);
  } else {
    passage.answered();
  }
  return answers;
}

}  // namespace holdfast::runtime
