// Questions between processes: asked, given to one worker at a time, answered once.
#include "testkit/conformance/ears.hpp"
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(asks);

namespace holdfast::testing::conformance {
namespace {

using store::Ask;
using store::AskAnswer;
using store::AskId;

Ask question(const World& world, const std::string& name, Duration within = 10s) {
  return {.id = world.token<AskId>(),
          .key = InstanceKey{7},
          .name = name,
          .arguments = name + " arguments",
          .within = within,
          .code = {"order", "1"}};
}

std::vector<Ask> fetch(const World& world, const Worker& worker, std::size_t max = 100, Duration lease = 3s) {
  return must(world.store().fetch_asks(
      {.worker = worker.key, .code = &worker.info.code, .lease = lease, .max = max}));
}

Texts asked(const std::vector<Ask>& asks) {
  Texts names;
  for (const Ask& ask : asks) names.push_back(ask.name);
  return names;
}

AskAnswer said(const Ask& ask, const std::string& body) { return {.id = ask.id, .body = body}; }

std::vector<AskAnswer> take(const World& world, const std::vector<AskId>& ids) {
  return must(world.store().take_answers(ids));
}

STORE_TEST(Asks, AQuestionIsAnsweredByTheWorkerThatIsGivenIt) {
  const Worker a = join("a");
  const Ask ask = question(*this, "total");
  must(store().ask({&ask, 1}).front());
  pass(1s);
  const auto given = fetch(*this, a);
  ASSERT_EQ(given.size(), 1U);
  Ask expected = ask;
  expected.within = 9s;
  EXPECT_EQ(given.front(), expected);
  EXPECT_TRUE(take(*this, {ask.id}).empty());
  const AskAnswer answered = said(ask, std::string("an\0swer", 7));
  must(store().answer({&answered, 1}).front());
  EXPECT_EQ(take(*this, {ask.id}), std::vector{answered});
  EXPECT_TRUE(take(*this, {ask.id}).empty()) << "it was taken";
  EXPECT_TRUE(state().asks.empty());
}

STORE_TEST(Asks, AreGivenToOneWorkerAtATimeInTheOrderInWhichTheyCame) {
  const Worker a = join("a");
  const Worker b = join("b");
  std::vector<Ask> asks;
  for (const char* const name : {"1", "2", "3"}) asks.push_back(question(*this, name, 1h));
  for (const auto& each : store().ask(asks)) must(each);
  EXPECT_EQ(asked(fetch(*this, a, 2)), (Texts{"1", "2"}));
  EXPECT_EQ(asked(fetch(*this, b)), Texts{"3"});
  EXPECT_EQ(asked(fetch(*this, a)), Texts{});
  pass(3s);
  EXPECT_EQ(asked(fetch(*this, b)), (Texts{"1", "2", "3"})) << "the leases are over";
}

STORE_TEST(Asks, AreGivenToWorkersThatHaveTheCode) {
  const Worker a = join("a");
  std::vector<Ask> asks;
  for (const char* const name : {"other", "version", "range", "build", "fine"})
    asks.push_back(question(*this, name));
  asks[0].code = {"unknown", "1"};
  asks[1].code = {"order", "2"};
  asks[2].code = {"order", "^1"};
  asks[3].build = 7;
  for (const auto& each : store().ask(asks)) must(each);
  store::Code old = a.info.code;
  old.newest_build = 6;
  EXPECT_EQ(asked(must(store().fetch_asks({.worker = a.key, .code = &old, .lease = 3s}))),
            (Texts{"range", "fine"}));
  EXPECT_EQ(asked(fetch(*this, a)), Texts{"build"});
}

STORE_TEST(Asks, TheFirstAnswerCounts) {
  const Worker a = join("a");
  const Ask ask = question(*this, "total");
  must(store().ask({&ask, 1}).front());
  const AskAnswer first = said(ask, "first");
  const AskAnswer second = said(ask, "second");
  must(store().answer({&first, 1}).front());
  must(store().answer({&second, 1}).front());
  EXPECT_EQ(asked(fetch(*this, a)), Texts{});
  EXPECT_EQ(take(*this, {ask.id}), std::vector{first});
  EXPECT_EQ(answer(store().answer({&second, 1}).front()), "not_found");
}

STORE_TEST(Asks, EndWithTheirTime) {
  const Worker a = join("a");
  const Ask ask = question(*this, "total", 5s);
  must(store().ask({&ask, 1}).front());
  pass(5s);
  EXPECT_TRUE(state().asks.empty());
  EXPECT_EQ(asked(fetch(*this, a)), Texts{});
  const AskAnswer late = said(ask, "late");
  EXPECT_EQ(answer(store().answer({&late, 1}).front()), "not_found");
}

STORE_TEST(Asks, ThatAreRepeatedChangeNothing) {
  const Worker a = join("a");
  const Ask ask = question(*this, "total");
  must(store().ask({&ask, 1}).front());
  EXPECT_EQ(asked(fetch(*this, a)), Texts{"total"});
  changes_nothing([&] { must(store().ask({&ask, 1}).front()); });
  EXPECT_EQ(asked(fetch(*this, a)), Texts{});
}

STORE_TEST(Asks, AreNoMoreThanThereIsRoomFor) {
  std::vector<Ask> asks;
  for (std::size_t i = 0; i <= store::kMaxAsks; ++i) asks.push_back(question(*this, std::to_string(i)));
  const auto answers = store().ask(asks);
  EXPECT_EQ(answer(answers[store::kMaxAsks - 1]), "ok");
  EXPECT_EQ(answer(answers[store::kMaxAsks]), "busy");
  const AskAnswer done = said(asks.front(), "");
  must(store().answer({&done, 1}).front());
  static_cast<void>(take(*this, {asks.front().id}));
  must(store().ask({&asks.back(), 1}).front());
}

STORE_TEST(Asks, OfOneNamespaceAreNotSeenInAnother) {
  World other(*this, "other");
  const Worker there = other.join("a");
  const Ask ask = question(*this, "total");
  must(store().ask({&ask, 1}).front());
  EXPECT_EQ(asked(fetch(other, there)), Texts{});
  const AskAnswer answered = said(ask, "no");
  EXPECT_EQ(answer(other.store().answer({&answered, 1}).front()), "not_found");
}

STORE_TEST(Asks, AndTheirAnswersAreHeardByOtherHandles) {
  const auto elsewhere = another_handle();
  const auto worker_hears = elsewhere->listen(kAsks, {});
  const auto client_hears = store().listen(kAnswers, {});
  const Ask ask = question(*this, "total");
  must(store().ask({&ask, 1}).front());
  EXPECT_TRUE(hears(*this, *worker_hears, kAsks));
  const AskAnswer answered = said(ask, "yes");
  must(elsewhere->answer({&answered, 1}).front());
  EXPECT_TRUE(hears(*this, *client_hears, kAnswers));
  EXPECT_EQ(take(*this, {ask.id}), std::vector{answered});
}

}  // namespace
}  // namespace holdfast::testing::conformance
