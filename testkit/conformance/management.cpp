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
  must(store().refresh(a.key, false));
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

STORE_TEST(Views, SayHowManyChildrenAreNotShown) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  constexpr std::size_t kMore = 3;
  for (std::size_t i = 0; i < InstanceDetail::kMaxChildren + kMore; ++i)
    turn.starts_child("child-" + std::to_string(i));
  a.commit(turn);
  const InstanceDetail detail = describe("order-1");
  EXPECT_EQ(detail.children.size(), InstanceDetail::kMaxChildren);
  EXPECT_EQ(detail.children.front().instance, "child-0");
  EXPECT_EQ(detail.more_children, kMore);
}

STORE_TEST(Views, SayWhichValuesAnInstanceKeepsAndWhatItWasStartedWith) {
  const Worker a = join("a");
  const StartRequest request = start_of("order-1");
  start(request);
  Turn turn = a.fetch_turn();
  EXPECT_EQ(describe("order-1").value_keys, Texts{});
  EXPECT_EQ(describe("order-1").fingerprint, request.fingerprint);
  a.commit(turn.sets_value("b", "1").sets_value("a", "2").sets_value("c", "3").keeps_lock());
  a.commit(turn.removes_value("c"));
  EXPECT_EQ(describe("order-1").value_keys, (Texts{"a", "b"}));
}

STORE_TEST(Views, DontCountTheStartAsUnread) {
  start("order-1");
  EXPECT_EQ(describe("order-1").unread, 0U);
  post("order-1", "orders", "hello");
  tell("order-1", "cancel");
  EXPECT_EQ(describe("order-1").unread, 2U);
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

STORE_TEST(Views, ListBeginsWithTheNewest) {
  for (const char* id : {"c", "a", "b"}) start(id);
  EXPECT_EQ(list(), (Texts{"b", "a", "c"}));
}

STORE_TEST(Views, ListComesInPages) {
  for (int i = 1; i <= 7; ++i) start("order-" + std::to_string(i));
  Texts all;
  InstanceFilter filter{.limit = 3};
  for (int pages = 0; pages < 10; ++pages) {
    const InstancePage page = must(store().list(filter));
    EXPECT_EQ(page.instances.size(), page.next ? 3U : 1U) << "a page is full, or the last";
    for (const InstanceView& view : page.instances) all.push_back(view.instance);
    if (!page.next) break;
    filter.after = *page.next;
  }
  EXPECT_EQ(all, (Texts{"order-7", "order-6", "order-5", "order-4", "order-3", "order-2", "order-1"}));
}

STORE_TEST(Views, PagesOfAFilteredListMissNothing) {
  const Worker a = join("a");
  for (int i = 1; i <= 20; ++i) {
    Turn turn = a.begin("order-" + std::to_string(i));
    a.commit(i % 7 == 0 ? turn.ends() : i % 5 == 0 ? turn.ends(InstanceStatus::failed) : turn);
  }
  using Statuses = std::set<InstanceStatus>;
  const Statuses one{InstanceStatus::completed};
  const Statuses two{InstanceStatus::completed, InstanceStatus::failed};
  for (const std::size_t limit : {1U, 2U, 3U, 100U}) {
    for (const Statuses& statuses : {one, two}) {
      Texts all;
      InstanceFilter filter{.statuses = statuses, .limit = limit};
      for (bool more = true; more;) {
        const InstancePage page = must(store().list(filter));
        for (const InstanceView& view : page.instances) all.push_back(view.instance);
        more = page.next.has_value();
        if (more) {
          EXPECT_EQ(page.instances.size(), limit) << "a page is full, or the last";
        }
        filter.after = page.next.value_or(InstanceKey{});
      }
      const Texts both{"order-20", "order-15", "order-14", "order-10", "order-7", "order-5"};
      EXPECT_EQ(all, statuses == one ? (Texts{"order-14", "order-7"}) : both) << limit;
    }
  }
}

STORE_TEST(Views, APageOfNothingHasNoNext) {
  start("order-1");
  const InstancePage page = must(store().list({.limit = 0}));
  EXPECT_TRUE(page.instances.empty());
  EXPECT_FALSE(page.next);
  EXPECT_FALSE(must(store().list({.limit = 1})).next) << "nothing comes after the last";
}

STORE_TEST(Views, ListFiltersByStatus) {
  const Worker a = join("a");
  a.commit(a.begin("running"));
  a.commit(a.begin("suspended"));
  suspend("suspended");
  a.commit(a.begin("completed").ends());
  a.commit(a.begin("failed").ends(InstanceStatus::failed));
  EXPECT_EQ(list({.statuses = {InstanceStatus::completed, InstanceStatus::failed}}),
            (Texts{"failed", "completed"}));
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

STORE_TEST(Views, ListFiltersByVersion) {
  for (const char* version : {"1", "2"}) {
    StartRequest request = start_of(std::string("order-") + version);
    request.code.version = version;
    start(request);
  }
  EXPECT_EQ(list({.version = "1"}), Texts{"order-1"});
  EXPECT_EQ(list({.orchestration = "order", .version = "2"}), Texts{"order-2"});
  EXPECT_EQ(list({.orchestration = "child", .version = "2"}), Texts{});
  EXPECT_EQ(list({.version = "3"}), Texts{});
}

STORE_TEST(Views, ListFiltersByParent) {
  const Worker a = join("a");
  a.commit(a.begin("parent").starts_child("child-1").starts_child("child-2").starts_child("child-3"));
  start("other");
  const InstanceKey parent = find("parent").key;
  EXPECT_EQ(list({.parent = parent}), (Texts{"child-3", "child-2", "child-1"}));
  EXPECT_EQ(list({.statuses = {InstanceStatus::running}, .parent = parent}),
            (Texts{"child-3", "child-2", "child-1"}));
  EXPECT_EQ(list({.statuses = {InstanceStatus::completed}, .parent = parent}), Texts{});
  EXPECT_EQ(list({.parent = find("child-1").key}), Texts{});
  EXPECT_EQ(list({.parent = InstanceKey{}}), (Texts{"other", "parent"})) << "those without a parent";
  const InstancePage page = must(store().list({.parent = parent, .limit = 2}));
  ASSERT_TRUE(page.next);
  EXPECT_EQ(list({.parent = parent, .after = *page.next, .limit = 2}), Texts{"child-1"});
}

STORE_TEST(Views, ListFiltersByPrefixByteForByte) {
  for (const char* id : {"order-1", "Order-2", "order_3", "order%4", "orderX5", "\xc3\xb6rder"}) start(id);
  EXPECT_EQ(list({.prefix = "order-"}), Texts{"order-1"});
  EXPECT_EQ(list({.prefix = "order_"}), Texts{"order_3"});
  EXPECT_EQ(list({.prefix = "order%"}), Texts{"order%4"});
  EXPECT_EQ(list({.prefix = "\xc3\xb6"}), Texts{"\xc3\xb6rder"});
  EXPECT_EQ(list({.prefix = "order"}), (Texts{"orderX5", "order%4", "order_3", "order-1"}));
  EXPECT_EQ(list({.prefix = "order-1-and-more"}), Texts{});
}

STORE_TEST(Views, ListFiltersByTimeOfStart) {
  const CalendarTime begin = clock().calendar_now();
  for (int i = 0; i < 4; ++i) {
    start("order-" + std::to_string(i));
    pass(1h);
  }
  EXPECT_EQ(list({.created_from = begin + 1h, .created_before = begin + 3h}), (Texts{"order-2", "order-1"}));
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
