#include "runtime/incoming.hpp"

#include <holdfast/codec.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::runtime::incoming_test {
namespace {

using store::Message;
using store::MessageKind;

class IncomingTest : public ::testing::Test {
 protected:
  IncomingTest() {
    instance.id = "order-1";
    instance.execution = ExecutionNumber{1};
  }

  Message message(MessageKind kind, store::MessageBody body) {
    return {.id = {++ids}, .kind = kind, .execution = {1}, .source = {7}, .body = std::move(body)};
  }
  Message start_of(const std::string& name, std::optional<history::Parent> parent = {}) {
    const bodies::Start start{.started = {.name = name, .parent = std::move(parent)}};
    return message(MessageKind::start, bodies::to_bytes(start));
  }
  Message control(bodies::Control::Kind kind, std::string reason,
                  std::optional<history::Parent> parent = {}) {
    return message(MessageKind::control,
                   bodies::to_bytes(bodies::Control{kind, std::move(reason), std::move(parent)}));
  }
  Message delivery(const std::string& bytes) {
    Message made = message(MessageKind::delivery, bytes);
    made.address = {Address::Kind::event, "paid"};
    return made;
  }
  Message value(store::ValueAnswer answer) { return message(MessageKind::value, std::move(answer)); }
  Incoming read(std::vector<Message> messages) { return read_messages(instance, first, std::move(messages)); }
  static std::vector<std::uint64_t> ids_of(const Incoming& incoming) {
    std::vector<std::uint64_t> list;
    for (const engine::Message& one : incoming.messages) list.push_back(one.id.value);
    return list;
  }
  using Ids = std::vector<std::uint64_t>;

