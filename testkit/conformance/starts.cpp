// Starting instances: the same wish twice is one instance, and an id lives again only if the caller allows
// it.
#include "testkit/conformance/story.hpp"

#include <array>

HOLDFAST_CONFORMANCE_FILE(starts);

namespace holdfast::testing::conformance {
namespace {

/// Another wish for the same id.
StartRequest another(const World& world, const char* id, Reuse reuse) {
  StartRequest request = world.start_of(id);
  request.body = "another input";
  request.reuse = reuse;
  return request;
}

STORE_TEST(Starts, AnInstanceIsKnownAtOnce) {
  const StartAnswer answered = start(start_of("order-1"));
  EXPECT_TRUE(answered.is_new);
  const InstanceView expected{.key = answered.key,
                              .instance = "order-1",
                              .code = {"order", "1"},
                              .execution = ExecutionNumber{1},
                              .status = InstanceStatus::running,
                              .created_at = clock().calendar_now(),
                              .updated_at = clock().calendar_now()};
  EXPECT_EQ(find("order-1"), expected);
}

STORE_TEST(Starts, KeysGrow) {
  const InstanceKey first = start("order-1");
  const InstanceKey second = start("order-2");
  EXPECT_EQ(first, InstanceKey{1});
  EXPECT_EQ(second, InstanceKey{2});
}

STORE_TEST(Starts, TheSameRequestIsAnsweredLikeTheFirst) {
  const StartRequest request = start_of("order-1");
  const StartAnswer first = start(request);
  changes_nothing([&] { EXPECT_EQ(start(request), (StartAnswer{first.key, false})); });
}

STORE_TEST(Starts, TheSameRequestIsAnsweredLikeTheFirstAfterTheEnd) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.reuse = Reuse::after_end;
  const StartAnswer first = start(request);
  a.commit(a.fetch_turn().ends());
  changes_nothing([&] { EXPECT_EQ(start(request), (StartAnswer{first.key, false})); });
}

STORE_TEST(Starts, ARepeatedRequestBeginsNothingAfterTheDeletion) {
  const Worker a = join("a");
  const StartRequest request = start_of("order-1");
  const StartAnswer first = start(request);
  a.commit(a.fetch_turn().ends());
  must(store().delete_instance("order-1", false));
  changes_nothing([&] { EXPECT_EQ(start(request), (StartAnswer{first.key, false})); });
  // Another handle knows it, too; and somebody else may have the id.
  const auto handle = another_handle();
  EXPECT_EQ(must(handle->start(std::array{request}).front()), (StartAnswer{first.key, false}));
  EXPECT_TRUE(start(start_of("order-1")).is_new);
  EXPECT_EQ(start(request), (StartAnswer{first.key, false}));
}

STORE_TEST(Starts, ARepeatedRequestOfAFormerLifeBeginsNoThird) {
  const Worker a = join("a");
  const StartRequest first = another(*this, "order-1", Reuse::after_end);
  const StartRequest second = another(*this, "order-1", Reuse::after_end);
  const InstanceKey former = start(first).key;
  a.commit(a.fetch_turn().ends());
  const InstanceKey latter = start(second).key;
  a.commit(a.fetch_turn().ends());
  changes_nothing([&] {
    EXPECT_EQ(start(first), (StartAnswer{former, false}));
    EXPECT_EQ(start(second), (StartAnswer{latter, false}));
  });
}

STORE_TEST(Starts, ARequestThatFoundItsWishFulfilledIsAnsweredTheSameAfterTheDeletion) {
  StartRequest request = start_of("order-1");
  const StartAnswer first = start(request);
  request.request = token<RequestId>();
  start(request);
  must(store().delete_instance("order-1", true));
  changes_nothing([&] { EXPECT_EQ(start(request), (StartAnswer{first.key, false})); });
}

STORE_TEST(Starts, ARequestIsForgottenItsRetentionAfterTheInstanceIsGone) {
  const StartRequest request = start_of("order-1");
  const StartAnswer first = start(request);
  pass(25h);
  sweep();
  must(store().delete_instance("order-1", true));
  pass(24h - 1s);
  sweep();
  EXPECT_EQ(start(request), (StartAnswer{first.key, false}));
  pass(1s);
  EXPECT_EQ(sweep().remains_removed, 1U);
  EXPECT_TRUE(start(request).is_new);
}

STORE_TEST(Starts, TheSameWishIsAnsweredWithTheInstanceThatIsThere) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  const StartAnswer first = start(request);
  request.request = token<RequestId>();
  changes_nothing([&] { EXPECT_EQ(start(request), (StartAnswer{first.key, false})); });
  a.commit(a.fetch_turn().ends());
  changes_nothing([&] { EXPECT_EQ(start(request), (StartAnswer{first.key, false})); });
}

