// What clients send: once for each request, also to an id that doesn't exist yet.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(sends);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Sends, AMessageIsAnsweredWithTheLifeThatGetsIt) {
  const InstanceKey key = start("order-1");
  EXPECT_EQ(raise("order-1", "decision", "yes"), key);
  EXPECT_EQ(tell("order-1", "cancel"), key);
}

STORE_TEST(Sends, ARepeatedRequestTakesEffectOnce) {
  const InstanceKey key = start("order-1");
  const ClientMessage message = message_to("order-1", delivery(mailbox("orders"), "once"));
  EXPECT_EQ(send(message), key);
  changes_nothing([&] { EXPECT_EQ(send(message), key); });
}

STORE_TEST(Sends, ARepeatedRequestTakesEffectOnceAlsoWhenItWasConsumed) {
  const Worker a = join("a");
  start("order-1");
  const ClientMessage message = message_to("order-1", control("once"));
  send(message);
  a.commit(a.fetch_turn());
  changes_nothing([&] { send(message); });
}

STORE_TEST(Sends, ARepeatedRequestIsAnsweredLikeTheFirstAfterTheEnd) {
  const Worker a = join("a");
  const InstanceKey key = start("order-1");
  const ClientMessage message = message_to("order-1", control("terminate"));
  send(message);
  a.commit(a.fetch_turn().ends());
  EXPECT_EQ(send(message), key);
}

STORE_TEST(Sends, TheSameRequestTwiceInOneBatchTakesEffectOnce) {
  start("order-1");
  const ClientMessage message = message_to("order-1", delivery(mailbox("orders"), "once"));
  const std::vector<ClientMessage> messages{message, message};
  EXPECT_EQ(answers(store().send(messages)), (Texts{"ok", "ok"}));
  EXPECT_EQ(describe("order-1").unread, 1U);
}

/// What sweeps forget of requests, and of nothing else.
SweepRequest keeping_requests(Duration retention, std::size_t max = 1000) {
  return {.worker_stale_after = std::chrono::years(10), .request_retention = retention, .max = max};
}

STORE_TEST(Sends, ARequestIsRememberedForItsRetention) {
  start("order-1");
  const ClientMessage message = message_to("order-1", delivery(mailbox("orders"), "body"));
  send(message);
  pass(24h - 1s);
  sweep();
  send(message);
  EXPECT_EQ(describe("order-1").unread, 1U);
  pass(1s);
  sweep();
  send(message);
  EXPECT_EQ(describe("order-1").unread, 2U);
  pass(1min);
  sweep(keeping_requests(1min));
  send(message);
  EXPECT_EQ(describe("order-1").unread, 3U);
}

STORE_TEST(Sends, ARequestIsRememberedBeyondTheEndAndTheDeletion) {
  const Worker a = join("a");
  const InstanceKey former = start("order-1");
  const ClientMessage message = message_to("order-1", delivery(mailbox("orders"), "body"));
  send(message);
  a.commit(a.fetch_turn().ends());
  EXPECT_EQ(send(message), former);
  must(store().delete_instance("order-1", false));
  changes_nothing([&] { EXPECT_EQ(send(message), former); });
  start("order-1");
  changes_nothing([&] { EXPECT_EQ(send(message), former); });
}

STORE_TEST(Sends, OldRequestsAreForgottenInSlicesTheOldestFirst) {
  start("order-1");
  std::vector<ClientMessage> messages;
  for (int i = 0; i < 5; ++i) {
    messages.push_back(message_to("order-1", delivery(mailbox("orders"), std::to_string(i))));
    send(messages.back());
    pass(1s);
  }
  pass(1h);
  EXPECT_EQ(sweep(keeping_requests(1h, 2)).remains_removed, 2U);
  EXPECT_EQ(sweep(keeping_requests(1h, 2)).next_due, 0s);
  // The fifth is remembered.
  for (const ClientMessage& message : messages) send(message);
  EXPECT_EQ(describe("order-1").unread, 5U + 4U);
}

STORE_TEST(Sends, AMessageWithoutARequestIsNeverTakenForAnother) {
  start("order-1");
  ClientMessage message = message_to("order-1", delivery(mailbox("orders"), "body"));
  message.request = {};
  send(message);
  send(message);
  EXPECT_EQ(describe("order-1").unread, 2U);
}

STORE_TEST(Sends, ARefusedRequestMayBeRepeated) {
  const ClientMessage message = message_to("order-1", control("cancel"));
  EXPECT_EQ(answer(try_send(message)), "not_found");
  const InstanceKey key = start("order-1");
  EXPECT_EQ(send(message), key);
  EXPECT_EQ(describe("order-1").unread, 1U);
}

STORE_TEST(Sends, ToNobodyAControlMessageIsNotFound) {
  changes_nothing([&] { EXPECT_EQ(answer(try_send(message_to("nobody", control("cancel")))), "not_found"); });
}

STORE_TEST(Sends, ToAnEndedInstanceNothingGoes) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").ends());
  changes_nothing([&] {
    EXPECT_EQ(answer(try_send(message_to("order-1", control("cancel")))), "conflict");
    EXPECT_EQ(answer(try_send(message_to("order-1", delivery(event("decision"), "late")))), "conflict");
  });
}

