#include <holdfast/detail/undoing.hpp>
#include <holdfast/task.hpp>

#include <algorithm>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::detail {

// ---- failures -----------------------------------------------------------------------------------

namespace {
constexpr const char* kNotUndone = "not_undone";
}

Failure not_undone(Failure why) {
  return {.type = kNotUndone,
          .message = "a step of the saga could not be undone",
          .cause = std::make_shared<const Failure>(std::move(why))};
}

Failure with_last_cause(Failure failure, Failure last) {
  if (failure.cause) last = with_last_cause(*failure.cause, std::move(last));
  failure.cause = std::make_shared<const Failure>(std::move(last));
  return failure;
}

// ---- dropping frames ----------------------------------------------------------------------------

Dropping::Dropping(Core& core) noexcept
    : core_(core), outer_(std::exchange(core.dropping_, core.teardown_ ? nullptr : this)) {}

Dropping::~Dropping() {
  core_.dropping_ = outer_;
  if (outer_ != nullptr) {
    outer_->left_.insert(outer_->left_.end(), left_.begin(), left_.end());
  } else if (!left_.empty()) {
    core_.begin_dropped();
  }
}

void Core::drop_frame(OpState& task) noexcept {
  const Dropping dropping(*this);
  std::exchange(task.task, nullptr).destroy();
}

// ---- waiting ------------------------------------------------------------------------------------

Undone::Undone(Core& core, const std::vector<Undoing*>& undoings) : core_(core), size_(undoings.size()) {
  if (size_ == 0) return;
  ones_ = std::make_unique<One[]>(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    ones_[i].all = this;
    ones_[i].undoing = undoings[i];
    OpState& state = undoings[i]->state;
    ++state.borrowers;
    open_ += state.ready() ? 0U : 1U;
  }
}

Undone::~Undone() {
  for (std::size_t i = 0; i < size_; ++i) {
    Undoing& undoing = *ones_[i].undoing;
    --undoing.state.borrowers;
    if (core_.dropping() != nullptr && !undoing.state.ready()) core_.dropping()->leaves(undoing);
  }
}

void Undone::suspend(std::coroutine_handle<> frame, PromiseBase& promise) {
  waiter_.suspend(frame, promise);
  for (std::size_t i = 0; i < size_; ++i) {
    One& one = ones_[i];
    one.resume = [](Waiter& self) {
      Undone& all = *static_cast<One&>(self).all;
      if (--all.open_ == 0) all.core_.make_ready(all.waiter_);
    };
    if (!one.undoing->state.ready()) one.undoing->state.waiters.push_back(one);
  }
}

Result<void> Undone::tell() {
  Result<void> outcome;
  for (std::size_t i = 0; i < size_; ++i) {
    Undoing& undoing = *ones_[i].undoing;
    undoing.told = true;
    if (outcome && undoing.state.failed) outcome = Unexpected(failure_of(undoing.state.task_promise->error));
  }
  return outcome;
}

// ---- the execution's part -----------------------------------------------------------------------

struct Core::Undoings {
  std::list<Undoing> list;
  LinkList<Waiter> until_all;      // resumed when nothing is left to undo
  std::optional<Failure> unheard;  // the first that a task ended with which nobody looked at
};

Core::Core() = default;
Core::~Core() = default;

std::uint32_t Core::new_saga() {
  PromiseBase* const frame = running();
  around_.push_back(frame != nullptr ? frame->saga : 0);
  const auto number = static_cast<std::uint32_t>(around_.size());
  if (frame != nullptr) frame->saga = number;
  return number;
}

bool Core::is_inside(std::uint32_t saga, std::uint32_t outer) const noexcept {
  while (saga > outer) saga = around_[saga - 1];  // what is around a saga began before it
  return saga == outer;
}

Undoing& Core::undo(std::uint32_t saga, std::coroutine_handle<> steps, PromiseBase& promise) {
  Undoing& undoing = add_undoing(saga, steps, promise);
  make_ready(undoing.beginning);
  return undoing;
}