  CachedInstance instance{};
  FirstTurn first{};
  std::uint64_t ids = 0;
};

TEST_F(IncomingTest, TheStartOfTheFirstTurnGoesBeforeRequestsThatCameEarlier) {
  first = {.fresh = true, .version = "2", .history_budget = 50};
  std::vector<Message> messages{control(bodies::Control::Kind::cancel, "too late"), start_of("order")};
  const Incoming incoming = read(std::move(messages));
  EXPECT_EQ(ids_of(incoming), (Ids{2, 1}));
  const auto& started = std::get<history::Started>(incoming.messages[0].body);
  EXPECT_EQ(started.name, "order");
  EXPECT_EQ(started.version, "2") << "the worker of the first turn decides";
  EXPECT_EQ(started.history_budget, 50U);
  EXPECT_TRUE(incoming.start);
}

TEST_F(IncomingTest, AStartByWhoWantsTheIdOfAnInstanceThatIsThereIsRefused) {
  std::vector<Message> messages{start_of("another", history::Parent{.instance = "p"})};
  const Incoming incoming = read(std::move(messages));
  EXPECT_EQ(ids_of(incoming), Ids());
  ASSERT_EQ(incoming.refused_starts.size(), 1U);
  EXPECT_EQ(incoming.refused_starts[0].started.name, "another");
  EXPECT_EQ(incoming.used_up, std::vector<MessageId>{{1}});
  EXPECT_FALSE(incoming.start);
}

TEST_F(IncomingTest, WhatCantBeReadIsSetAsideAndTheRestIsRead) {
  const std::string noise = "\xff\xff\xff";
  std::vector<Message> messages{delivery(noise), message(MessageKind::outcome, noise),
                                message(MessageKind::control, noise), message(MessageKind::start, noise),
                                value({true, noise}),
                                // Of kinds whose bodies the store makes: it could not decode them, either.
                                message(MessageKind::taken, noise), message(MessageKind::news, noise),
                                delivery(bodies::to_bytes(encode(14)))};
  const Incoming incoming = read(std::move(messages));
  EXPECT_EQ(incoming.set_aside, (std::vector<MessageId>{{1}, {2}, {3}, {4}, {5}, {6}, {7}}));
  EXPECT_EQ(ids_of(incoming), Ids{8});
  EXPECT_EQ(std::get<engine::Delivery>(incoming.messages[0].body).value, encode(14));
}

TEST_F(IncomingTest, OnlyTheFirstRequestToTerminateCountsAndNoneReachesTheEngine) {
  std::vector<Message> messages{control(bodies::Control::Kind::terminate, "first"),
                                control(bodies::Control::Kind::terminate, "second"),
                                control(bodies::Control::Kind::cancel, "third")};
  EXPECT_TRUE(asks_to_terminate(messages));
  const Incoming incoming = read(std::move(messages));
  EXPECT_EQ(incoming.terminate, "first");
  EXPECT_EQ(incoming.used_up, (std::vector<MessageId>{{1}, {2}}));
  EXPECT_EQ(ids_of(incoming), Ids{3});
  EXPECT_FALSE(asks_to_terminate(std::vector{control(bodies::Control::Kind::cancel, "stop")}));
  EXPECT_FALSE(asks_to_terminate(std::vector{message(MessageKind::control, "\xff")}));
}

// A parent asks for the end of its child by id: somebody else may live there by now.
TEST_F(IncomingTest, ARequestOfAParentCountsForItsOwnChildOnly) {
  const history::Parent own{.instance = "p", .execution = {1}, .event = {3}, .key = {5}};
  const history::Parent other{.instance = "p", .execution = {1}, .event = {4}, .key = {5}};
  first.parent = &own;
  std::vector<Message> messages{control(bodies::Control::Kind::cancel, "not mine", other),
                                control(bodies::Control::Kind::cancel, "mine", own)};
  const Incoming incoming = read(std::move(messages));
  EXPECT_EQ(incoming.used_up, std::vector<MessageId>{{1}});
  EXPECT_EQ(ids_of(incoming), Ids{2});
}

TEST_F(IncomingTest, InItsFirstTurnTheStartMessageSaysWhoseChildItIs) {
  const history::Parent own{.instance = "p", .execution = {1}, .event = {3}, .key = {5}};
  first.fresh = true;
  std::vector<Message> messages{control(bodies::Control::Kind::terminate, "mine", own),
                                start_of("child", own)};
  EXPECT_EQ(read(std::move(messages)).terminate, "mine");
  first.fresh = false;
  EXPECT_FALSE(read({control(bodies::Control::Kind::terminate, "nobody's", own)}).terminate);
}

TEST_F(IncomingTest, AnActivityThatWasTakenAwayIsAFailureThatSaysWhyAndWhatCameBefore) {
  const Failure before{.type = "declined", .message = "no money"};
  store::ActivityTaken taken{.reason = CancelReason::session_lost,
                             .session = "gpu",
                             .last_failure = bodies::to_bytes(before),
                             .attempt = 3,
                             .owner = "node-1",
                             .session_reason = store::SessionReason::owner_lost};
  const Incoming incoming = read({message(MessageKind::taken, taken)});
  const Failure failure = std::get<history::Failed>(incoming.messages.at(0).body).failure;
  EXPECT_EQ(failure.category, Category::session);
  EXPECT_EQ(failure.type, "session_lost");
  EXPECT_EQ(failure.message,
            "session 'gpu' is lost: worker 'node-1', which held it, gave no sign of life for longer than its "
            "lease; open it again to begin anew");
  EXPECT_EQ(failure.attempt, 3);
  EXPECT_EQ(failure.event, EventId{7});
  EXPECT_FALSE(failure.retryable);
  ASSERT_TRUE(failure.cause);
  EXPECT_EQ(failure.cause->type, "declined");
}

TEST_F(IncomingTest, CategoriesSayWhatKindOfErrorTheCodeGets) {
  const auto category = [&](CancelReason reason) {
    const Incoming incoming = read({message(MessageKind::taken, store::ActivityTaken{.reason = reason})});
    return std::get<history::Failed>(incoming.messages.at(0).body).failure.category;
  };
  EXPECT_EQ(category(CancelReason::session_aborted), Category::session);
  EXPECT_EQ(category(CancelReason::total_deadline), Category::timeout);
  EXPECT_EQ(category(CancelReason::no_session_capacity), Category::timeout);
  EXPECT_EQ(category(CancelReason::unreadable), Category::decode);
  EXPECT_EQ(category(CancelReason::dropped), Category::cancelled);
}

TEST_F(IncomingTest, AValueThatIsNullIsNotOneThatIsMissing) {
  const std::string null = bodies::to_bytes(Payload{kJsonEncoding, "null"});
  const Incoming incoming = read({value({true, null}), value({true, std::nullopt})});
  const auto answer = [&](std::size_t i) {
    return decode<std::optional<Payload>>(std::get<history::Completed>(incoming.messages.at(i).body).value)
        .value();
  };
  EXPECT_TRUE(answer(0));
  EXPECT_FALSE(answer(1));
}

TEST_F(IncomingTest, WhatNamesNoExecutionIsForTheCurrentOne) {
  instance.execution = ExecutionNumber{4};
  Message without = delivery(bodies::to_bytes(encode(1)));
  without.execution = {};
  Message late = message(MessageKind::timer, std::string());
  late.execution = ExecutionNumber{3};
  const Incoming incoming = read({without, late});
  EXPECT_EQ(incoming.messages.at(0).execution, ExecutionNumber{4});
  EXPECT_EQ(incoming.messages.at(1).execution, ExecutionNumber{3}) << "the engine ignores it";
}

TEST_F(IncomingTest, CompletionsOfThisProcessAreMessagesWithoutAnId) {
  Incoming incoming = read({delivery(bodies::to_bytes(encode(1)))});
  LocalDone good{.id = {{1}, {1}, {5}}};
  good.outcome.value = encode(2);
  LocalDone bad{.id = {{1}, {1}, {6}}};
  bad.outcome.failure = Failure{.type = "declined"};
  add_local(incoming, instance, {good, bad});
  EXPECT_EQ(ids_of(incoming), (Ids{1, 0, 0}));
  EXPECT_EQ(std::get<history::Completed>(incoming.messages[1].body).source, EventId{5});
  EXPECT_EQ(std::get<history::Failed>(incoming.messages[2].body).failure.type, "declined");
}

}  // namespace
}  // namespace holdfast::runtime::incoming_test
