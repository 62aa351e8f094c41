// News of sessions: who gets them, once and in order.
#include "testkit/conformance/session_story.hpp"

#include <variant>

HOLDFAST_CONFORMANCE_FILE(session_news);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(SessionNews, ReachesWhoOpenedIt) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").opens_session("gpu", {.on_record = true}).waits_for({session_news("gpu")}));
  a.acquire("gpu");
  Turn turn = a.fetch_turn();
  ASSERT_EQ(turn.messages(), Texts{"news gpu: claimed"});
  const auto& news = std::get<store::SessionNews>(turn->messages[0].body);
  EXPECT_EQ(news.to, "a");
  EXPECT_EQ(news.from, "");
  EXPECT_EQ(news.reason, "acquired");
  EXPECT_EQ(news.generation, session("gpu").generation);
  EXPECT_EQ(turn->messages[0].address, session_news("gpu"));
}

STORE_TEST(SessionNews, ReachesWhoWatches) {
  const Worker a = join("a");
  a.acquire("gpu");
  a.commit(a.begin("order-1").watches_session("gpu").waits_for({session_news("gpu")}));
  a.commit(a.begin("order-2").waits_for({session_news("gpu")}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  must(a.release({"gpu", session("gpu").generation}, SessionReason::drained, "state"));
  join("b").acquire("gpu");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"news gpu: moved"});
}

STORE_TEST(SessionNews, TellOfARestoration) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu");
  a.commit(a.begin("order-1").watches_session("gpu").waits_for({session_news("gpu")}));
  pass(a.info.abilities.session_lease);
  b.acquire("gpu");
  const Turn turn = a.fetch_turn();
  ASSERT_EQ(turn.messages(), Texts{"news gpu: restored"});
  const auto& news = std::get<store::SessionNews>(turn->messages[0].body);
  EXPECT_EQ(news.from, "a");
  EXPECT_EQ(news.to, "b");
  EXPECT_EQ(news.generation, session("gpu").generation);
}

STORE_TEST(SessionNews, TellOfALoss) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").opens_session("gpu", fails()).waits_for({session_news("gpu")}));
  const Generation generation = a.acquire("gpu").session.generation;
  a.commit(a.fetch_turn().consumes_all().waits_for({session_news("gpu")}));
  pass(a.info.abilities.session_lease);
  sweep();
  pass(a.info.abilities.session_lease / 2);
  EXPECT_EQ(sweep().sessions_lost, 1U);
  const Turn turn = a.fetch_turn();
  ASSERT_EQ(turn.messages(), Texts{"news gpu: lost"});
  const auto& news = std::get<store::SessionNews>(turn->messages[0].body);
  EXPECT_EQ(news.from, "a");
  EXPECT_EQ(news.to, "");
  EXPECT_EQ(news.reason, "owner_lost");
  EXPECT_EQ(news.generation, generation);
}

STORE_TEST(SessionNews, TellOfAnAbort) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  a.commit(a.begin("order-2").watches_session("gpu").waits_for({session_news("gpu")}));
  must(a.answer_with(
      {.id = work.id(), .token = work.token, .result = Finished{"x"}, .abort_session = "on fire"}));
  Turns fetched = a.fetch_turns();
  ASSERT_EQ(names(fetched).size(), 2U);
  const auto& turn = fetched.turns[fetched.turns[0]->instance == "order-2" ? 0 : 1];
  ASSERT_EQ(turn.messages(), Texts{"news gpu: lost"});
  EXPECT_EQ(std::get<store::SessionNews>(turn->messages[0].body).reason, "aborted");
}

/// What the only instance that is ready was told, and the last of it.
store::SessionNews last_news(const Worker& worker, const Texts& expected) {
  const Turn turn = worker.fetch_turn();
  EXPECT_EQ(turn.messages(), expected);
  const auto* const news = std::get_if<store::SessionNews>(&turn->messages.back().body);
  return news != nullptr ? *news : store::SessionNews{};
}

