#include "client/sender.hpp"

#include "testkit/support/forwarding_store.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/log.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::client::sender_test {
namespace {

using namespace std::chrono_literals;
using Kind = StoreError::Kind;
using Texts = std::vector<std::string>;

/// Writes down what is asked for in one call, and refuses what it is told to.
class NotingStore final : public support::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  std::vector<StoreResult<store::StartAnswer>> start(std::span<const store::StartRequest> items) override {
    std::string call = "start";
    for (const auto& item : items) call += " " + item.instance;
    calls.push_back(call);
    auto answers = to().start(items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].instance == refused) answers[i] = Unexpected(StoreError{.kind = with, .message = "no"});
    }
    return answers;
  }
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> items) override {
    std::string call = "send";
    for (const auto& item : items) call += " " + item.instance;
    calls.push_back(call);
    auto answers = to().send(items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].instance == refused) answers[i] = Unexpected(StoreError{.kind = with, .message = "no"});
    }
    return answers;
  }

  Texts calls{};
  std::string refused{};  ///< an instance
  Kind with = Kind::unavailable;
};

class SenderTest : public ::testing::Test {
 protected:
  void start(const std::string& id) {
    sender.start({.instance = id, .code = {"order", "1"}, .request = {1, ++requests}},
                 [this, id](const store::StartRequest&, const StoreResult<InstanceKey>& answer) -> Callback {
                   return [this, id, told = text(answer)] { told_.push_back(id + " " + told); };
                 });
  }
  void send(const std::string& id, std::size_t messages = 1) {
    std::vector<store::ClientMessage> all;
    for (; messages > 0; --messages) {
      all.push_back(
          {.instance = id, .message = {.kind = store::MessageKind::control}, .request = {2, ++requests}});
    }
    sender.send(std::move(all), [this, id](const StoreResult<InstanceKey>& answer) -> Callback {
      return [this, id, told = text(answer)] { told_.push_back("to " + id + " " + told); };
    });
  }
  static std::string text(const StoreResult<InstanceKey>& answer) {
    return answer ? "ok" : std::string(to_string(answer.error().kind));
  }
  /// What the notifier's threads do, once.
  void go_on() {
    sender.send_due(clock.boot_now(), callbacks);
    callbacks.call();
  }
  Texts calls() { return std::exchange(store->calls, {}); }
  Texts told() { return std::exchange(told_, {}); }

  ManualClock clock;
  std::shared_ptr<NotingStore> store = std::make_shared<NotingStore>(memory({.clock = &clock}));
  Callbacks callbacks{null_logger(), [] {}};
  Sender sender{store, 1s, 0};
  Texts told_{};
  std::uint64_t requests = 0;
};

TEST_F(SenderTest, AllThatQueuedUpGoesInOneCallOfEachKindStartsFirst) {
  EXPECT_EQ(sender.due(), BootTime::max());
  start("a");
  start("b");
  EXPECT_LE(sender.due(), clock.boot_now());
  go_on();
  send("a");
  start("c");
  send("b");
  go_on();
  EXPECT_EQ(calls(), (Texts{"start a b", "start c", "send a b"}));
  EXPECT_EQ(told(), (Texts{"a ok", "b ok", "to a ok", "c ok", "to b ok"}));
  EXPECT_EQ(sender.due(), BootTime::max());
}

// A start that is refused must not be one that a message of the same call has gone before, or after.
TEST_F(SenderTest, AnInstanceGetsEitherAStartOrMessagesInOneGo) {
  start("a");
  send("a");
  send("b");
  go_on();
  EXPECT_EQ(calls(), (Texts{"start a", "send b"}));
  EXPECT_LE(sender.due(), clock.boot_now());
  go_on();
  EXPECT_EQ(calls(), Texts{"send a"});
  EXPECT_EQ(told(), (Texts{"a ok", "to b not_found", "to a ok"}));
}

TEST_F(SenderTest, WhatTheStoreCouldNotAnswerIsSentAgainAfterPausesThatGrow) {
  store->refused = "a";
  start("a");
  go_on();
  EXPECT_EQ(sender.due(), clock.boot_now() + 10ms);
  go_on();
  EXPECT_EQ(calls(), Texts{"start a"}) << "it is not due";
  clock.advance(10ms);
  go_on();
  EXPECT_EQ(sender.due(), clock.boot_now() + 20ms);
  store->with = Kind::busy;
  clock.advance(20ms);
  go_on();
  EXPECT_EQ(told(), Texts());
  store->refused.clear();
  clock.advance(40ms);
  go_on();
  EXPECT_EQ(told(), Texts{"a ok"});
}

