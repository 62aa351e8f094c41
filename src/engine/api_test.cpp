// The API as its users write it: whole orchestrations, from start to end.
#include "engine/driver_test.hpp"

#include <holdfast/saga.hpp>

namespace holdfast::engine::api_test {
namespace {

using detail::ActivityScheduled;

const ActivityScheduled& activity_in(const Outcome& outcome, std::size_t index = 0) {
  return std::get<ActivityScheduled>(outcome.actions.at(index).operation);
}

// ---- hello --------------------------------------------------------------------------------------

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

TEST(Api, Hello) {
  Driver driver(hello, "Ada");
  const Outcome first = driver.start();
  EXPECT_EQ(activity_in(first).input.bytes, "\"Ada\"");
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(EventId{3}, "Hello, Ada!"))), "Hello, Ada!");
}

// ---- approval -----------------------------------------------------------------------------------

struct Order {
  std::string id{};
  int cents = 0;
};
struct Decision {
  bool approved = false;
};

Task<std::string> approve(Context& ctx, Order o) {
  co_await ctx.activity<void>("notify", o.id);
  auto d = co_await with_timeout(ctx.event<Decision>("decision"), 24h);
  if (!d) co_return "escalated";
  co_return d->approved ? "approved" : "rejected";
}

Outcome decide(const std::optional<Decision>& decision) {
  Driver driver(approve, Order{"o-1", 1200});
  driver.start();
  const Outcome waiting = driver.step(driver.completes(EventId{3}));
  const Outcome end = decision ? driver.step(driver.raises("decision", *decision))
                               : driver.step(driver.completes(waiting.actions.at(1).id));
  EXPECT_EQ(end.cancels.size(), 1U);  // the timer, or the wait
  return end;
}

TEST(Api, Approval) {
  EXPECT_EQ(result_of<std::string>(decide(Decision{true})), "approved");
  EXPECT_EQ(result_of<std::string>(decide(Decision{false})), "rejected");
  EXPECT_EQ(result_of<std::string>(decide(std::nullopt)), "escalated");
}

// ---- an agent -----------------------------------------------------------------------------------

struct AgentMessage {
  std::string role{};
  std::string text{};
};
struct AgentState {
  std::string session{};
  std::vector<AgentMessage> messages{};
};
struct Reply {
  std::string text{};
  bool done = false;
};

Task<std::string> agent(Context& ctx, AgentState st) {
  for (int i = 0; i < 3; ++i) {
    auto r = co_await ctx.activity<Reply>(
        "llm", {.session = st.session, .timeout = 5min, .retry = {.max_attempts = 4}}, st.messages);
    st.messages.push_back({"assistant", r.text});
    if (r.done) co_return r.text;
  }
  co_await ctx.continue_as_new(st);  // never resumes, so no co_return follows
}

TEST(Api, Agent) {
  const AgentState state{"conv-1", {{"user", "hi"}}};
  Driver driver(agent, state);
  Outcome outcome = driver.start();
  EXPECT_EQ(activity_in(outcome).settings->session->id, "conv-1");
  EXPECT_EQ(activity_in(outcome).settings->timeout, Duration(5min));
  EXPECT_EQ(activity_in(outcome).settings->retry.max_attempts, 4);
  outcome = driver.step(driver.completes(outcome.actions[0].id, Reply{"hello", false}));
  EXPECT_EQ(activity_in(outcome).input.bytes,
            R"([{"role":"user","text":"hi"},{"role":"assistant","text":"hello"}])");
  outcome = driver.step(driver.completes(outcome.actions[0].id, Reply{"bye", true}));
  EXPECT_EQ(result_of<std::string>(outcome), "bye");
}

TEST(Api, AgentThatGoesOnAsNew) {
  Driver driver(agent, AgentState{"conv-1", {}});
  Outcome outcome = driver.start();
  while (!outcome.end) outcome = driver.step(driver.completes(outcome.actions[0].id, Reply{"...", false}));
  ASSERT_NE(end_of<history::ContinuedAsNew>(outcome), nullptr);
  const auto next = decode<AgentState>(end_of<history::ContinuedAsNew>(outcome)->input).value();
  EXPECT_EQ(next.messages.size(), 3U);
}

// ---- typed handles ------------------------------------------------------------------------------

struct Receipt {
  std::string number{};
};

inline constexpr Activity<Receipt(Order)> charge{"charge", {.queue = "payments", .timeout = 30s}};
inline constexpr Activity<void(std::string, int)> refund{"refund"};

