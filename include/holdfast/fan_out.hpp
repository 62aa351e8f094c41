// Bounded fan-out: when_all and when_all_settled over long lists, with few parts running at any time.
//
//   const auto count = [&ctx](const std::string& url) { return ctx.activity<int>("count", url); };
//   std::vector<int> counts = co_await when_all(urls, count, {.at_most = 16});
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/combinators.hpp>
#include <holdfast/options.hpp>

#include <cstddef>
#include <iterator>
#include <list>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

/// How a list is worked through: parts start in their order, the next one when one has ended.
struct FanOut {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::size_t at_most = 0;  ///< parts that run at the same time, at least 1
};

namespace detail {

/// The parts that run.
template <class T>
class Window {
 public:
  explicit Window(FanOut limit) : room_(limit.at_most) {
    if (room_ == 0) throw std::invalid_argument("holdfast: FanOut::at_most is 0, and must be at least 1");
  }

  [[nodiscard]] bool has_room() const noexcept { return open_.size() < room_; }
  [[nodiscard]] bool empty() const noexcept { return open_.empty(); }
  [[nodiscard]] std::size_t started() const noexcept { return started_; }
  template <class A>
  void start(Core& core, A part) {
    open_.emplace_back(started_, core, std::move(part));
    ++started_;
  }
  /// To await the next one that ends; then take() it.
  [[nodiscard]] Join next(JoinUntil until) const {
    std::vector<JoinPart> parts;
    parts.reserve(open_.size());
    for (const One& one : open_) parts.push_back(one.part.part());
    return Join(std::move(parts), until);
  }
  /// Gives `use` the place of one in the list, and the part.
  template <class Use>
  void take(std::size_t which, Use use) {
    const auto found = std::next(open_.begin(), static_cast<std::ptrdiff_t>(which));
    use(found->place, found->part);
    open_.erase(found);
  }

 private:
  struct One {
    template <class A>
    One(std::size_t its_place, Core& core, A its_part) : place(its_place), part(core, std::move(its_part)) {}
    std::size_t place;
    Running<T> part;
  };
  std::size_t room_;
  std::size_t started_ = 0;
  std::list<One> open_;
};

/// Gives the parts of a list, one after the other.
template <class A>
class ListSource {
 public:
  using Part = A;
  explicit ListSource(std::vector<A> parts) : parts_(std::move(parts)) {}
  [[nodiscard]] bool empty() const noexcept { return next_ == parts_.size(); }
  A take() { return std::move(parts_[next_++]); }

 private:
  std::vector<A> parts_;
  std::size_t next_ = 0;
};

/// A container of items, and a function that makes a part of each.
template <class Items, class Function>
concept MakesParts = requires(std::remove_cvref_t<Items>& items, Function& make) {
  requires is_part<decltype(make(*items.begin()))>;
};

/// Makes the part of an item when it is to start. It is moved before the first one only.
template <class Items, class Function>
class MadeSource {
 public:
  using Part = decltype(std::declval<Function&>()(*std::declval<Items&>().begin()));
  MadeSource(Items items, Function make) : items_(std::move(items)), make_(std::move(make)) {}
  MadeSource(MadeSource&& other) noexcept : items_(std::move(other.items_)), make_(std::move(other.make_)) {}
  [[nodiscard]] bool empty() const noexcept { return next_ == items_.end(); }
  Part take() { return make_(*next_++); }

 private:
  Items items_;
  Function make_;
  typename Items::iterator next_ = items_.begin();
};

/// What a part gave, until all have ended.
template <class T>
class GivenValue {
 public:
  using Given = Lifted<T>;
  GivenValue(Core&, Running<T>& part) : value_(part.take()) {}
  [[nodiscard]] Given take() { return std::move(value_); }

