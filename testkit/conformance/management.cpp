// What clients and operators see of instances: find, look, describe, list.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(management);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Views, OfAnIdThatIsNotThereIsNotFound) {
  EXPECT_EQ(answer(store().find("nobody")), "not_found");
  EXPECT_EQ(answer(store().describe("nobody")), "not_found");
}

STORE_TEST(Views, ShowHowAnInstanceEnded) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  pass(10s);
  a.commit(turn.ends(InstanceStatus::failed, "no funds"));
  const InstanceView view = find("order-1");
  EXPECT_EQ(view.status, InstanceStatus::failed);
  EXPECT_EQ(view.output, "no funds");
  EXPECT_EQ(view.updated_at, clock().calendar_now());
  EXPECT_EQ(describe("order-1").locked_by, "");
}

STORE_TEST(Views, SayWhoCouldServeWhatIsWaitedForAndForHowLong) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .schedules({.event = EventId{5}, .name = "charge", .queue = "gpu", .start_within = 1h})
               .schedules({.event = EventId{6}, .name = "charge", .total = 30min})
               .starts_child("child-1")
               .starts_child("child-2")
               .starts_detached("detached-1"));
  pass(1min);
  InstanceDetail detail = describe("order-1");
  EXPECT_EQ(detail.workers, 1U);
  ASSERT_EQ(detail.activities.size(), 2U);
  EXPECT_EQ(detail.activities[0].workers, 0U);  // nobody serves its queue
  EXPECT_EQ(detail.activities[0].gives_up_in, Duration(59min));
  EXPECT_EQ(detail.activities[1].workers, 1U);
  EXPECT_EQ(detail.activities[1].gives_up_in, Duration(29min));
  ASSERT_EQ(detail.children.size(), 2U);
  EXPECT_EQ(detail.children[0], find("child-1"));
  EXPECT_EQ(detail.children[1], find("child-2"));

  must(store().leave(a.key));
  detail = describe("order-1");
  EXPECT_EQ(detail.workers, 0U);
  EXPECT_EQ(detail.activities[1].workers, 0U);
}

STORE_TEST(Views, SayWhenADelayedStartIsDue) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.delay = 1h;
  start(request);
  ClientMessage later = message_to("order-1", control("cancel"));
  later.delay = 1min;
  send(later);
  pass(20min);
  EXPECT_EQ(describe("order-1").starts_in, Duration(40min));
  pass(50min);
  EXPECT_EQ(describe("order-1").starts_in, Duration::zero());
  a.commit(a.fetch_turn());
  EXPECT_EQ(describe("order-1").starts_in, std::nullopt);
  start("order-2");
  EXPECT_EQ(describe("order-2").starts_in, std::nullopt);
}

STORE_TEST(Views, LookAnswersInTheOrderOfTheKeys) {
  const InstanceKey first = start("order-1");
  const InstanceKey second = start("order-2");
  const std::vector<InstanceKey> keys{second, InstanceKey{999}, first, second};
  const auto views = must(store().look(keys));
  ASSERT_EQ(views.size(), 4U);
  EXPECT_EQ(views[0], find("order-2"));
  EXPECT_EQ(views[1], std::nullopt);
  EXPECT_EQ(views[2], find("order-1"));
  EXPECT_EQ(views[3], find("order-2"));
  EXPECT_TRUE(must(store().look({})).empty());
}

STORE_TEST(Views, DescribeTellsWhatAnInstanceWaitsFor) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  const CalendarTime due = clock().calendar_now() + 1h;
  a.commit(turn.schedules({.event = EventId{5}, .name = "charge", .queue = "gpu", .priority = 2})
               .schedules({.event = EventId{6}, .name = "ship", .session = SessionUse{.id = "truck"}})
               .sets_timer(EventId{7}, due)
               .waits_for({event("decision")}));
  post("order-1", "orders", "unread");

  const InstanceDetail detail = describe("order-1");
  EXPECT_EQ(detail.view, find("order-1"));
  EXPECT_EQ(detail.locked_by, "");
  EXPECT_EQ(detail.delivery, 0U);
  EXPECT_EQ(detail.waits, std::vector{event("decision")});
  EXPECT_EQ(detail.timers, (std::vector<NewTimer>{{EventId{7}, due}}));
  EXPECT_EQ(detail.unread, 1U);
  const ActivityId id{turn.key(), ExecutionNumber{1}, EventId{5}};
  ASSERT_EQ(detail.activities.size(), 2U);
  EXPECT_EQ(
      detail.activities[0],
      (ActivityView{.id = id, .name = "charge", .queue = "gpu", .priority = 2, .attempt = 1, .delivery = 0}));
  EXPECT_EQ(detail.activities[1].session, "truck");
}

