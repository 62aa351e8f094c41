#include "client/callbacks.hpp"

#include "testkit/support/lines.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::client::callbacks_test {
namespace {

class CallbacksTest : public ::testing::Test {
 protected:
  std::vector<int> called;
  int pokes = 0;
  std::shared_ptr<support::Lines> lines = std::make_shared<support::Lines>();
  Callbacks callbacks{lines, [this] { ++pokes; }};
};

TEST_F(CallbacksTest, AreCalledOnceInTheOrderInWhichTheyCame) {
  EXPECT_FALSE(callbacks.any());
  for (int i = 0; i < 3; ++i) callbacks.add([this, i] { called.push_back(i); });
  EXPECT_TRUE(callbacks.any());
  EXPECT_EQ(pokes, 3);
  EXPECT_EQ(called, std::vector<int>()) << "nobody but the thread for it calls";
  callbacks.call();
  callbacks.call();
  EXPECT_EQ(called, (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(callbacks.any());
}

TEST_F(CallbacksTest, WhatOneThrowsIsLoggedAndTheOthersAreCalled) {
  callbacks.add([] { throw std::runtime_error("it burns"); });
  callbacks.add([] { throw 7; });
  callbacks.add([this] { called.push_back(1); });
  callbacks.call();
  EXPECT_EQ(called, std::vector<int>{1});
  EXPECT_EQ(lines->count("it burns"), 1U);
  EXPECT_EQ(lines->count("no std::exception"), 1U);
}

// One that adds others for ever must not keep the thread from all else.
TEST_F(CallbacksTest, OneThatIsAddedByACallbackIsForTheNextTime) {
  callbacks.add([this] {
    called.push_back(1);
    callbacks.add([this] { called.push_back(2); });
  });
  callbacks.call();
  EXPECT_EQ(called, std::vector<int>{1});
  EXPECT_TRUE(callbacks.any());
  callbacks.call();
  EXPECT_EQ(called, (std::vector<int>{1, 2}));
}

/// A part of what a callback holds: code of the user runs when it goes.
struct Noisy {
  explicit Noisy(std::function<void()> at_end) : at_end_(std::move(at_end)) {}
  ~Noisy() { at_end_(); }
  Noisy(const Noisy&) = delete;
  Noisy& operator=(const Noisy&) = delete;

 private:
  std::function<void()> at_end_;
};

TEST_F(CallbacksTest, WhatOneHoldsGoesWithItsCallAndWithoutAMutex) {
  bool in_callback_at_its_end = false;
  auto held = std::make_shared<Noisy>([&] {
    in_callback_at_its_end = Callbacks::is_here();
    callbacks.add([this] { called.push_back(2); });
  });
  callbacks.add([this, held] { called.push_back(1); });
  callbacks.add([this] { called.push_back(static_cast<int>(called.size()) * 10); });
  held.reset();
  EXPECT_FALSE(Callbacks::is_here());
  callbacks.call();
  EXPECT_TRUE(in_callback_at_its_end);
  EXPECT_FALSE(Callbacks::is_here());
  EXPECT_EQ(called, (std::vector<int>{1, 10}));
  EXPECT_TRUE(callbacks.any());
}

TEST(Refusal, SaysThatTheClientWasClosed) { EXPECT_THROW(refuse_as_closed(), std::logic_error); }

}  // namespace
}  // namespace holdfast::client::callbacks_test
