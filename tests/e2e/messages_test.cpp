// Events and mailboxes as users see them.
#include "stores_test.hpp"

namespace holdfast::e2e::messages_test {
namespace {

class MessagesTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(MessagesTest);

TEST_P(MessagesTest, AnEventMayComeBeforeItsInstanceAndIsKeptForItsTime) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("told", told); });
  Client client = rt->client();
  client.raise("early", "end", 7);
  EXPECT_EQ(client.start("told", {.id = "early"}).wait<int>(kSoon), 7);

  client.raise("late", "end", {.keep_for = 1ms}, 1);
  client.raise("late", "end", {.keep_for = 1h}, 2);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - begun > 5ms; }));
  EXPECT_EQ(client.start("told", {.id = "late"}).wait<int>(kSoon), 2);  // the first was not kept so long

  try {
    client.raise("nobody", "end", {.keep_for = Duration::zero()}, 1);
    FAIL() << "there is nobody to keep it for";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::not_found);
  }
}

Task<std::string> two_events(Context& ctx) {
  const std::string a = co_await ctx.event<std::string>("a");
  const std::string b = co_await ctx.event<std::string>("b");
  co_return a + b;
}

TEST_P(MessagesTest, EventsWaitByTheirNames) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("two_events", two_events); });
  const Run run = rt->client().start("two_events", {.id = "e"});
  run.raise("b", "2");
  run.raise("a", "1");
  EXPECT_EQ(run.wait<std::string>(kSoon), "12");
}

TEST_P(MessagesTest, OneMayArriveLater) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("told", told); });
  const Run run = rt->client().start("told", {.id = "t"});
  rt->client().raise("t", "end", {.delay = 50ms}, 3);
  EXPECT_EQ(run.wait<int>(kSoon), 3);
}

struct Seen {
  std::vector<int> numbers;
  int rounds = 0;
};

// Reads as many as it likes in one execution, and leaves the rest to the next one.
Task<std::vector<int>> reader(Context& ctx, Seen seen, int count) {
  const Receiver<int> inbox = ctx.mailbox<int>("numbers");
  seen.numbers.push_back(co_await inbox.receive());
  if (const std::optional<int> second = co_await inbox.try_receive()) seen.numbers.push_back(*second);
  if (static_cast<int>(seen.numbers.size()) >= count) co_return seen.numbers;
  ++seen.rounds;
  co_await ctx.continue_as_new(seen, count);
}

TEST_P(MessagesTest, AMailboxKeepsItsOrderAndLosesNothingAcrossContinueAsNew) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("reader", reader); });
  std::vector<int> numbers;
  for (int i = 0; i < 40; ++i) numbers.push_back(i);
  const Seen none;
  const Run run = rt->client().start("reader", {.id = "r"}, none, 40);
  rt->client().send_all("r", "numbers", numbers);
  EXPECT_EQ(run.wait<std::vector<int>>(kSoon), numbers);
  EXPECT_GT(run.info().execution.value, 10U);
}

Task<std::vector<std::string>> combined(Context& ctx) {
  const Receiver<int> inbox = ctx.mailbox<int>("numbers");
  std::vector<std::string> log;
  const std::optional<int> none = co_await with_timeout(inbox.receive(), 10ms);
  log.push_back(none ? "early" : "timeout");
  ctx.set_status("waiting");
  const auto first = co_await race(inbox.receive(), ctx.event<int>("stop"));
  log.push_back(first.index() == 0 ? "message " + std::to_string(std::get<0>(first)) : "event");
  const auto second = co_await race(inbox.receive(), ctx.event<int>("stop"));
  log.push_back(second.index() == 0 ? "message" : "event " + std::to_string(std::get<1>(second)));
  const std::vector<int> rest = co_await inbox.drain();
  log.push_back("rest " + std::to_string(rest.size()));
  co_return log;
}

TEST_P(MessagesTest, ComposeWithRaceAndTimeout) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("combined", combined); });
  const Run run = rt->client().start("combined", {.id = "c"});
  EXPECT_TRUE(eventually([&] { return run.custom_status<std::string>() == "waiting"; }));
  run.send("numbers", 1);
  EXPECT_TRUE(eventually([&] { return run.describe().unread_messages == 0; }));
  run.raise("stop", 2);
  EXPECT_EQ(run.wait<std::vector<std::string>>(kSoon),
            (std::vector<std::string>{"timeout", "message 1", "event 2", "rest 0"}));
}

TEST_P(MessagesTest, AnEventOfAnotherTypeIsSetAsideAndHarmsNobody) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("told", told); });
  const Run run = rt->client().start("told", {.id = "t"});
  run.raise("end", "seven");  // the code wants a number
  EXPECT_TRUE(log->wait_for("an event can't be read as what the code waits for; it is set aside"));
  EXPECT_EQ(log->count("event=end"), 1U);
  EXPECT_EQ(run.status(), Status::running);
  EXPECT_TRUE(eventually([&] { return run.describe().unread_messages == 0; }));
  const auto aside = store()->set_aside(0, 10).value();
  ASSERT_EQ(aside.size(), 1U);
  EXPECT_NE(aside[0].bytes.find("seven"), std::string::npos);
  run.raise("end", 7);
  EXPECT_EQ(run.wait<int>(kSoon), 7);
}

}  // namespace
}  // namespace holdfast::e2e::messages_test