STORE_TEST(Sends, ItemsOfABatchStandAlone) {
  start("order-1");
  const std::vector<ClientMessage> messages{message_to("nobody", control("cancel")),
                                            message_to("order-1", control("cancel")),
                                            message_to("later", delivery(event("decision"), "early"))};
  const auto results = store().send(messages);
  ASSERT_EQ(answers(results), (Texts{"not_found", "ok", "ok"}));
  EXPECT_EQ(*results[2], InstanceKey{});
}

STORE_TEST(Sends, ACancelIsShownFromItsRequestOn) {
  start("order-1");
  tell("order-1", "no cancel");
  EXPECT_EQ(find("order-1").cancel_requested_at, std::nullopt);
  ClientMessage cancel = message_to("order-1", control("cancel"));
  cancel.cancels = true;
  send(cancel);
  const CalendarTime requested = clock().calendar_now();
  EXPECT_EQ(find("order-1").cancel_requested_at, requested);
  pass(5s);
  cancel.request = token<RequestId>();
  send(cancel);
  EXPECT_EQ(find("order-1").cancel_requested_at, requested);
}

STORE_TEST(EarlyDeliveries, AreKeptForAnIdThatStartsLater) {
  const Worker a = join("a");
  EXPECT_EQ(raise("order-1", "decision", "first"), InstanceKey{});
  EXPECT_EQ(post("order-1", "orders", "second"), InstanceKey{});
  raise("order-2", "decision", "for another");
  EXPECT_EQ(state().early.size(), 3U);
  EXPECT_EQ(answer(store().find("order-1")), "not_found");

  start("order-1");
  EXPECT_EQ(a.fetch_turn().messages(),
            (Texts{"start: order-1 input", "event decision: first", "mailbox orders: second"}));
  EXPECT_EQ(state().early.size(), 1U);
}

STORE_TEST(EarlyDeliveries, WithADelayAreNotSeenBeforeItIsOver) {
  const Worker a = join("a");
  ClientMessage message = message_to("order-1", delivery(event("decision"), "late"));
  message.delay = 10s;
  send(message);
  pass(4s);
  a.commit(a.begin("order-1").waits_for({event("decision")}));
  pass(6s - 1us);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(1us);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"event decision: late"});
}

STORE_TEST(EarlyDeliveries, AreGivenToTheFirstLifeOnly) {
  const Worker a = join("a");
  raise("order-1", "decision", "early");
  a.commit(a.begin("order-1").ends());
  StartRequest again = start_of("order-1");
  again.reuse = Reuse::after_end;
  start(again);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(EarlyDeliveries, AreDroppedOnceTheirTimeIsOver) {
  ClientMessage message = message_to("order-1", delivery(event("decision"), "early"));
  message.keep_early = 1min;
  send(message);
  raise("order-1", "decision", "kept for a day");
  EXPECT_EQ(state().early.at(0).keeps_for, 1min);
  pass(59s);
  EXPECT_EQ(sweep().early_dropped, 0U);
  EXPECT_LE(sweep().next_due, 1s);
  pass(1s);
  EXPECT_EQ(sweep().early_dropped, 1U);
  ASSERT_EQ(state().early.size(), 1U);
  EXPECT_EQ(state().early[0].message.body, "kept for a day");
  pass(24h);
  EXPECT_EQ(sweep().early_dropped, 1U);
}

STORE_TEST(EarlyDeliveries, PastTheirTimeAreNotGivenAlsoBeforeTheyAreSwept) {
  const Worker a = join("a");
  ClientMessage message = message_to("order-1", delivery(event("decision"), "early"));
  message.keep_early = 1min;
  send(message);
  pass(1min);
  EXPECT_EQ(a.begin("order-1").messages(), Texts{"start: order-1 input"});
}

STORE_TEST(EarlyDeliveries, WithoutTimeToBeKeptAreNotFound) {
  ClientMessage message = message_to("order-1", delivery(event("decision"), "now or never"));
  message.keep_early = 0s;
  changes_nothing([&] { EXPECT_EQ(answer(try_send(message)), "not_found"); });
}

STORE_TEST(EarlyDeliveries, ARepeatedRequestTakesEffectOnce) {
  const ClientMessage message = message_to("order-1", delivery(event("decision"), "early"));
  EXPECT_EQ(send(message), InstanceKey{});
  changes_nothing([&] { EXPECT_EQ(send(message), InstanceKey{}); });
  start("order-1");
  changes_nothing([&] { EXPECT_EQ(send(message), InstanceKey{}); });
}

STORE_TEST(EarlyDeliveries, OfADeletedIdWaitForItsNextLife) {
  const Worker a = join("a");
  start("order-1");
  must(store().delete_instance("order-1", true));
  EXPECT_EQ(raise("order-1", "decision", "early"), InstanceKey{});
  start("order-1");
  EXPECT_EQ(a.fetch_turn()->messages.size(), 2U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