TEST_F(SenderTest, AnAnswerThatWouldBeTheSameAgainIsNotAskedForAgain) {
  store->refused = "a";
  store->with = Kind::conflict;
  start("a");
  go_on();
  EXPECT_EQ(told(), Texts{"a conflict"});
  EXPECT_EQ(sender.due(), BootTime::max());
}

TEST_F(SenderTest, ACallIsGivenUpWhenItHasBeenRepeatedForLongEnough) {
  store->refused = "a";
  start("a");
  for (const BootTime begun = clock.boot_now(); clock.boot_now() < begun + 2s; clock.advance(10ms)) go_on();
  EXPECT_EQ(told(), Texts{"a unavailable"});
  EXPECT_EQ(sender.due(), BootTime::max());
}

TEST_F(SenderTest, OneThatIsRepeatedHoldsUpOnlyWhatCameLaterForTheSameInstance) {
  start("a");
  start("b");
  go_on();
  calls();
  store->refused = "a";
  send("a");
  send("b");
  go_on();
  store->refused.clear();
  send("a", 2);
  send("b");
  go_on();
  EXPECT_EQ(calls(), (Texts{"send a b", "send b"}));
  clock.advance(10ms);
  go_on();
  EXPECT_EQ(calls(), Texts{"send a a a"});
  EXPECT_EQ(told(), (Texts{"a ok", "b ok", "to b ok", "to b ok", "to a ok", "to a ok"}));
}

TEST_F(SenderTest, OneCallIsShortHoweverMuchWaits) {
  for (int i = 0; i < 1200; ++i) start(std::to_string(i));
  std::size_t most = 0;
  int groups = 0;
  while (sender.due() <= clock.boot_now()) {
    ++groups;
    go_on();
    most = std::max(most, told().size());
  }
  EXPECT_EQ(groups, 3);
  EXPECT_EQ(most, 500U);
}

TEST_F(SenderTest, WhatWouldQueueWithoutEndIsRefused) {
  Sender small(store, 1s, 2);
  const auto add = [&] {
    small.start({.instance = "a"}, [](const auto&, const auto&) -> Callback { return [] {}; });
  };
  add();
  add();
  try {
    add();
    FAIL() << "it was begun";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientError::Kind::unavailable);
  }
}

TEST_F(SenderTest, TheEndSendsAllThatIsThereOnceAlsoWhatWaitsToBeRepeated) {
  store->refused = "a";
  start("a");
  go_on();
  calls();
  start("b");
  sender.finish(callbacks);
  callbacks.call();
  EXPECT_EQ(calls(), Texts{"start a b"});
  EXPECT_EQ(told(), (Texts{"a unavailable", "b ok"}));
  EXPECT_THROW(start("c"), std::logic_error);
}

TEST_F(SenderTest, AtTheEndTheRestIsNotSentToAStoreThatDoesNotAnswer) {
  store->refused = "a";
  start("a");
  send("a");
  sender.finish(callbacks);
  callbacks.call();
  EXPECT_EQ(calls(), Texts{"start a"});
  EXPECT_EQ(told(), (Texts{"a unavailable", "to a unavailable"}));
}

TEST(OutcomeOf, MessagesStandOrFallTogether) {
  const auto of = [](std::vector<StoreResult<InstanceKey>> answers) {
    const auto outcome = outcome_of(answers);
    return outcome ? "ok" : std::string(to_string(outcome.error().kind));
  };
  const StoreResult<InstanceKey> taken = InstanceKey{1};
  const StoreResult<InstanceKey> ended = Unexpected(StoreError{.kind = Kind::conflict});
  const StoreResult<InstanceKey> lost = Unexpected(StoreError{.kind = Kind::unavailable});
  EXPECT_EQ(of({taken, taken}), "ok");
  EXPECT_EQ(of({taken, ended}), "ok") << "the first one has ended it";
  EXPECT_EQ(of({ended, ended}), "conflict");
  EXPECT_EQ(of({taken, lost}), "unavailable");
}

}  // namespace
}  // namespace holdfast::client::sender_test
