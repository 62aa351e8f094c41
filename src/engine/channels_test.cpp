#include "engine/channels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engine::channels_test {
namespace {

using detail::OpState;

struct Started : OpState {
  explicit Started(std::uint64_t number) { id = EventId{number}; }
};

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

Address event(std::string name) { return {Address::Kind::event, std::move(name)}; }
Address mailbox(std::string name) { return {Address::Kind::mailbox, std::move(name)}; }
Channels::Unread message(std::uint64_t order) { return {order, MessageId{order}, {}}; }

TEST(Channels, TheEarliestMessageGoesFirstWhereverItWaits) {
  Started a(3);
  Started b(4);
  Channels channels;
  channels.add_message(event("b"), message(1));
  channels.add_message(event("a"), message(2));
  channels.add_message(event("nobody"), message(0));
  channels.add_wait(event("a"), a);
  channels.add_wait(event("b"), b);
  auto match = channels.take_match(kAll);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->state, &b);
  EXPECT_EQ(match->message.order, 1U);
  EXPECT_EQ(channels.take_match(kAll)->state, &a);
  EXPECT_FALSE(channels.take_match(kAll));
}

TEST(Channels, WaitsAreServedInTheOrderInWhichTheyWereStarted) {
  Started first(3);
  Started second(4);
  Started third(5);
  Channels channels;
  for (OpState* state : {&first, &second, &third}) channels.add_wait(mailbox("box"), *state);
  channels.remove_wait(second);
  channels.remove_wait(second);
  channels.add_message(mailbox("box"), message(1));
  channels.add_message(mailbox("box"), message(2));
  channels.add_message(mailbox("box"), message(3));
  EXPECT_EQ(channels.take_match(kAll)->state, &first);
  EXPECT_EQ(channels.take_match(kAll)->state, &third);
  EXPECT_FALSE(channels.take_match(kAll));
  EXPECT_EQ(channels.take_unread(mailbox("box"))->order, 3U);
}

TEST(Channels, AMessageGoesToTheFirstWaitThatCanReadIt) {
  const auto only_digits = [](const Payload& payload) -> std::optional<Failure> {
    if (payload.bytes.find_first_not_of("0123456789") == std::string::npos) return std::nullopt;
    return Failure{.category = Category::decode, .message = payload.bytes + " is no number"};
  };
  Started numbers(3);
  Started anything(4);
  numbers.why_unreadable = only_digits;
  Channels channels;
  channels.add_wait(event("a"), numbers);
  channels.add_wait(event("a"), anything);
  channels.add_message(event("a"), {1, MessageId{1}, {kJsonEncoding, "x"}});
  channels.add_message(event("a"), {2, MessageId{2}, {kJsonEncoding, "y"}});
  channels.add_message(event("a"), {3, MessageId{3}, {kJsonEncoding, "7"}});
  EXPECT_EQ(channels.take_match(kAll)->state, &anything);
  const auto unreadable = channels.take_match(kAll);
  ASSERT_TRUE(unreadable);
  EXPECT_EQ(unreadable->state, nullptr);
  EXPECT_EQ(unreadable->message.id, MessageId{2});
  EXPECT_EQ(unreadable->address, event("a"));
  EXPECT_EQ(unreadable->unreadable.message, "y is no number");
  EXPECT_EQ(channels.take_match(kAll)->state, &numbers);  // it went on waiting
  EXPECT_FALSE(channels.take_match(kAll));
  EXPECT_TRUE(channels.waits().empty());
}

TEST(Channels, AMessageThatComesLaterStaysForLater) {
  Started state(3);
  Channels channels;
  channels.add_wait(event("a"), state);
  channels.add_message(event("a"), message(5));
  EXPECT_FALSE(channels.take_match(5));
  EXPECT_TRUE(channels.take_match(6));
}

TEST(Channels, AMessageIsUnreadOnlyWhereNobodyWaits) {
  Started state(3);
  Channels channels;
  EXPECT_FALSE(channels.take_unread(mailbox("box")));
  channels.add_message(mailbox("box"), message(1));
  channels.add_wait(mailbox("box"), state);
  EXPECT_FALSE(channels.take_unread(mailbox("box")));
  channels.remove_wait(state);
  EXPECT_FALSE(channels.take_match(kAll));
  EXPECT_EQ(channels.take_unread(mailbox("box"))->order, 1U);
  EXPECT_FALSE(channels.take_unread(mailbox("box")));
}

TEST(Channels, ListsWhatIsWaitedForAndNothingElse) {
  Started a(3);
  Started b(4);
  Started c(5);
  Channels channels;
  channels.add_message(event("unread"), message(1));
  channels.add_wait(mailbox("m"), a);
  channels.add_wait(event("z"), b);
  channels.add_wait(event("y"), c);
  EXPECT_EQ(channels.waits(), (std::vector{event("y"), event("z"), mailbox("m")}));
  channels.remove_wait(b);
  EXPECT_EQ(channels.waits(), (std::vector{event("y"), mailbox("m")}));
}

}  // namespace
}  // namespace holdfast::engine::channels_test