Task<std::string> sell(Context& ctx, Order order) {
  Receipt receipt = co_await ctx.activity(charge, order);
  co_await ctx.activity(charge, {.queue = "slow"}, order);
  co_await ctx.activity(refund, "o-1", 5);  // a literal and a number convert
  auto session = ctx.session("s");
  co_await session.activity(refund, {.timeout = 1s}, receipt.number, 7);
  co_return receipt.number;
}

TEST(Api, TypedHandles) {
  Driver driver(sell, Order{"o-1", 1200});
  Outcome outcome = driver.start();
  EXPECT_EQ(activity_in(outcome).name, "charge");
  EXPECT_EQ(activity_in(outcome).settings->queue, "payments");
  EXPECT_EQ(activity_in(outcome).input.bytes, R"({"id":"o-1","cents":1200})");
  outcome = driver.step(driver.completes(outcome.actions[0].id, Receipt{"r-1"}));
  EXPECT_EQ(activity_in(outcome).settings->queue, "slow");
  outcome = driver.step(driver.completes(outcome.actions[0].id, Receipt{"r-2"}));
  EXPECT_EQ(activity_in(outcome).input.bytes, R"(["o-1",5])");
  outcome = driver.step(driver.completes(outcome.actions[0].id));
  EXPECT_EQ(activity_in(outcome).settings->session->id, "s");
  EXPECT_EQ(activity_in(outcome).settings->timeout, Duration(1s));
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(outcome.actions[0].id))), "r-1");
}

inline constexpr Activity<void()> with_all_options{"all",
                                                   {.session = "s",
                                                    .queue = "q",
                                                    .connection = "c",
                                                    .timeout = 1s,
                                                    .schedule_to_start = 2s,
                                                    .retry = {.max_attempts = 3,
                                                              .backoff = Backoff::linear,
                                                              .first_delay = 4s,
                                                              .factor = 1.5,
                                                              .max_delay = 5s,
                                                              .jitter = 0.25,
                                                              .total_deadline = 6s,
                                                              .non_retryable = {"fatal"}},
                                                    .priority = 7}};

Task<> calls_with_all_options(Context& ctx) {
  auto as_declared = ctx.activity(with_all_options).start();
  auto same = ctx.activity(with_all_options, {.priority = 7}).start();
  auto other = ctx.activity(with_all_options, {.retry = {.max_attempts = 9}, .priority = 0}).start();
  co_await when_all(as_declared, same, other);
}

TEST(Api, AnOptionThatACallDoesNotSetIsTheHandles) {
  Driver driver(calls_with_all_options);
  const Outcome outcome = driver.start();
  const detail::ActivitySettings declared = *activity_in(outcome, 0).settings;
  EXPECT_EQ(declared.retry.non_retryable, std::vector<std::string>{"fatal"});
  EXPECT_EQ(*activity_in(outcome, 1).settings, declared);
  detail::ActivitySettings expected = declared;
  expected.retry.max_attempts = 9;
  expected.priority = 0;
  EXPECT_EQ(*activity_in(outcome, 2).settings, expected);
}

// ---- several at once ----------------------------------------------------------------------------

Task<std::string> quote(Context& ctx, std::string carrier) {
  auto price = co_await ctx.activity<int>("quote", carrier);
  co_return carrier + " for " + std::to_string(price);
}

Task<std::string> first_quote(Context& ctx) {
  auto first = co_await race(quote(ctx, "rail"), quote(ctx, "road"), ctx.sleep(1min));
  if (first.index() == 2) co_return "nobody answered";
  co_return first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
}

TEST(Api, Race) {
  Driver driver(first_quote);
  const Outcome outcome = driver.start();
  const Outcome end = driver.step(driver.completes(outcome.actions.at(1).id, 40));
  EXPECT_EQ(result_of<std::string>(end), "road for 40");
  EXPECT_EQ(cancelled(end), (std::vector<std::uint64_t>{3, 5}));
}

Task<int> total(Context& ctx, std::vector<std::string> urls) {
  std::vector<Op<int>> counts;
  for (const auto& url : urls) counts.push_back(ctx.activity<int>("count", url));
  int sum = 0;
  for (const int count : co_await when_all(std::move(counts))) sum += count;
  co_return sum;
}

TEST(Api, FanOut) {
  const std::vector<std::string> urls{"a", "b", "c"};
  Driver driver(total, urls);
  const Outcome outcome = driver.start();
  driver.step(driver.completes(outcome.actions.at(2).id, 3), driver.completes(outcome.actions.at(0).id, 1));
  EXPECT_EQ(result_of<int>(driver.step(driver.completes(outcome.actions.at(1).id, 2))), 6);
}

