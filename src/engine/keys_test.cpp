// What names an effect in all the world.
#include "engine/driver_test.hpp"

#include <algorithm>
#include <set>

namespace holdfast::engine::keys_test {
namespace {

Task<> starts_all_that_has_a_key(Context& ctx, std::string input, int more) {
  if (more > 0) co_await ctx.activity<int>("before");
  auto a = ctx.activity<int>("charge", input).start();
  auto b = ctx.child<int>("ship", input).start();
  auto c = ctx.start_detached("audit", input).start();
  co_await when_all(a, b, c);
}

std::vector<OperationKey> keys_of(const std::string& input, Seed seed, ExecutionNumber number, int more = 0) {
  Execution execution({.instance = "i", .execution = number},
                      detail::make_orchestration(&starts_all_that_has_a_key));
  const history::Started start{.name = "test",
                               .version = "1",
                               .input = encode_args(input, more),
                               .seed = seed.low,
                               .seed_high = seed.high};
  std::vector<OperationKey> keys;
  for (const Action& action : execution.run({CalendarTime{}, {{MessageId{1}, number, start}}}).actions)
    keys.push_back(action.key);
  return keys;
}

TEST(Keys, FollowFromTheSeedAndFromWhatIsAskedForAndFromNothingElse) {
  const Seed seed{.high = 3, .low = 4};
  const auto keys = keys_of("order 1", seed, ExecutionNumber{1});
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(std::set<OperationKey>(keys.begin(), keys.end()).size(), 3U);
  EXPECT_EQ(keys_of("order 1", seed, ExecutionNumber{1}), keys);
  EXPECT_EQ(keys_of("order 1", seed, ExecutionNumber{7}), keys);
  for (const auto& others :
       {keys_of("order 2", seed, ExecutionNumber{1}), keys_of("order 1", {.high = 3, .low = 5}, {1}),
        keys_of("order 1", {.high = 2, .low = 4}, {1}), keys_of("order 1", seed, {1}, 1)}) {
    for (const OperationKey& other : others) EXPECT_EQ(std::ranges::count(keys, other), 0);
  }
}

// They are in rows, and others have them in their books: never change how they are made.
TEST(Keys, StayAsTheyAre) {
  const auto keys = keys_of("order 1", {.high = 3, .low = 4}, ExecutionNumber{1});
  EXPECT_EQ(to_string(keys.at(0)), "1ac99c6a825b1694f5eb591d1cf13ad2");
  EXPECT_EQ(to_string(keys.at(1)), "b21caee8016a1e2d618aa29669593f83");
  EXPECT_EQ(to_string(keys.at(2)), "156cebe96c35dcb2ed42ed7cab2b8b21");
}

Task<> goes_on_as_new(Context& ctx, int n) {
  co_await ctx.activity<int>("work", n);
  co_await ctx.continue_as_new(n);
}

// Each in a chain of executions with the same input has other keys, and a chain that is begun again has the
// same ones.
TEST(Keys, OfExecutionsThatFollowEachOtherDiffer) {
  const auto chain = [] {
    std::vector<OperationKey> keys;
    history::Started next{.name = "test",
                          .version = "1",
                          .input = encode_args(1),
                          .seed = 8,
                          .history_budget = 9,
                          .seed_high = 9};
    for (std::uint64_t number = 1; number <= 5; ++number) {
      Execution execution({.instance = "i", .execution = {number}},
                          detail::make_orchestration(&goes_on_as_new));
      const Outcome first = execution.run({CalendarTime{}, {{MessageId{1}, {number}, next}}});
      const EventId work = first.actions.at(0).id;
      keys.push_back(first.actions.at(0).key);
      execution.run({CalendarTime{}, {{MessageId{2}, {number}, history::Completed{work, encode(1)}}}});
      next = execution.next_start();
    }
    return keys;
  };
  const auto keys = chain();
  EXPECT_EQ(std::set<OperationKey>(keys.begin(), keys.end()).size(), 5U);
  EXPECT_EQ(chain(), keys);
}

}  // namespace
}  // namespace holdfast::engine::keys_test
