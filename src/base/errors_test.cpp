#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

Failure failure_of(Category category, std::string type = {}, std::string source = {}) {
  return {.category = category, .type = std::move(type), .message = "it broke", .source = std::move(source)};
}

template <class Expected>
void expect_thrown_as(const Failure& failure) {
  try {
    throw_failure(failure);
  } catch (const Expected& e) {
    EXPECT_EQ(e.failure(), failure);
  }
}

TEST(Errors, EachFailureIsThrownAsTheExceptionThatStandsForIt) {
  expect_thrown_as<Cancelled>(failure_of(Category::cancelled));
  expect_thrown_as<TimeoutError>(failure_of(Category::timeout, "requirements_not_met"));
  expect_thrown_as<TimeoutError>(failure_of(Category::timeout, "no_session_capacity"));
  expect_thrown_as<SessionLost>(failure_of(Category::session, "session_lost"));
  expect_thrown_as<SessionClosed>(failure_of(Category::session, "session_closed"));
  expect_thrown_as<SessionExpired>(failure_of(Category::session, "session_expired"));
  expect_thrown_as<SessionAborted>(failure_of(Category::session, "session_aborted"));
  expect_thrown_as<DecodeError>(failure_of(Category::decode));
  expect_thrown_as<LimitError>(failure_of(Category::limit));
  expect_thrown_as<ActivityError>(failure_of(Category::application, "card_declined", "activity charge"));
  expect_thrown_as<ActivityError>(failure_of(Category::poison, "", "activity charge"));
  expect_thrown_as<ChildError>(failure_of(Category::terminated, "", "orchestration order-7"));
  expect_thrown_as<ChildError>(failure_of(Category::cancelled, "", "orchestration order-7"));
  expect_thrown_as<Error>(failure_of(Category::store));
}

TEST(Errors, ACancellationIsNotCaughtAsAnErrorOrAStandardException) {
  static_assert(!std::is_base_of_v<Error, Cancelled>);
  static_assert(!std::is_base_of_v<std::exception, Cancelled>);
  const Cancelled cancelled(Failure{.category = Category::cancelled, .message = "the user went home"});
  EXPECT_STREQ(cancelled.what(), "the user went home");
}

TEST(Errors, WhatTellsSourceAttemptsTypeAndCause) {
  Failure failure{.type = "card_declined", .message = "no funds", .source = "activity charge", .attempt = 3};
  failure.cause =
      std::make_shared<const Failure>(Failure{.category = Category::timeout, .message = "bank is slow"});
  EXPECT_STREQ(ActivityError(failure).what(),
               "activity charge failed after 3 attempts: no funds (card_declined); caused by: bank is slow");
  EXPECT_STREQ(Error(Failure{.category = Category::poison}).what(), "poison");
}

TEST(Errors, FailuresCompareByValueThroughTheirCauses) {
  Failure a = failure_of(Category::timeout);
  Failure b = a;
  a.cause = std::make_shared<const Failure>(failure_of(Category::store));
  EXPECT_FALSE(a == b);
  b.cause = std::make_shared<const Failure>(failure_of(Category::store));
  EXPECT_EQ(a, b);
  b.attempt = 2;
  EXPECT_FALSE(a == b);
}

TEST(Errors, OnlyAnUnavailableStoreIsWorthTryingAgain) {
  EXPECT_TRUE(ClientError(ClientError::Kind::unavailable, "the disk is full").failure().retryable);
  const ClientError conflict(ClientError::Kind::conflict, "'order-7' runs 'ship' already");
  EXPECT_FALSE(conflict.failure().retryable);
  EXPECT_EQ(conflict.failure().type, "conflict");
  EXPECT_EQ(conflict.kind(), ClientError::Kind::conflict);
  const ClientError damaged(ClientError::Kind::damaged, "a row can't be read");
  EXPECT_FALSE(damaged.failure().retryable);
  EXPECT_EQ(damaged.failure().type, "damaged");
}

TEST(Errors, AnActivityFailureCarriesTypeAndDetails) {
  const ActivityFailure failure("card_declined", "no funds", Payload{kJsonEncoding, R"({"code":51})"}, false);
  EXPECT_EQ(failure.type(), "card_declined");
  EXPECT_STREQ(failure.what(), "no funds");
  EXPECT_EQ(failure.details().bytes, R"({"code":51})");
  EXPECT_FALSE(failure.retryable());
}

TEST(Errors, EveryCategoryHasAName) {
  EXPECT_EQ(to_string(Category::application), "application");
  EXPECT_EQ(to_string(Category::nondeterminism), "nondeterminism");
  EXPECT_EQ(to_string(Category::store), "store");
  EXPECT_EQ(to_string(static_cast<Category>(99)), "unknown");
}

TEST(Encoding, RefusesIdsThatDoNotFit) {
  EXPECT_EQ(Encoding("json"), kJsonEncoding);
  EXPECT_EQ(Encoding("fifteen-letters").id(), "fifteen-letters");
  EXPECT_THROW(Encoding(""), std::invalid_argument);
  EXPECT_THROW(Encoding("sixteen-letters!"), std::invalid_argument);
  EXPECT_THROW(Encoding("a b"), std::invalid_argument);
  EXPECT_THROW(Encoding("\xc3\xa9"), std::invalid_argument);
}

}  // namespace
}  // namespace holdfast