// ---- sagas --------------------------------------------------------------------------------------

inline constexpr Activity<bool(std::string)> cancel_flight{"cancel_flight"};

Task<std::string> book(Context& ctx, Saga& saga, std::string trip) {
  saga.undo_with("cancel_hotel", {.queue = "slow"}, trip);
  auto hotel = co_await ctx.activity<std::string>("book_hotel", trip);
  saga.undo_with(cancel_flight, trip);
  auto flight = co_await ctx.activity<std::string>("book_flight", trip);
  co_await ctx.activity<void>("pay", trip);
  co_return hotel + " and " + flight;
}

Task<std::string> travel(Context& ctx, std::string trip) {
  auto outcome = co_await run_saga(ctx, book, trip).result();
  co_return outcome ? *outcome : "undone: " + outcome.error().type;
}

TEST(Api, SagaThatIsUndone) {
  Driver driver(travel, "Oslo");
  Outcome outcome = driver.start();
  outcome = driver.step(driver.completes(outcome.actions.at(0).id, "h"));
  outcome = driver.step(driver.completes(outcome.actions.at(0).id, "f"));
  outcome = driver.step(driver.fails(outcome.actions.at(0).id, "card_declined"));
  EXPECT_EQ(activity_in(outcome).name, "cancel_flight");
  EXPECT_EQ(activity_in(outcome).input.bytes, "\"Oslo\"");
  outcome = driver.step(driver.completes(outcome.actions.at(0).id, true));
  EXPECT_EQ(activity_in(outcome).name, "cancel_hotel");
  EXPECT_EQ(activity_in(outcome).settings->queue, "slow");
  outcome = driver.step(driver.completes(outcome.actions.at(0).id));
  EXPECT_EQ(result_of<std::string>(outcome), "undone: card_declined");
}

TEST(Api, SagaThatEndsWell) {
  Driver driver(travel, "Oslo");
  Outcome outcome = driver.start();
  outcome = driver.step(driver.completes(outcome.actions.at(0).id, "h"));
  outcome = driver.step(driver.completes(outcome.actions.at(0).id, "f"));
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(outcome.actions.at(0).id))), "h and f");
}

// ---- options ------------------------------------------------------------------------------------

Task<> uses_options(Context& ctx) {
  co_await ctx.activity<void>("a", {});
  co_await ctx.session("s").activity<void>("a", {.session = "t", .queue = "r"}, 1);
  co_await ctx.activity(refund, {.session = "t", .queue = "r"}, "x", 1);
  const ActivityOptions named{.queue = "q"};
  co_await ctx.activity<void>("b", named, 1);
  co_await ctx.child<void>("c", {.id = "c", .version = "1"}, "x");
  co_await ctx.start_detached("d", {.id = "d", .version = "2"}, 1, 2);
  co_await ctx.continue_as_new({.version = "3"}, "y");
}

TEST(Api, OptionsStandAfterTheName) {
  Driver driver(uses_options);
  Outcome outcome = driver.start();
  EXPECT_TRUE(activity_in(outcome).settings.is_default());
  outcome = driver.step(driver.completes(outcome.actions.at(0).id));
  EXPECT_EQ(activity_in(outcome).settings->session->id, "s");
  EXPECT_EQ(activity_in(outcome).settings->queue, "r");
  outcome = driver.step(driver.completes(outcome.actions.at(0).id));
  EXPECT_EQ(activity_in(outcome).settings->session->id, "t");
  outcome = driver.step(driver.completes(outcome.actions.at(0).id));
  EXPECT_EQ(activity_in(outcome).settings->queue, "q");
  outcome = driver.step(driver.completes(outcome.actions.at(0).id));
  EXPECT_EQ(std::get<detail::ChildStarted>(outcome.actions.at(0).operation).input.bytes, "\"x\"");
  outcome = driver.step(driver.completes(outcome.actions.at(0).id));
  EXPECT_EQ(std::get<detail::DetachedStarted>(outcome.actions.at(0).operation).input.bytes, "[1,2]");
  outcome = driver.step(driver.completes(outcome.actions.at(0).id, "d"));
  ASSERT_NE(end_of<history::ContinuedAsNew>(outcome), nullptr);
  EXPECT_EQ(end_of<history::ContinuedAsNew>(outcome)->version, "3");
  EXPECT_EQ(end_of<history::ContinuedAsNew>(outcome)->input.bytes, "\"y\"");
}

}  // namespace
}  // namespace holdfast::engine::api_test
