#include "runtime/store_gate.hpp"

#include <algorithm>

namespace holdfast::runtime {

namespace {

template <class T>
bool is_unanswered(const StoreResult<T>& answer) {
  return !answer && answer.error().kind == StoreError::Kind::unavailable;
}

}  // namespace

void StoreGate::close_at(BootTime time) {
  const MutexLock lock(mutex_);
  closes_at_ = time;
}

bool StoreGate::is_shut() const {
  const MutexLock lock(mutex_);
  return unanswered_ && closes_at_ != BootTime::max() && clock().boot_now() >= closes_at_;
}

// Once it is closed, the calls that are under way show whether the store answers.
std::optional<StoreError> StoreGate::enter() {
  MutexLock lock(mutex_);
  if (closes_at_ != BootTime::max() && clock().boot_now() >= closes_at_) {
    changed_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return unanswered_ || under_way_ == 0; });
    if (unanswered_)
      return StoreError{
          .kind = StoreError::Kind::unavailable,
          .message = "the worker has no more time, and the store did not answer it: " + *unanswered_};
  }
  ++under_way_;
  return std::nullopt;
}

void StoreGate::leave_with(std::optional<std::string> unanswered) {
  const MutexLock lock(mutex_);
  --under_way_;
  unanswered_ = std::move(unanswered);
  changed_.notify_all();
}

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

namespace holdfast {
template class store::StoreForwarder<runtime::StoreGate>;
}  // namespace holdfast
