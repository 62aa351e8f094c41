// Lists of parts of which few run at the same time.
#include "engine/driver_test.hpp"

#include <set>

namespace holdfast::engine::fan_out_test {
namespace {

using detail::ActivityScheduled;

Task<int> work(Context& ctx, int i) { co_return co_await ctx.activity<int>("work", i); }

Task<std::vector<int>> all_of_list(Context& ctx, int count, int at_most) {
  std::vector<Op<int>> ops;
  for (int i = 0; i < count; ++i) ops.push_back(ctx.activity<int>("work", i));
  co_return co_await when_all(std::move(ops), {.at_most = static_cast<std::size_t>(at_most)});
}

Task<std::vector<int>> all_of_items(Context& ctx, int count, int at_most) {
  std::vector<int> items;
  for (int i = 0; i < count; ++i) items.push_back(i);
  const auto make = [&ctx](int i) { return work(ctx, i); };
  co_return co_await when_all(items, make, {.at_most = static_cast<std::size_t>(at_most)});
}

// How it ended, in words: "0 f 2", or the failure of the whole.
Task<std::string> settled_of_items(Context& ctx, int count, int at_most) {
  std::vector<int> items;
  for (int i = 0; i < count; ++i) items.push_back(i);
  const auto make = [&ctx](int i) { return ctx.activity<int>("work", i); };
  std::string text;
  for (const Result<int>& one :
       co_await when_all_settled(items, make, {.at_most = static_cast<std::size_t>(at_most)})) {
    text += one ? std::to_string(*one) + " " : "f ";
  }
  co_return text;
}

Task<std::string> settled_of_tasks(Context& ctx, int count, int at_most) {
  std::vector<Task<int>> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(work(ctx, i));
  const auto all =
      co_await when_all_settled(std::move(tasks), {.at_most = static_cast<std::size_t>(at_most)});
  co_return std::to_string(all.size());
}

/// Activities by their inputs, as far as they are open.
class Open {
 public:
  void add(const Outcome& outcome) {
    for (const Action& action : outcome.actions) {
      const auto& activity = std::get<ActivityScheduled>(action.operation);
      open_[std::stoi(activity.input.bytes)] = action.id;
    }
  }
  EventId take(int i) {
    const EventId id = open_.at(i);
    open_.erase(i);
    return id;
  }
  [[nodiscard]] std::vector<int> inputs() const {
    std::vector<int> all;
    for (const auto& one : open_) all.push_back(one.first);
    return all;
  }

 private:
  std::map<int, EventId> open_;
};

using Inputs = std::vector<int>;

template <class Orchestration>
void expect_a_window(Orchestration orchestration) {
  Driver driver(orchestration, 5, 2);
  Open open;
  open.add(driver.start());
  EXPECT_EQ(open.inputs(), (Inputs{0, 1}));
  open.add(driver.step(driver.completes(open.take(1), 11)));
  EXPECT_EQ(open.inputs(), (Inputs{0, 2}));
  // Two in one batch make room for two.
  const EventId first = open.take(2);
  const EventId second = open.take(0);
  open.add(driver.step(driver.completes(first, 12), driver.completes(second, 10)));
  EXPECT_EQ(open.inputs(), (Inputs{3, 4}));
  open.add(driver.step(driver.completes(open.take(4), 14)));
  const Outcome end = driver.step(driver.completes(open.take(3), 13));
  EXPECT_EQ(result_of<Inputs>(end), (Inputs{10, 11, 12, 13, 14}));
}

TEST(FanOut, RunsNoMoreThanItsLimitAndKeepsTheOrder) {
  expect_a_window(all_of_list);
  expect_a_window(all_of_items);
}

TEST(FanOut, WithALimitAboveItsLengthStartsAll) {
  Driver driver(all_of_list, 3, 100);
  Open open;
  open.add(driver.start());
  EXPECT_EQ(open.inputs(), (Inputs{0, 1, 2}));
}

TEST(FanOut, OfNothingIsEmpty) {
  Driver list(all_of_list, 0, 4);
  EXPECT_EQ(result_of<Inputs>(list.start()), Inputs{});
  Driver items(settled_of_items, 0, 4);
  EXPECT_EQ(result_of<std::string>(items.start()), "");
}

TEST(FanOut, WithoutRoomIsRefused) {
  Driver driver(all_of_list, 3, 0);
  const Outcome end = driver.start();
  ASSERT_NE(end_of<history::ExecutionFailed>(end), nullptr);
  EXPECT_EQ(end_of<history::ExecutionFailed>(end)->failure.message,
            "holdfast: FanOut::at_most is 0, and must be at least 1");
}

TEST(FanOut, ThatFailsStartsNothingMoreAndDropsTheRest) {
  Driver driver(all_of_items, 5, 2);
  Open open;
  open.add(driver.start());
  const Outcome end = driver.step(driver.fails(open.take(1)));
  EXPECT_NE(end_of<history::ExecutionFailed>(end), nullptr);
  EXPECT_TRUE(end.actions.empty());
  EXPECT_EQ(cancelled(end), std::vector<std::uint64_t>{open.take(0).value});
}

TEST(FanOut, GivesTheOutcomeOfEach) {
  Driver driver(settled_of_items, 3, 2);
  Open open;
  open.add(driver.start());
  open.add(driver.step(driver.fails(open.take(1))));
  EXPECT_EQ(open.inputs(), (Inputs{0, 2}));
  open.add(driver.step(driver.completes(open.take(2), 2)));
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(open.take(0), 0))), "0 f 2 ");
}

// A list that was cancelled in the middle is no list of failures.
TEST(FanOut, IsEndedByARequestToCancel) {
  for (const auto orchestration : {settled_of_items, settled_of_tasks}) {
    Driver driver(orchestration, 1000, 2);
    Open open;
    open.add(driver.start());
    open.add(driver.step(driver.completes(open.take(0), 0)));
    const Outcome end = driver.step(driver.cancels("enough"));
    EXPECT_NE(end_of<history::ExecutionCancelled>(end), nullptr);
    EXPECT_TRUE(end.actions.empty());
    EXPECT_EQ(cancelled(end).size(), 2U);
  }
}

}  // namespace
}  // namespace holdfast::engine::fan_out_test