void Core::undo_dropped(std::uint32_t saga, std::coroutine_handle<> steps, PromiseBase& promise) {
  Undoing& undoing = add_undoing(saga, steps, promise);
  undoing.dropped = true;
  dropping_->leaves(undoing);
}

// By their numbers, and not in the order in which destructors found them.
void Core::begin_dropped() {
  std::vector<Undoing*> dropped;
  for (Undoing& undoing : undoings_->list) {
    if (std::exchange(undoing.dropped, false)) dropped.push_back(&undoing);
  }
  std::sort(dropped.begin(), dropped.end(),
            [](const Undoing* a, const Undoing* b) { return a->saga < b->saga; });
  for (Undoing* const outer : dropped) {
    for (Undoing& other : undoings_->list) {
      if (&other == outer || other.state.ready() || !is_inside(other.saga, outer->saga)) continue;
      Undoing::Inner& inner = outer->inner.emplace_back();
      inner.outer = outer;
      inner.resume = [](Waiter& self) {
        Undoing& waits = *static_cast<Undoing::Inner&>(self).outer;
        waits.inner.remove_if([&self](const Undoing::Inner& one) { return &one == &self; });
        if (waits.inner.empty()) waits.state.core->make_ready(waits.beginning);
      };
      other.state.waiters.push_back(inner);
    }
    if (outer->inner.empty()) make_ready(outer->beginning);
  }
}

Undoing& Core::add_undoing(std::uint32_t saga, std::coroutine_handle<> steps, PromiseBase& promise) {
  if (!undoings_) undoings_ = std::make_unique<Undoings>();
  Undoing& undoing = undoings_->list.emplace_back();
  undoing.saga = saga;
  undoing.state.core = this;
  undoing.state.task = steps;
  undoing.state.task_promise = &promise;
  promise.core = this;
  promise.owner = &undoing.state;
  promise.shielded = true;
  undoing.beginning.suspend(steps, promise);
  return undoing;
}

bool Core::undoing() const noexcept {
  return undoings_ && std::any_of(undoings_->list.begin(), undoings_->list.end(),
                                  [](const Undoing& undoing) { return !undoing.state.ready(); });
}

void Core::when_undone(Waiter& waiter) {
  if (!undoing()) return waiter.resume(waiter);
  undoings_->until_all.push_back(waiter);
}

bool Core::end_undoing() {
  if (!undoings_) return false;
  undoings_->list.remove_if([](const Undoing& undoing) {
    const bool reported = undoing.told || !undoing.state.failed;
    return undoing.state.ready() && undoing.state.borrowers == 0 && reported;
  });
  Waiter* const next = undoings_->until_all.front();
  if (next == nullptr || undoing() || sagas_ > 0) return false;
  make_ready(*next);
  return true;
}

void Core::forget_undoings() noexcept { undoings_.reset(); }

void Core::never_told(const std::exception_ptr& error) noexcept {
  if (!teardown_ && undoings_) never_told(failure_of(error));
}

void Core::never_told(const Failure& failure) noexcept {
  if (teardown_ || !undoings_ || undoings_->unheard) return;
  for (const Failure* cause = &failure; cause != nullptr; cause = cause->cause.get()) {
    if (cause->type == kNotUndone) undoings_->unheard = *cause;
  }
}

std::optional<Failure> Core::untold_failure() const {
  if (!undoings_) return std::nullopt;
  if (undoings_->unheard) return undoings_->unheard;
  for (const Undoing& undoing : undoings_->list) {
    if (undoing.state.failed && !undoing.told)
      return not_undone(failure_of(undoing.state.task_promise->error));
  }
  return std::nullopt;
}

void Core::refuse_in_saga(std::string_view call) const {
  if (sagas_ == 0) return;
  throw std::logic_error("holdfast: " + std::string(call) +
                         " while a saga is open, whose steps could not be undone any more; let run_saga() "
                         "return first");
}

}  // namespace holdfast::detail
