// Queries in a worker whose steps run when a test says so, at times that it chooses.
#include "runtime/questions.hpp"

#include "runtime/worker.hpp"
#include "testkit/support/lines.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime::questions_test {
namespace {

using namespace std::chrono_literals;
using support::Lines;
using Texts = std::vector<std::string>;

class NoThreads final : public Executor {
 public:
  void post(Work /*work*/) override {}
  void post_at_once(Work /*work*/) override {}
};

std::function<void()> in_handler;
bool hangs = false;  // the next call of the handler
int begun = 0;

Task<int> adds(Context& ctx) {
  ++begun;
  int sum = 0;
  const auto guard = ctx.on_query("sum", [&sum] {
    if (std::exchange(hangs, false)) in_handler();
    return sum;
  });
  for (;;) {
    const int more = co_await ctx.mailbox<int>("numbers").receive();
    if (more == 0) co_return sum;
    sum += more;
  }
}

class QuestionsTest : public ::testing::Test {
 protected:
  QuestionsTest() {
    hangs = false;
    begun = 0;
    EXPECT_TRUE(worker.join());
  }
  ~QuestionsTest() override { worker.leave(); }

  static Registry registry() {
    Registry registry;
    registry.add_orchestration("adds", "1", detail::make_orchestration(adds));
    return registry;
  }
  void start(const std::string& id) {
    keys[id] = client.start("adds", {.id = id}).key();
    worker.look_again();
    turn();
  }
  void turn() { worker.run(Step::turns); }
  void send(const std::string& id, int number) {
    client.run(id).send("numbers", number);
    worker.look_again();
    turn();
  }
  void ask(const std::string& id, const std::string& name = "sum", Duration within = 10s) {
    const store::Ask question{.id = {0, ++asked},
                              .key = keys[id],
                              .name = name,
                              .arguments = bodies::to_bytes(encode_args()),
                              .within = within};
    const auto done = [this](const store::AskAnswer& answer) {
      const auto said = bodies::read<bodies::Answer>(answer.body);
      const bool answered = answer.kind == store::AskAnswer::Kind::answered;
      if (!answered) return answers.push_back("refused " + answer.body);
      answers.push_back(said->failure ? said->failure->type : said->value.bytes);
    };
    if (store->local_asks().offer(question, done) == 0) answers.emplace_back("not taken");
  }
  Texts answer() {
    worker.run(Step::questions);
    return std::exchange(answers, {});
  }