STORE_TEST(Starts, AnotherWishForTheSameIdIsAConflict) {
  const Worker a = join("a");
  start("order-1");
  changes_nothing([&] { EXPECT_EQ(answer(try_start(start_of("order-1"))), "conflict"); });
  a.commit(a.fetch_turn().ends());
  changes_nothing([&] { EXPECT_EQ(answer(try_start(start_of("order-1"))), "conflict"); });
}

STORE_TEST(Starts, ReuseNeverTouchesALifeThatHasNotEnded) {
  start("order-1");
  changes_nothing([&] {
    EXPECT_EQ(answer(try_start(another(*this, "order-1", Reuse::after_end))), "conflict");
    EXPECT_EQ(answer(try_start(another(*this, "order-1", Reuse::after_failure))), "conflict");
  });
}

STORE_TEST(Starts, AfterTheEndAnIdMayLiveAgain) {
  const Worker a = join("a");
  Turn former = a.begin("order-1");
  a.commit(former.sets_value("colour", "blue").shows("done").ends());
  const StartAnswer again = start(another(*this, "order-1", Reuse::after_end));
  EXPECT_TRUE(again.is_new);
  EXPECT_NE(again.key, former.key());
  EXPECT_EQ(find("order-1").key, again.key);
  EXPECT_EQ(find("order-1").status, InstanceStatus::running);
  EXPECT_EQ(find("order-1").custom_status, std::nullopt);
  EXPECT_EQ(find("order-1").output, "");
  EXPECT_EQ(must(store().value("order-1", "colour")), std::nullopt);
  EXPECT_EQ(answer(store().read_history(former.key(), ExecutionNumber{1}, EventId{}, 1000)), "not_found");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: another input"});
}

STORE_TEST(Starts, AfterAFailureAnIdMayLiveAgainWhereACompletedOneMayNot) {
  const Worker a = join("a");
  a.commit(a.begin("completed").ends(InstanceStatus::completed));
  a.commit(a.begin("failed").ends(InstanceStatus::failed));
  a.commit(a.begin("cancelled").ends(InstanceStatus::cancelled));
  a.commit(a.begin("terminated").ends(InstanceStatus::terminated));
  EXPECT_EQ(answer(try_start(another(*this, "completed", Reuse::after_failure))), "conflict");
  for (const char* id : {"failed", "cancelled", "terminated"}) {
    EXPECT_TRUE(start(another(*this, id, Reuse::after_failure)).is_new) << id;
  }
}

STORE_TEST(Starts, TheSameWishAfterTheEndLivesAgainWhereItMay) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.reuse = Reuse::after_end;
  const StartAnswer first = start(request);
  a.commit(a.fetch_turn().ends());
  request.request = token<RequestId>();
  const StartAnswer second = start(request);
  EXPECT_TRUE(second.is_new);
  EXPECT_NE(second.key, first.key);
}

STORE_TEST(Starts, ItemsOfABatchStandAlone) {
  start("order-1");
  const StartRequest fresh = start_of("order-2");
  const std::vector<StartRequest> requests{start_of("order-1"), fresh, fresh, start_of("order-2")};
  const auto results = store().start(requests);
  ASSERT_EQ(answers(results), (Texts{"conflict", "ok", "ok", "conflict"}));
  EXPECT_TRUE(results[1]->is_new);
  EXPECT_FALSE(results[2]->is_new);
  EXPECT_EQ(results[1]->key, results[2]->key);
}

STORE_TEST(Starts, IdsDifferByEveryByte) {
  const Texts ids{"order",         "Order",  "order ", " order", "\xc3\xb6rder",
                  "o\xcc\x88rder", "order%", "order_", "'order'"};
  for (const std::string& id : ids) EXPECT_TRUE(start(start_of(id)).is_new) << id;
  for (const std::string& id : ids) EXPECT_EQ(find(id).instance, id);
  EXPECT_EQ(answer(store().find("orde_")), "not_found");
}

}  // namespace
}  // namespace holdfast::testing::conformance