 private:
  Given value_;
};

/// The same, for an outcome of any kind. Dropped before it is taken, nobody was told of it: what a task
/// could not undo fails the execution.
template <class T>
class GivenOutcome {
 public:
  using Given = Result<T>;
  GivenOutcome(Core& core, Running<T>& part)
      : untold_(part.part().state->task ? &core : nullptr), outcome_(part.outcome()) {}
  GivenOutcome(GivenOutcome&& other) noexcept
      : untold_(std::exchange(other.untold_, nullptr)), outcome_(std::move(other.outcome_)) {}
  GivenOutcome& operator=(GivenOutcome&&) = delete;
  ~GivenOutcome() {
    if (untold_ != nullptr && !outcome_) untold_->never_told(outcome_.error());
  }
  [[nodiscard]] Given take() {
    untold_ = nullptr;
    return std::move(outcome_);
  }

 private:
  Core* untold_;  // of a task's outcome, until it is taken
  Given outcome_;
};

/// Waits until all parts have ended, and gives what each of them gave. `until` says whether one that fails
/// ends the wait.
template <class Kept, class Source>
Task<std::vector<typename Kept::Given>> work_through(Source source, FanOut limit, JoinUntil until) {
  using T = typename Source::Part::value_type;
  Core& core = co_await CurrentCore();
  Window<T> window(limit);
  std::vector<std::optional<Kept>> given;
  while (!source.empty() || !window.empty()) {
    while (!source.empty() && window.has_room()) window.start(core, source.take());
    given.resize(window.started());
    Join join = window.next(until);
    const std::optional<std::size_t> ended = co_await join;
    if (until == JoinUntil::any && join.failed(*ended)) {
      DroppedRest rest(core, join);
      co_await rest;
    }
    window.take(*ended, [&](std::size_t place, Running<T>& part) { given[place].emplace(core, part); });
  }
  std::vector<typename Kept::Given> all;
  all.reserve(given.size());
  for (auto& one : given) all.push_back(one->take());
  co_return all;
}

template <class Source>
auto when_all_of(Source source, FanOut limit) {
  using T = typename Source::Part::value_type;
  return work_through<GivenValue<T>>(std::move(source), limit, JoinUntil::any);
}
template <class Source>
auto settle_all_of(Source source, FanOut limit) {
  using T = typename Source::Part::value_type;
  return work_through<GivenOutcome<T>>(std::move(source), limit, JoinUntil::next);
}

template <class Items, class Function>
auto made_of(Items&& items, Function&& make) {
  static_assert(SafeFunction<Function>,
                "holdfast: GCC 12 destroys a temporary lambda with captures twice in an expression with "
                "co_await; give it a name first, and pass that");
  return MadeSource<std::remove_cvref_t<Items>, std::decay_t<Function>>(std::forward<Items>(items),
                                                                        std::forward<Function>(make));
}

}  // namespace detail

/// All values, in the order of the list. The first failure is thrown: the parts that run are dropped, and no
/// other one is started.
template <detail::Part A>
auto when_all(std::vector<A> parts, FanOut limit) {
  return detail::when_all_of(detail::ListSource<A>(std::move(parts)), limit);
}
/// The same over items: `make(item)` gives the part of each, and is called when it is to start.
template <class Items, class Function>
  requires detail::MakesParts<Items, Function>
auto when_all(Items&& items, Function&& make, FanOut limit) {
  return detail::when_all_of(detail::made_of(std::forward<Items>(items), std::forward<Function>(make)),
                             limit);
}

/// The outcome of every part, in the order of the list. A request to cancel the instance throws Cancelled.
template <detail::Part A>
auto when_all_settled(std::vector<A> parts, FanOut limit) {
  return detail::settle_all_of(detail::ListSource<A>(std::move(parts)), limit);
}
template <class Items, class Function>
  requires detail::MakesParts<Items, Function>
auto when_all_settled(Items&& items, Function&& make, FanOut limit) {
  return detail::settle_all_of(detail::made_of(std::forward<Items>(items), std::forward<Function>(make)),
                               limit);
}

}  // namespace holdfast
