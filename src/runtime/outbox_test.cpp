#include "runtime/outbox.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::runtime::outbox_test {
namespace {

class OutboxTest : public ::testing::Test {
 protected:
  static store::ActivityId id(std::uint64_t event) {
    return {InstanceKey{1}, ExecutionNumber{1}, EventId{event}};
  }
  static store::ActivityResult answer(std::uint64_t event, LockToken token = {}) {
    return {.id = id(event), .token = token, .result = store::PutBack{}};
  }
  std::vector<EventId> events() {
    std::vector<EventId> events;
    for (const store::ActivityResult& one : outbox.take_answers()) events.push_back(one.id.event);
    return events;
  }

  std::vector<Step> poked;
  Waker waker{[this](Step step) { poked.push_back(step); }};
  Outbox outbox{waker};
};

TEST_F(OutboxTest, AnswersWakeTheirStepAndAreTakenOnce) {
  outbox.answer(answer(1));
  outbox.answer(std::vector{LocalDone{.id = id(2)}, LocalDone{.id = id(3)}});
  EXPECT_EQ(poked, (std::vector{Step::answers, Step::answers}));
  EXPECT_EQ(events(), (std::vector{EventId{1}, EventId{2}, EventId{3}}));
  EXPECT_EQ(events(), std::vector<EventId>());
}

TEST_F(OutboxTest, NothingToSayWakesNobody) {
  outbox.answer(std::vector<LocalDone>());
  outbox.acknowledge({});
  EXPECT_EQ(poked, std::vector<Step>());
}

TEST_F(OutboxTest, WhatIsAskedAgainGoesFirst) {
  outbox.answer(answer(1));
  outbox.answer_again({answer(2), answer(3)});
  EXPECT_EQ(events(), (std::vector{EventId{2}, EventId{3}, EventId{1}}));
}

TEST_F(OutboxTest, AnAnswerGoesOutUnderTheLockOfTheDay) {
  constexpr LockToken kBefore{1, 1};
  constexpr LockToken kNow{1, 2};
  constexpr LockToken kOther{1, 3};
  outbox.answer(answer(1, kBefore));
  outbox.answer(answer(1, kOther));
  outbox.answer(answer(2, kBefore));
  outbox.lock_again(id(1), kBefore, kNow);
  std::vector<LockToken> tokens;
  for (const store::ActivityResult& one : outbox.take_answers()) tokens.push_back(one.token);
  EXPECT_EQ(tokens, (std::vector{kNow, kOther, kBefore}));
}

TEST_F(OutboxTest, AcknowledgementsAndLocksAreForTheKeepStep) {
  outbox.acknowledge({{id(1), {}, store::CancelRecord::State::acknowledged}});
  outbox.release({.key = InstanceKey{1}});
  EXPECT_EQ(poked, (std::vector{Step::keep, Step::keep}));
  outbox.release_again({.key = InstanceKey{2}});  // the keep step knows when
  EXPECT_EQ(poked.size(), 2U);
  EXPECT_EQ(outbox.take_acknowledgements().size(), 1U);
  EXPECT_EQ(outbox.take_releases().size(), 2U);
  EXPECT_TRUE(outbox.take_releases().empty());
}

}  // namespace
}  // namespace holdfast::runtime::outbox_test
