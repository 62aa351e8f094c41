// Events, messages and requests to other instances, and orchestrations that are launched: recorded in their
// order, without an outcome.
#include "engine/driver_test.hpp"

namespace holdfast::engine::sending_test {
namespace {

using detail::CancelSent;
using detail::DetachedStarted;
using detail::MessageSent;

Task<std::string> sends(Context& ctx) {
  ctx.send("stock", "changes", -1);
  ctx.raise("order-8", "go");
  co_await ctx.activity<void>("work");
  ctx.raise("order-9", "go", {.keep_for = 1h}, std::string("now"));
  ctx.cancel("order-10", "sold out");
  const std::string id = ctx.launch("audit", 7);
  const std::string named = ctx.launch("audit", {.id = "audit-1", .version = "2"}, 8);
  co_return id + " " + named;
}

TEST(Sending, IsRecordedInItsOrderAndNothingIsWaitedFor) {
  Driver driver(sends);
  const Outcome first = driver.start();
  ASSERT_EQ(first.actions.size(), 3U);
  const MessageSent message{.instance = "stock",
                            .channel = Address::Kind::mailbox,
                            .name = "changes",
                            .value = encode(-1),
                            .keep_for = 24h};
  EXPECT_EQ(first.actions[0].operation, detail::Operation(message));
  const MessageSent event{.instance = "order-8", .name = "go", .value = {kJsonEncoding, "null"}};
  EXPECT_EQ(first.actions[1].operation, detail::Operation(event));
  EXPECT_EQ(driver.warm().open_operations().size(), 1U) << "the activity";

  const Outcome end = driver.step(driver.completes(first.actions[2].id));
  ASSERT_EQ(end.actions.size(), 4U);
  EXPECT_EQ(std::get<MessageSent>(end.actions[0].operation).keep_for, Duration(1h));
  EXPECT_EQ(end.actions[1].operation, detail::Operation(CancelSent{"order-10", "sold out"}));
  const auto& launched = std::get<DetachedStarted>(end.actions[2].operation);
  EXPECT_TRUE(launched.launched);
  EXPECT_FALSE(end.actions[2].key.empty()) << "the seed of its execution";
  EXPECT_EQ(result_of<std::string>(end), launched.id + " audit-1");
  EXPECT_TRUE(end.cancels.empty()) << "what was sent is not taken back by the end";
}

Task<std::string> sends_when_it_is_cancelled(Context& ctx) {
  std::string text;
  try {
    co_await ctx.event<void>("never");
  } catch (const Cancelled&) {
    text = "cancelled";
  }
  ctx.send("stock", "changes", 1);
  ctx.launch("audit");
  co_return text;
}

TEST(Sending, GoesOnAfterARequestToCancel) {
  Driver driver(sends_when_it_is_cancelled);
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(result_of<std::string>(end), "cancelled");
  EXPECT_EQ(end.actions.size(), 2U);
}

struct Farewell {
  Context& ctx;
  ~Farewell() { ctx.send("stock", "changes", 1); }
};

Task<void> says_farewell(Context& ctx) {
  const Farewell farewell{ctx};
  co_await ctx.event<void>("end");
}
Task<void> goes_on_as_new(Context& ctx) {
  const Farewell farewell{ctx};
  co_await ctx.event<void>("end");
  co_await ctx.continue_as_new();
}

TEST(Sending, FromDestructorsCountsWhileTheCodeRunsAndNotAfterItsEnd) {
  Driver driver(says_farewell);
  driver.start();
  EXPECT_EQ(driver.step(driver.raises("end", 1)).actions.size(), 1U);
  Driver new_one(goes_on_as_new);
  new_one.start();
  EXPECT_EQ(new_one.step(new_one.raises("end", 1)).actions.size(), 0U);
}

Task<std::string> sends_in_an_effect(Context& ctx) {
  auto effect = [&ctx] { return ctx.send("stock", "changes", 1), 1; };
  const Result<int> outcome = co_await ctx.side_effect(effect).result();
  co_return outcome ? "not refused" : outcome.error().message;
}

TEST(Sending, IsRefusedInASideEffect) {
  Driver driver(sends_in_an_effect);
  EXPECT_TRUE(
      result_of<std::string>(driver.start()).starts_with("holdfast: something was sent or launched inside"));
}

std::string complaint_of(const std::function<void()>& wrong) {
  try {
    wrong();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "it was accepted";
}

Task<std::vector<std::string>> sends_nonsense(Context& ctx) {
  std::vector<std::string> complaints;
  complaints.push_back(complaint_of([&] { ctx.send("", "changes", 1); }));
  complaints.push_back(complaint_of([&] { ctx.send("stock", "", 1); }));
  complaints.push_back(complaint_of([&] { ctx.raise("stock", "go", {.keep_for = -1s}, 1); }));
  complaints.push_back(complaint_of([&] { ctx.cancel("stock", std::string(100'000, 'x')); }));
  complaints.push_back(complaint_of([&] { ctx.launch(""); }));
  co_return complaints;
}

TEST(Sending, NamesAndOptionsAreChecked) {
  Driver driver(sends_nonsense);
  const Outcome end = driver.start();
  EXPECT_TRUE(end.actions.empty());
  for (const std::string& complaint : result_of<std::vector<std::string>>(end))
    EXPECT_NE(complaint, "it was accepted");
}

// ---- lines of the log ---------------------------------------------------------------------------

Task<int> talks(Context& ctx) {
  ctx.log("begins", {{"who", ctx.instance_id()}});
  const int number = co_await ctx.activity<int>("count");
  ctx.log(LogLevel::warn, "goes on", {{"number", number}});
  co_return number;
}

TEST(CodeLog, GetsEachLineWhenItsCodeRunsAndNothingOnReplay) {
  std::vector<std::string> lines;
  const CodeLog log = [&](const CodeLine& line) {
    lines.push_back(std::string(to_string(line.level)) + " " + std::string(line.message) + " " +
                    std::string(line.instance) + " " + std::string(line.orchestration) + " " +
                    std::to_string(line.fields.size()));
  };
  const auto code = detail::make_orchestration(talks);
  const Identity identity{.instance = "i-1", .log = &log};
  Execution first(identity, code);
  const Outcome started =
      first.run({.messages = {{MessageId{1}, ExecutionNumber{1},
                               history::Started{.name = "talks", .input = encode_args()}}}});
  EXPECT_EQ(lines, std::vector<std::string>{"info begins i-1 talks 1"});

  Execution again(identity, code);
  ASSERT_TRUE(again.replay(started.segment));
  EXPECT_EQ(lines.size(), 1U);
  again.run({.messages = {{MessageId{2}, ExecutionNumber{1},
                           history::Completed{started.actions.at(0).id, encode(7)}}}});
  EXPECT_EQ(lines, (std::vector<std::string>{"info begins i-1 talks 1", "warn goes on i-1 talks 1"}));
}

}  // namespace
}  // namespace holdfast::engine::sending_test
