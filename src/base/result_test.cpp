#include <holdfast/result.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace holdfast {
namespace {

enum class Refusal { lost, conflict };

Result<int, Refusal> half(int n) {
  if (n % 2 != 0) return Unexpected(Refusal::conflict);
  return n / 2;
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(4));
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3));
  EXPECT_EQ(half(3).error(), Refusal::conflict);
  EXPECT_EQ(half(3).value_or(7), 7);
  EXPECT_EQ(half(4).value_or(7), 2);
  EXPECT_EQ(half(4), half(4));
}

TEST(Result, ValueThrowsWhatTheErrorStandsFor) {
  EXPECT_EQ(half(8).value(), 4);
  EXPECT_THROW(half(3).value(), BadResultAccess);
  const Result<int> timed_out = Unexpected(Failure{.category = Category::timeout, .message = "too late"});
  EXPECT_THROW(timed_out.value(), TimeoutError);
  const Result<int> cancelled = Unexpected(Failure{.category = Category::cancelled});
  EXPECT_THROW(cancelled.value(), Cancelled);
}

TEST(Result, OfVoidIsAYesOrAReason) {
  Result<void, Refusal> done;
  EXPECT_TRUE(done);
  EXPECT_NO_THROW(done.value());
  done = Unexpected(Refusal::lost);
  EXPECT_FALSE(done);
  EXPECT_THROW(done.value(), BadResultAccess);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = std::move(made).value();
  EXPECT_EQ(*taken, 3);
}

TEST(Result, TellsAValueFromAnErrorOfTheSameType) {
  const Result<std::string, std::string> value = std::string("fine");
  const Result<std::string, std::string> error = Unexpected(std::string("not fine"));
  EXPECT_EQ(*value, "fine");
  EXPECT_EQ(error.error(), "not fine");
}

TEST(Result, ReachesMembersThroughTheArrow) {
  Result<std::string> text = "abc";
  EXPECT_EQ(text->size(), 3U);
  text->push_back('d');
  EXPECT_EQ(*text, "abcd");
}

}  // namespace
}  // namespace holdfast