STORE_TEST(Views, ListIsOrderedByAge) {
  for (const char* id : {"c", "a", "b"}) start(id);
  EXPECT_EQ(list(), (Texts{"c", "a", "b"}));
}

STORE_TEST(Views, ListComesInPages) {
  for (int i = 1; i <= 7; ++i) start("order-" + std::to_string(i));
  Texts all;
  InstanceFilter filter{.limit = 3};
  for (int pages = 0; pages < 10; ++pages) {
    const InstancePage page = must(store().list(filter));
    EXPECT_LE(page.instances.size(), 3U);
    for (const InstanceView& view : page.instances) all.push_back(view.instance);
    if (!page.next) break;
    filter.after = *page.next;
  }
  EXPECT_EQ(all, (Texts{"order-1", "order-2", "order-3", "order-4", "order-5", "order-6", "order-7"}));
}

STORE_TEST(Views, PagesOfAFilteredListMissNothing) {
  const Worker a = join("a");
  for (int i = 1; i <= 20; ++i) {
    Turn turn = a.begin("order-" + std::to_string(i));
    a.commit(i % 7 == 0 ? turn.ends() : turn);
  }
  Texts all;
  InstanceFilter filter{.statuses = {InstanceStatus::completed}, .limit = 1};
  for (int pages = 0; pages < 30; ++pages) {
    const InstancePage page = must(store().list(filter));
    for (const InstanceView& view : page.instances) all.push_back(view.instance);
    if (!page.next) break;
    filter.after = *page.next;
  }
  EXPECT_EQ(all, (Texts{"order-7", "order-14"}));
}

STORE_TEST(Views, ListFiltersByStatus) {
  const Worker a = join("a");
  a.commit(a.begin("running"));
  a.commit(a.begin("suspended").becomes(InstanceStatus::suspended));
  a.commit(a.begin("completed").ends());
  a.commit(a.begin("failed").ends(InstanceStatus::failed));
  EXPECT_EQ(list({.statuses = {InstanceStatus::completed, InstanceStatus::failed}}),
            (Texts{"completed", "failed"}));
  EXPECT_EQ(list({.statuses = {InstanceStatus::suspended}}), Texts{"suspended"});
  EXPECT_EQ(list({.statuses = {InstanceStatus::terminated}}), Texts{});
}

STORE_TEST(Views, ListFiltersByOrchestration) {
  start("order-1");
  StartRequest child = start_of("child-1");
  child.code.name = "child";
  start(child);
  EXPECT_EQ(list({.orchestration = "child"}), Texts{"child-1"});
  EXPECT_EQ(list({.orchestration = "chil"}), Texts{});
}

STORE_TEST(Views, ListFiltersByPrefixByteForByte) {
  for (const char* id : {"order-1", "Order-2", "order_3", "order%4", "orderX5", "\xc3\xb6rder"}) start(id);
  EXPECT_EQ(list({.prefix = "order-"}), Texts{"order-1"});
  EXPECT_EQ(list({.prefix = "order_"}), Texts{"order_3"});
  EXPECT_EQ(list({.prefix = "order%"}), Texts{"order%4"});
  EXPECT_EQ(list({.prefix = "\xc3\xb6"}), Texts{"\xc3\xb6rder"});
  EXPECT_EQ(list({.prefix = "order"}), (Texts{"order-1", "order_3", "order%4", "orderX5"}));
  EXPECT_EQ(list({.prefix = "order-1-and-more"}), Texts{});
}

STORE_TEST(Views, ListFiltersByTimeOfStart) {
  const CalendarTime begin = clock().calendar_now();
  for (int i = 0; i < 4; ++i) {
    start("order-" + std::to_string(i));
    pass(1h);
  }
  EXPECT_EQ(list({.created_from = begin + 1h, .created_before = begin + 3h}), (Texts{"order-1", "order-2"}));
  EXPECT_EQ(list({.created_from = begin + 3h}), Texts{"order-3"});
  EXPECT_EQ(list({.created_before = begin}), Texts{});
}

STORE_TEST(Views, FiltersAreAllToBeMet) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").ends());
  a.commit(a.begin("order-2"));
  a.commit(a.begin("other").ends());
  EXPECT_EQ(list({.statuses = {InstanceStatus::completed}, .orchestration = "order", .prefix = "order-"}),
            Texts{"order-1"});
}

STORE_TEST(Views, AStoreSaysWhatItIs) {
  EXPECT_EQ(store().ns(), "default");
  EXPECT_EQ(&store().clock(), &clock());
  EXPECT_FALSE(store().description().empty());
}

}  // namespace
}  // namespace holdfast::testing::conformance
