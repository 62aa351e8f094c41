// Bytes come back exactly, whatever they are; and there may be many of them.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(bytes);

namespace holdfast::testing::conformance {
namespace {

std::vector<std::string> hard_bytes() {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  return {"",
          std::string("\0", 1),
          std::string("a\0b", 3),
          "null",
          "\xff\xfe not UTF-8",
          every_byte,
          "'; DROP TABLE instances; --",
          "\xf0\x9f\x8c\x8a",
          " \r\n\t ",
          std::string(1 << 20, '\xee')};
}

STORE_TEST(Bytes, OfMessagesComeBackExactly) {
  const Worker a = join("a");
  for (const std::string& bytes : hard_bytes()) {
    const std::string id = "order-" + std::to_string(bytes.size());
    StartRequest request = start_of(id + std::to_string(std::hash<std::string>{}(bytes)));
    request.body = bytes;
    start(request);
    send(message_to(request.instance, control(bytes)));
    send(message_to(request.instance, delivery(mailbox("orders"), bytes)));
    Turn turn = a.fetch_turn();
    ASSERT_EQ(turn->messages.size(), 3U);
    for (const Message& message : turn->messages) EXPECT_TRUE(message.body == MessageBody(bytes));
    a.commit(turn.consumes_all().ends());
  }
}

STORE_TEST(Bytes, OfActivitiesComeBackExactly) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.keeps_lock());
  for (const std::string& bytes : hard_bytes()) {
    turn.schedules("charge").commit.activities[0].body = bytes;
    a.commit(turn.keeps_lock());
    const Work first = a.fetch_activity();
    EXPECT_TRUE(first->body == bytes);
    must(a.heartbeat(first, bytes));
    must(a.retry(first, 0s, bytes));
    const Work second = a.fetch_activity();
    EXPECT_TRUE(second->body == bytes);
    EXPECT_TRUE(second->progress == bytes);
    EXPECT_TRUE(second->last_failure == bytes);
    must(a.finish(second, bytes));
    auto news = a.news_of(turn);
    ASSERT_TRUE(news && (*news)->messages.size() == 1U);
    EXPECT_TRUE((*news)->messages[0].body == MessageBody(bytes));
    turn = *news;
  }
}

STORE_TEST(Bytes, OfHistoryComeBackExactly) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (const std::string& bytes : hard_bytes()) {
    if (bytes.empty()) continue;  // is no segment at all
    turn.commit.segment = bytes;
    const EventId first = turn.commit.first_event;
    a.commit(turn.keeps_lock());
    const auto segments =
        must(store().read_history(turn.key(), ExecutionNumber{1}, EventId{first.value - 1}, 10));
    ASSERT_FALSE(segments.empty());
    EXPECT_TRUE(segments[0].bytes == bytes);
  }
}

STORE_TEST(Bytes, OfValuesAndStatusComeBackExactly) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (const std::string& bytes : hard_bytes()) {
    a.commit(
        turn.sets_value("key", bytes).shows(bytes).reads_value(EventId{99}, "order-1", "key").keeps_lock());
    EXPECT_TRUE(must(store().value("order-1", "key")) == bytes);
    EXPECT_TRUE(find("order-1").custom_status == bytes);
    EXPECT_TRUE(row("order-1").messages.back().body == MessageBody(ValueAnswer{true, bytes}));
  }
  a.commit(turn.ends(InstanceStatus::completed, hard_bytes()[5]));
  EXPECT_EQ(find("order-1").output, hard_bytes()[5]);
}

STORE_TEST(Bytes, OfSessionsComeBackExactly) {
  const Worker a = join("a");
  for (const std::string& bytes : hard_bytes()) {
    const Acquired acquired = a.acquire("gpu");
    must(a.release({"gpu", acquired.session.generation}, SessionReason::operated, bytes));
    EXPECT_TRUE(session("gpu").saved == bytes);
  }
}

STORE_TEST(Bytes, NamesOfFullLengthAndEveryScriptAreKept) {
  const Worker a = join("a");
  for (const std::string& name :
       {std::string(255, 'n'), std::string("\xd0\x97\xd0\xb0\xd0\xba\xd0\xb0\xd0\xb7 \xe2\x84\x96"),
        std::string("\"quoted\" 'twice' \\ ; --")}) {
    Turn turn = a.begin(name);
    a.commit(turn.sets_value(name, "value").waits_for({mailbox(name)}));
    EXPECT_EQ(must(store().value(name, name)), "value");
    EXPECT_EQ(describe(name).waits, std::vector{mailbox(name)});
  }
}

STORE_TEST(Volume, TenThousandUnreadMessagesAreNoBurdenAndNoLoss) {
  const Worker a = join("a");
  a.commit(a.begin("order-1"));
  std::vector<ClientMessage> messages;
  for (int i = 0; i < 10'000; ++i) {
    messages.push_back(message_to("order-1", delivery(mailbox("orders"), std::to_string(i))));
  }
  for (const auto& result : store().send(messages)) ASSERT_EQ(answer(result), "ok");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  EXPECT_EQ(describe("order-1").unread, 10'000U);

  tell("order-1", "go on");
  a.commit(a.fetch_turn().continues_as_new("round 2"));
  Turn turn = a.fetch_turn();
  ASSERT_EQ(turn->messages.size(), 10'001U);
  int next = 0;
  for (const Message& message : turn->messages) {
    if (message.kind != MessageKind::delivery) continue;
    ASSERT_EQ(message.body, MessageBody(std::to_string(next++)));
  }
  a.commit(turn.consumes_all());
  EXPECT_EQ(describe("order-1").unread, 0U);
}

STORE_TEST(Volume, AThousandTimersOfOneInstanceComeInOrder) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 1000; ++i) {
    turn.sets_timer(EventId{static_cast<std::uint64_t>(10 + i)}, clock().calendar_now() + 1s * (1000 - i));
  }
  a.commit(turn);
  pass(1h);
  const Turn due = a.fetch_turn();
  ASSERT_EQ(due->messages.size(), 1000U);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(due->messages[i].source, EventId{1009 - i});
}

}  // namespace
}  // namespace holdfast::testing::conformance
