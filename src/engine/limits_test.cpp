// Limits, attempts that begin anew, and ends without code.
#include "codec/segment.hpp"
#include "engine/execution.hpp"
#include "engine/last_turn.hpp"

#include <holdfast/context.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engine::limits_test {
namespace {

using namespace std::chrono_literals;

/// One execution with its history, replayed after each turn.
class Played {
 public:
  using Code = Task<std::string> (*)(Context&);
  explicit Played(Code code) : code_(detail::make_orchestration(code)) { forget(); }

  template <class Body>
  Outcome turn(Body body) {
    now += 1s;
    Outcome outcome = execution_->run({now, {{MessageId{++messages_}, ExecutionNumber{1}, std::move(body)}}});
    segments.push_back(outcome.segment);
    forget();
    return outcome;
  }
  Outcome start(history::Started started) {
    started.input = encode_args();
    return turn(std::move(started));
  }
  Outcome completes(EventId id) { return turn(history::Completed{id, encode(1)}); }
  Execution& execution() { return *execution_; }

  std::vector<std::string> segments;
  CalendarTime now{std::chrono::sys_days(std::chrono::year(2030) / 1 / 1)};

 private:
  // From history, as after a crash.
  void forget() {
    execution_ = std::make_unique<Execution>(Identity{.instance = "i", .strict = true}, code_);
    for (const std::string& segment : segments) {
      const auto replayed = execution_->replay(segment);
      ASSERT_TRUE(replayed) << describe(replayed.error());
    }
  }
  std::shared_ptr<const detail::OrchestrationCode> code_;
  std::unique_ptr<Execution> execution_;
  std::uint64_t messages_ = 0;
};

Failure failure_of(const Outcome& outcome) {
  const auto* const failed = outcome.end ? std::get_if<history::ExecutionFailed>(&*outcome.end) : nullptr;
  if (failed == nullptr) return ADD_FAILURE() << "it did not fail", Failure{};
  return failed->failure;
}
std::string output_of(const Outcome& outcome) {
  const auto* const done = outcome.end ? std::get_if<history::ExecutionCompleted>(&*outcome.end) : nullptr;
  if (done == nullptr) return ADD_FAILURE() << "it did not complete", "";
  return decode<std::string>(done->output).value();
}

Task<std::string> refused_then_goes_on(Context& ctx) {
  const std::string large(100, 'x');
  std::string text;
  const Result<int> refused = co_await ctx.activity<int>("work", large).result();
  if (!refused) text = refused.error().type;
  co_await ctx.activity<int>("work", 1);
  co_return text;
}

TEST(Limits, WhatIsRefusedLeavesNoTraceAndIsRefusedAgainOnReplay) {
  Played played(refused_then_goes_on);
  const Outcome first = played.start({.limits = history::ExecutionLimits{.payload_bytes = 50}});
  ASSERT_EQ(first.actions.size(), 1U);
  EXPECT_EQ(output_of(played.completes(first.actions.front().id)), "payload_too_large");
}

Task<std::string> many_steps(Context& ctx) {
  for (;;) co_await ctx.activity<int>("work", 1);
}

TEST(Limits, AHistoryThatIsTooLongEndsTheExecutionBeforeItsCodeRuns) {
  Played played(many_steps);
  Outcome outcome = played.start({.limits = history::ExecutionLimits{.history_events = 10}});
  std::vector<std::string> warnings;
  for (int turns = 0; !outcome.end && turns < 100; ++turns) {
    outcome = played.completes(played.execution().open_operations().back().id);
    for (const std::string& near : outcome.near_limits) warnings.push_back(near);
  }
  EXPECT_EQ(failure_of(outcome).type, "history_too_long");
  EXPECT_EQ(outcome.cancels.size(), 1U);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings.front(), "the number of events in history is 9 of 10");
}

Task<std::string> open_many(Context& ctx) {
  std::vector<Future<void>> timers;
  for (int i = 0; i < 3; ++i) timers.push_back(ctx.sleep(1h).start());
  const Result<void> last = co_await timers.back().result();
  co_return last ? "fired" : last.error().type;
}

