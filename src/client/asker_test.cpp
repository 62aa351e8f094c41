#include "client/asker.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/log.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::client::asker_test {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;
using store::AskAnswer;

/// A worker of this process that keeps what it is given.
class Keeper final : public store::LocalAsks::Taker {
 public:
  bool take(const store::Ask& ask, const store::LocalAsks::Done& done) override {
    if (!takes) return false;
    taken.emplace_back(ask, done);
    return true;
  }
  /// Ends what it took last.
  void say(AskAnswer::Kind kind, std::string body = {}) {
    taken.back().second({.id = taken.back().first.id, .kind = kind, .body = std::move(body)});
  }
  void say(int value) {
    say(AskAnswer::Kind::answered, bodies::to_bytes(bodies::Answer{.value = encode(value)}));
  }

  bool takes = true;
  std::vector<std::pair<store::Ask, store::LocalAsks::Done>> taken{};
};

class AskerTest : public ::testing::Test {
 protected:
  AskerTest() {
    asker->belong_to(asker);
    store->local_asks().attach(first);
    store->local_asks().attach(second);
  }

  /// The number of the question, which is its id as well.
  void ask(std::uint64_t number, Duration within = 10s) {
    asker->ask({.id = {0, number}, .key = key, .name = "total", .within = within}, "order-1",
               [this, number](Asker::Said said) {
                 const std::string text = std::to_string(number) + ": " + words(said);
                 return [this, text] { told.push_back(text); };
               });
  }
  static std::string words(const Asker::Said& said) {
    if (said) return said->value.bytes;
    try {
      std::rethrow_exception(said.error());
    } catch (const QueryError& e) {
      return e.failure().type;
    } catch (const ClientError& e) {
      return std::string(to_string(e.kind()));
    } catch (const std::exception& e) {
      return e.what();
    }
  }
  /// What was told since.
  Texts tell() {
    asker->find_answerers();
    asker->tell(clock.boot_now(), callbacks);
    callbacks.call();
    return std::exchange(told, {});
  }
  void start(const std::string& orchestration) {
    const store::StartRequest request{.instance = "order-1", .code = {orchestration, "1"}, .request = {1, 1}};
    key = store->start({&request, 1}).front().value().key;
  }
  /// A worker of another process that has this code.
  void join(const std::string& orchestration) {
    store::NewWorker info{.node = "elsewhere"};
    info.code.orchestrations = {{orchestration, "1"}};
    ASSERT_TRUE(store->join(info));
  }

  ManualClock clock;
  std::shared_ptr<Store> store = memory({.clock = &clock});
  std::shared_ptr<Keeper> first = std::make_shared<Keeper>();
  std::shared_ptr<Keeper> second = std::make_shared<Keeper>();
  std::shared_ptr<Asker> asker = std::make_shared<Asker>(store, [] {}, [] {});
  Callbacks callbacks{null_logger(), [] {}};
  InstanceKey key{};
  Texts told;
};

TEST_F(AskerTest, TellsTheAnswerOfTheWorkerThatTakesTheQuestion) {
  first->takes = false;
  ask(1);
  EXPECT_EQ(tell(), Texts{});
  ASSERT_EQ(second->taken.size(), 1U);
  second->say(5);
  EXPECT_EQ(tell(), Texts{"1: 5"});
  second->say(6);
  EXPECT_EQ(tell(), Texts{}) << "it was told";
}

TEST_F(AskerTest, OffersWhatOneWorkerCanNotAnswerToTheNext) {
  ask(1);
  first->say(AskAnswer::Kind::no_code, "the code");
  EXPECT_EQ(tell(), Texts{});
  ASSERT_EQ(second->taken.size(), 1U);
  second->say(7);
  EXPECT_EQ(tell(), Texts{"1: 7"});
  EXPECT_EQ(first->taken.size(), 1U);
}

TEST_F(AskerTest, SaysAtOnceThatNobodyCanAnswer) {
  start("order");
  first->takes = second->takes = false;
  ask(1);
  EXPECT_EQ(tell(), Texts{"1: query_no_worker"});
  key = InstanceKey{77};
  ask(2);
  EXPECT_EQ(tell(), Texts{"2: not_found"});
}

TEST_F(AskerTest, LeavesQuestionsToOtherProcessesInTheStore) {
  start("order");
  join("order");
  first->takes = second->takes = false;
  ask(1);
  EXPECT_EQ(tell(), Texts{});
  EXPECT_TRUE(asker->has_shared());
  const auto state = store->state().value();
  ASSERT_EQ(state.asks.size(), 1U);
  EXPECT_EQ(state.asks[0].ask.code, (store::CodeVersion{"order", "1"}));
  const AskAnswer answer{.id = {0, 1}, .body = bodies::to_bytes(bodies::Answer{.value = encode(9)})};
  ASSERT_TRUE(store->answer({&answer, 1}).front());
  asker->take_answers();
  EXPECT_EQ(tell(), Texts{"1: 9"});
  EXPECT_FALSE(asker->has_shared());
}

TEST_F(AskerTest, EndsQuestionsWhoseTimeIsUp) {
  ask(1, 5s);
  ask(2, 10s);
  EXPECT_EQ(asker->ends(), clock.boot_now() + 5s);
  clock.advance(5s);
  EXPECT_EQ(tell(), Texts{"1: query_timeout"});
  first->taken.front().second({.id = {0, 1}, .kind = AskAnswer::Kind::no_code});  // too late
  EXPECT_EQ(tell(), Texts{});
  clock.advance(5s);
  EXPECT_EQ(tell(), Texts{"2: query_timeout"});
}

TEST_F(AskerTest, EndsQuestionsThatAreGivenUp) {
  ask(1);
  asker->give_up({0, 1});
  asker->give_up({0, 1});
  EXPECT_EQ(tell().size(), 1U);
}

TEST_F(AskerTest, PassesOnThatAWorkerHasTooMuchToDoOrTheInstanceIsGone) {
  ask(1);
  first->say(AskAnswer::Kind::busy);
  EXPECT_EQ(tell(), Texts{"1: query_busy"});
  ask(2);
  first->say(AskAnswer::Kind::gone);
  EXPECT_EQ(tell(), Texts{"2: not_found"});
  ask(3);
  first->say(AskAnswer::Kind::answered, "rubbish");
  EXPECT_EQ(tell(), Texts{"3: query_unreadable"});
}

TEST_F(AskerTest, EndsAllQuestionsWhenItIsAbandoned) {
  ask(1);
  ask(2);
  asker->abandon();
  EXPECT_EQ(tell(), (Texts{"1: unavailable", "2: unavailable"}));
  EXPECT_THROW(ask(3), std::logic_error);
}

// A worker may answer when the client is gone.
TEST_F(AskerTest, IsNotKeptByThoseWhoAnswer) {
  ask(1);
  const std::weak_ptr<Asker> gone = asker;
  asker.reset();
  EXPECT_TRUE(gone.expired());
  first->say(5);
}

}  // namespace
}  // namespace holdfast::client::asker_test