  ManualClock clock;
  std::shared_ptr<Store> store = memory({.clock = &clock});
  Client client{store};
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
  NoThreads threads;
  SeededRandom random{Seed{1, 2}};
  Worker worker{store,
                {.node_id = "a",
                 .activity_slots = 1,
                 .query_time_limit = 1s,
                 .queued_queries = 3,
                 .query_frames = 2,
                 .logger = lines},
                registry(),
                threads,
                random,
                [](Step) {}};
  std::map<std::string, InstanceKey> keys;
  std::uint64_t asked = 0;
  Texts answers;
};

TEST_F(QuestionsTest, AreAnsweredByTheNextStep) {
  start("a");
  send("a", 5);
  ask("a");
  EXPECT_EQ(answers, Texts{});
  EXPECT_EQ(answer(), Texts{"5"});
  send("a", 6);
  ask("a");
  ask("a", "holdfast.queries");
  EXPECT_EQ(answer(), (Texts{"11", "[\"sum\"]"}));
}

// The frames of turns are not asked, and those for questions learn what is new.
TEST_F(QuestionsTest, ShareAFrameThatIsMadeOnce) {
  start("a");
  EXPECT_EQ(begun, 1);
  for (int i = 1; i <= 5; ++i) {
    send("a", 1);
    ask("a");
    ask("a");
    EXPECT_EQ(answer(), Texts(2, std::to_string(i)));
  }
  EXPECT_EQ(begun, 2);
}

TEST_F(QuestionsTest, KeepTheFramesOfThoseThatWereAskedLast) {
  for (const char* const id : {"a", "b", "c"}) start(id);
  for (const char* const id : {"a", "b", "a", "c", "a"}) {
    ask(id);
    EXPECT_EQ(answer(), Texts{"0"});
  }
  EXPECT_EQ(begun, 3 + 3) << "'a' was always among the last two";
  ask("b");
  EXPECT_EQ(answer(), Texts{"0"});
  EXPECT_EQ(begun, 3 + 4);
}

TEST_F(QuestionsTest, BeyondTheRoomForThemAreRefused) {
  start("a");
  for (int i = 0; i < 4; ++i) ask("a");
  EXPECT_EQ(std::exchange(answers, {}), Texts{"refused "}) << "busy";
  EXPECT_EQ(answer(), Texts(3, "0"));
}

TEST_F(QuestionsTest, WaitForTheFirstTurn) {
  keys["a"] = client.start("adds", {.id = "a"}).key();
  ask("a");
  EXPECT_EQ(answer(), Texts{});
  const Progress progress = worker.run(Step::questions);
  EXPECT_GT(progress.next_due, clock.boot_now()) << "it does not look again and again";
  EXPECT_LE(progress.next_due, clock.boot_now() + 1s);
  worker.look_again();
  turn();
  clock.advance(1s);
  EXPECT_EQ(answer(), Texts{"0"});
}

TEST_F(QuestionsTest, ThatNobodyWaitsForAnyMoreAreForgotten) {
  keys["a"] = client.start("adds", {.id = "a"}).key();
  ask("a", "sum", 2s);
  EXPECT_EQ(answer(), Texts{});
  clock.advance(2s);
  worker.look_again();
  turn();
  EXPECT_EQ(answer(), Texts{});
  EXPECT_EQ(worker.run(Step::questions).next_due, BootTime::max());
}

// The limit is one of the store's clock: it is over when a test says so.
TEST_F(QuestionsTest, ThatTakeTooLongAreGivenUpAndTheOthersAskedAnew) {
  start("a");
  hangs = true;
  in_handler = [&] {
    clock.advance(999ms);
    EXPECT_TRUE(worker.run(Step::limits).stuck_questions.empty());
    clock.advance(1ms);
    EXPECT_EQ(worker.run(Step::limits).stuck_questions, std::vector<RunId>{{7}});
    EXPECT_EQ(std::exchange(answers, {}), Texts{"query_slow"});
    ask("a");
    EXPECT_EQ(answer(), (Texts{"0", "0"})) << "another thread goes on with the rest, meanwhile";
  };
  ask("a");
  ask("a");
  EXPECT_TRUE(worker.run(Step::questions, {7}).came_back);
  EXPECT_EQ(answers, Texts{});
  EXPECT_TRUE(lines->wait_for("a query that was given up has come back; what it did is dropped"));
  send("a", 5);
  ask("a");
  EXPECT_EQ(answer(), Texts{"5"});
}

TEST_F(QuestionsTest, OfInstancesThatAreGoneOrNotItsOwnAreRefused) {
  start("a");
  keys["other"] = client.start("other", {.id = "other"}).key();
  keys["none"] = InstanceKey{99};
  ask("other");
  ask("none");
  EXPECT_EQ(answer(), (Texts{"refused orchestration 'other'", "refused "}));
}

TEST_F(QuestionsTest, AreNotTakenByAWorkerThatDrains) {
  start("a");
  worker.stop_accepting();
  ask("a");
  EXPECT_EQ(answers, Texts{"not taken"});
}

TEST_F(QuestionsTest, OfOtherProcessesComeThroughTheStore) {
  start("a");
  send("a", 5);
  const store::Ask question{.id = {9, 9},
                            .key = keys["a"],
                            .name = "sum",
                            .arguments = bodies::to_bytes(encode_args()),
                            .within = 10s,
                            .code = {"adds", "1"}};
  ASSERT_TRUE(store->ask({&question, 1}).front());
  worker.hear({.work = store::kAsks});
  worker.run(Step::questions);
  worker.run(Step::questions);
  const auto taken = store->take_answers({&question.id, 1}).value();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(bodies::read<bodies::Answer>(taken[0].body)->value, encode(5));
}

}  // namespace
}  // namespace holdfast::runtime::questions_test