STORE_TEST(SessionNews, TellOfAClose) {
  const Worker a = join("a");
  const Generation generation = a.acquire("gpu", {.on_record = true}).session.generation;
  a.commit(a.begin("order-1").watches_session("gpu").waits_for({session_news("gpu")}));
  must(store().close_session("gpu", SessionReason::operated));
  const store::SessionNews news = last_news(a, {"news gpu: closed"});
  EXPECT_EQ(news.from, "a");
  EXPECT_EQ(news.reason, "operated");
  EXPECT_EQ(news.generation, generation);
}

STORE_TEST(SessionNews, TellWhoeverWatchesWhenItsOpenerEnds) {
  const Worker a = join("a");
  Turn opener = a.begin("order-1");
  a.commit(opener.opens_session("gpu", {.on_record = true}).keeps_lock());
  a.commit(a.begin("order-2").watches_session("gpu").waits_for({session_news("gpu")}));
  a.commit(opener.ends());
  EXPECT_EQ(last_news(a, {"news gpu: closed"}).reason, "opener_ended");
  EXPECT_EQ(row("order-1").messages.size(), 0U);
}

STORE_TEST(SessionNews, TellOfTheEndOfATimeToLive) {
  const Worker a = join("a");
  a.acquire("gpu", {.ttl = 1min, .on_record = true});
  a.commit(a.begin("order-1").watches_session("gpu").waits_for({session_news("gpu")}));
  pass(1min);
  EXPECT_EQ(sweep().sessions_expired, 1U);
  const store::SessionNews news = last_news(a, {"news gpu: expired"});
  EXPECT_EQ(news.from, "a");
  EXPECT_EQ(news.reason, "ttl");
}

// Whoever claims it next begins it anew: nothing that comes later tells that it has left.
STORE_TEST(SessionNews, TellOfARecordThatIsRemoved) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  a.commit(a.begin("order-1").watches_session("gpu").waits_for({session_news("gpu")}));
  must(a.release(hold, SessionReason::idle));
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(last_news(a, {"news gpu: expired"}).reason, "swept");
}

STORE_TEST(SessionNews, OfARecordThatWasEndedBeforeAreNotTwo) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  a.commit(a.begin("order-1").watches_session("gpu").waits_for({session_news("gpu")}));
  must(store().close_session("gpu", SessionReason::operated));
  Turn turn = a.fetch_turn();
  a.commit(turn.consumes_all().waits_for({session_news("gpu")}));
  pass(24h);
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(SessionNews, TellWhoeverComesAfterTheEndOfThatOnce) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  must(store().close_session("gpu", SessionReason::operated));
  a.commit(a.begin("order-1").watches_session("gpu").waits_for({session_news("gpu")}));
  Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.messages(), Texts{"news gpu: closed"});
  EXPECT_EQ(std::get<store::SessionNews>(turn->messages[0].body).reason, "operated");
  a.commit(turn.consumes_all().watches_session("gpu").waits_for({session_news("gpu")}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(SessionNews, ReachEachWatcherOnceAndInOrderAlsoWhenNobodyWaits) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").watches_session("gpu"));
  a.commit(a.begin("order-2").watches_session("gpu"));
  a.acquire("gpu");
  must(a.release({"gpu", session("gpu").generation}, SessionReason::drained));
  b.acquire("gpu");
  pass(b.info.abilities.session_lease);
  a.acquire("gpu");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});  // nobody waits for them yet
  for (const char* instance : {"order-1", "order-2"}) {
    tell(instance, "look");
    Turn turn = a.fetch_turn();
    EXPECT_EQ(turn.messages(),
              (Texts{"news gpu: claimed", "news gpu: moved", "news gpu: restored", "control: look"}));
    a.commit(turn.consumes_all());
    tell(instance, "again");
    turn = a.fetch_turn();
    EXPECT_EQ(turn.messages(), Texts{"control: again"});
    a.commit(turn);
  }
}

STORE_TEST(SessionNews, ReachTheNextExecution) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.watches_session("gpu").continues_as_new("again").keeps_lock());
  a.commit(turn.consumes_all().waits_for({session_news("gpu")}).keeps_lock());
  a.acquire("gpu");
  const auto news = a.news_of(turn);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->messages().back(), "news gpu: claimed");
}

STORE_TEST(SessionNews, EndWithTheInstance) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").watches_session("gpu").ends());
  a.acquire("gpu");
  EXPECT_EQ(row("order-1").messages.size(), 0U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