TEST(Limits, OperationsThatAreOpenAreCounted) {
  Played played(open_many);
  EXPECT_EQ(output_of(played.start({.limits = history::ExecutionLimits{.open_operations = 2}})),
            "too_many_operations");
}

Task<std::string> attempt(Context& ctx) {
  co_await ctx.activity<int>("work", 1);
  co_return "attempt " + std::to_string(ctx.attempt());
}

TEST(Attempts, TheCodeOfALaterOneBeginsWhenItsTimeHasCome) {
  Played played(attempt);
  const history::Retrying retrying{
      .policy = {.max_attempts = 3}, .attempt = 2, .not_before = played.now + 1h};
  const Outcome waits = played.start({.retrying = retrying});
  ASSERT_EQ(waits.actions.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<detail::TimerStarted>(waits.actions.front().operation));
  const Outcome begins = played.completes(waits.actions.front().id);
  ASSERT_EQ(begins.actions.size(), 1U);
  EXPECT_EQ(output_of(played.completes(begins.actions.front().id)), "attempt 2");
}

TEST(Attempts, ARequestToCancelReachesTheCodeOfOneThatWaits) {
  Played played(attempt);
  const history::Retrying retrying{
      .policy = {.max_attempts = 3}, .attempt = 2, .not_before = played.now + 1h};
  played.start({.retrying = retrying});
  const Outcome outcome = played.turn(history::CancelRequested{"enough"});
  ASSERT_TRUE(outcome.end);
  EXPECT_TRUE(std::holds_alternative<history::ExecutionCancelled>(*outcome.end));
  EXPECT_EQ(outcome.cancels.size(), 1U);
}

Task<std::string> leaves_much_open(Context& ctx) {
  Future<int> work = ctx.activity<int>("work", 1).start();
  Future<int> child = ctx.child<int>("child", {.id = "c"}).start();
  Future<int> kept =
      ctx.child<int>("child", {.id = "k", .on_parent_close = ParentClosePolicy::abandon}).start();
  Future<std::string> detached = ctx.start_detached("other", {.id = "d"}).start();
  const int done = co_await ctx.activity<int>("first", 1);
  co_await ctx.sleep(std::chrono::hours(done));
  co_return "";
}

TEST(LastTurn, EndsAnExecutionWithoutItsCodeAsItsCodeWould) {
  Played played(leaves_much_open);
  const history::Parent parent{"p", {1}, {3}, {9}};
  const Outcome first = played.start({.parent = parent});
  played.completes(first.actions.back().id);
  LastTurn last("2");
  for (const std::string& segment : played.segments) ASSERT_TRUE(last.read(segment));
  ASSERT_NE(last.parent(), nullptr);
  EXPECT_EQ(*last.parent(), parent);
  const Outcome by_hand = last.end(played.now + 1s, history::ExecutionTerminated{"enough"});
  const Outcome by_code = played.execution().terminate(played.now + 1s, "enough");
  EXPECT_EQ(by_hand.cancels, by_code.cancels);
  EXPECT_EQ(by_hand.first_event, by_code.first_event);
  EXPECT_EQ(by_hand.end, by_code.end);
  const auto events = history::read_segment(by_hand.segment);
  const auto expected = history::read_segment(by_code.segment);
  ASSERT_TRUE(events && expected);
  EXPECT_EQ(std::vector(events->begin() + 1, events->end()),
            std::vector(expected->begin() + 1, expected->end()));  // but for the build that ran it
}

TEST(LastTurn, MayBeTheOnlyOne) {
  LastTurn last("2");
  last.begin({.name = "killer", .parent = history::Parent{"p", {1}, {3}, {9}}});
  const Outcome outcome = last.end(CalendarTime{}, history::ExecutionFailed{Failure{.type = "poison"}});
  EXPECT_EQ(outcome.first_event, EventId{1});
  const auto events = history::read_segment(outcome.segment);
  ASSERT_TRUE(events);
  EXPECT_EQ(events->size(), 3U);
  EXPECT_NE(last.parent(), nullptr);
}

TEST(LastTurn, SaysWhenHistoryIsDamaged) {
  LastTurn last("2");
  EXPECT_FALSE(last.read("nonsense"));
}

}  // namespace
}  // namespace holdfast::engine::limits_test
