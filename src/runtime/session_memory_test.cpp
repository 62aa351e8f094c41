// SessionMemory by itself: what activities of one session may do to its states at the same time.
#include "runtime/session_memory.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::runtime::session_memory_test {
namespace {

constexpr Generation kGeneration{1};

/// A text; made from what was saved.
class TextCode final : public detail::SessionStateCode {
 public:
  TextCode(std::string name, bool concurrent, SaveState when)
      : SessionStateCode(std::move(name), concurrent, true, when) {}
  [[nodiscard]] std::shared_ptr<void> make(const SessionStart& start) const override {
    return std::make_shared<std::string>(start.saved<std::string>().value_or(""));
  }
  [[nodiscard]] Payload save(const void* state) const override {
    return encode(*static_cast<const std::string*>(state));
  }
};

class SessionMemoryTest : public ::testing::Test {
 protected:
  using Use = SessionMemory::Use;

  std::unique_ptr<SessionMemory> memory(std::optional<std::optional<std::string>> saved) {
    return std::make_unique<SessionMemory>(
        "s", std::move(saved),
        [this]() -> StoreResult<std::optional<std::string>> {
          ++reads;
          if (trouble) return Unexpected(StoreError{.kind = *trouble, .message = "not now"});
          return in_store;
        },
        [](const std::shared_ptr<void>&) {});
  }
  static std::optional<std::optional<std::string>> known(const SavedStates& saved) {
    return std::optional<std::string>(to_bytes(saved));
  }
  static std::string& text(SessionMemory& memory, const TextCode& code, Use& use, bool may_wait = true) {
    return *static_cast<std::string*>(memory.state(code, kGeneration, use, std::stop_token(), may_wait));
  }

  const TextCode recorded{"recorded", false, SaveState::with_each_activity};
  const TextCode shared{"shared", true, SaveState::when_handed_over};
  std::optional<std::string> in_store{};
  std::optional<StoreError::Kind> trouble{};
  int reads = 0;
};

// Under the sanitizers this shows what the two do to the same data.
TEST_F(SessionMemoryTest, AnActivityMayEndWhileAnotherMakesAState) {
  SavedStates saved;
  for (int i = 0; i < 50; ++i)
    saved.parts.push_back({"part" + std::to_string(i), encode(std::string(200, 'x'))});
  saved.parts.push_back({"shared", encode(std::string("from before"))});
  for (int round = 0; round < 200; ++round) {
    const auto here = memory(known(saved));
    Use ends;
    Use makes;
    text(*here, recorded, ends) = "changed";
    std::barrier go(2);
    std::optional<std::string> bytes;
    std::thread ending([&] {
      go.arrive_and_wait();
      bytes = here->end_of_code(ends, true);
      here->end_of_use(ends, true);
    });
    std::thread making([&] {
      go.arrive_and_wait();
      EXPECT_EQ(text(*here, shared, makes), "from before");
    });
    ending.join();
    making.join();
    ASSERT_TRUE(bytes);
    const SavedStates after = read_saved_states(*bytes);
    EXPECT_EQ(after.parts.back(), (SavedStates::Part{"recorded", encode(std::string("changed"))}));
    EXPECT_EQ(after.parts.size(), 52U);
  }
}

TEST_F(SessionMemoryTest, WhatAnAttemptDidThatSavedNothingIsUndoneWithoutTheStore) {
  const auto here = memory(known({.parts = {{"recorded", encode(std::string("before"))}}}));
  Use fails;
  text(*here, recorded, fails) = "half done";
  EXPECT_FALSE(here->end_of_code(fails, false));
  here->end_of_use(fails, true);
  Use next;
  EXPECT_EQ(text(*here, recorded, next), "before");
  EXPECT_EQ(reads, 0);
}

TEST_F(SessionMemoryTest, WhatMayOrMayNotBeSavedIsAskedFor) {
  const auto here = memory(known({}));
  Use in_doubt;
  text(*here, recorded, in_doubt) = "sent";
  in_store = here->end_of_code(in_doubt, true);
  here->end_of_use(in_doubt, false);
  Use next;
  EXPECT_EQ(text(*here, recorded, next), "sent");
  EXPECT_EQ(reads, 1);
}

TEST_F(SessionMemoryTest, AStoreThatDoesNotAnswerIsNoFaultOfTheAttempt) {
  const auto here = memory(std::nullopt);
  trouble = StoreError::Kind::unavailable;
  Use use;
  EXPECT_THROW(text(*here, recorded, use), NoAnswer);
  EXPECT_TRUE(use.unanswered);
  here->end_of_use(use, false);

  trouble.reset();
  Use again;
  EXPECT_EQ(text(*here, recorded, again), "");
  EXPECT_FALSE(again.unanswered);
}

TEST_F(SessionMemoryTest, AStoreThatRefusesToAnswerIs) {
  const auto here = memory(std::nullopt);
  trouble = StoreError::Kind::invalid;
  Use use;
  EXPECT_THROW(text(*here, recorded, use), Error);
  EXPECT_FALSE(use.unanswered);
}

TEST_F(SessionMemoryTest, WhatCannotBeReadIsNamedAndMadeAnewOnceItWasDiscarded) {
  const SavedStates saved{.parts = {{"recorded", encode(7)}, {"shared", encode(std::string("here"))}}};
  in_store = to_bytes(saved);
  const auto here = memory(known(saved));
  const auto failure = [&] {
    Use use;
    try {
      text(*here, recorded, use);
    } catch (const DecodeError& e) {
      here->end_of_use(use, false);
      return e.failure();
    }
    here->end_of_use(use, true);
    return Failure{};
  };
  const Failure first = failure();
  EXPECT_EQ(first.type, "state_unreadable");
  EXPECT_FALSE(first.retryable);
  EXPECT_TRUE(first.message.starts_with("what was saved of session 's' as state 'recorded' can't be read: "))
      << first.message;
  EXPECT_TRUE(first.message.ends_with("client.discard_session_state(\"s\")")) << first.message;
  EXPECT_EQ(failure().type, "state_unreadable");
  in_store.reset();
  EXPECT_EQ(failure().type, "");
  Use other;
  EXPECT_EQ(text(*here, shared, other), "here");
}

TEST_F(SessionMemoryTest, BytesThatNoWorkerSavedAreReadAgainOnceTheyWereDiscarded) {
  in_store = "garbage";
  const auto here = memory(std::nullopt);
  Use use;
  EXPECT_THROW(text(*here, recorded, use), DecodeError);
  here->end_of_use(use, false);
  in_store.reset();
  Use again;
  EXPECT_EQ(text(*here, recorded, again), "");
}

/// Can't be saved.
class Unsaveable final : public detail::SessionStateCode {
 public:
  Unsaveable() : SessionStateCode("unsaveable", false, true, SaveState::with_each_activity) {}
  [[nodiscard]] std::shared_ptr<void> make(const SessionStart&) const override {
    return std::make_shared<std::string>();
  }
  [[nodiscard]] Payload save(const void*) const override {
    throw ActivityFailure("too_hot", "it burns", false);
  }
};

TEST_F(SessionMemoryTest, ASaveThatThrowsIsToldWithTheNamesOfTheStateAndTheSession) {
  const Unsaveable code;
  const auto here = memory(known({}));
  Use use;
  static_cast<void>(here->state(code, kGeneration, use, std::stop_token(), true));
  try {
    here->end_of_code(use, true);
    ADD_FAILURE() << "it was saved";
  } catch (const Error& e) {
    EXPECT_EQ(e.failure().type, "state_not_saved");
    EXPECT_EQ(e.failure().message, "state 'unsaveable' of session 's' could not be saved: it burns");
    EXPECT_FALSE(e.failure().retryable);
    ASSERT_TRUE(e.failure().cause);
    EXPECT_EQ(e.failure().cause->type, "too_hot");
  }
  here->end_of_use(use, false);
}

// The thread that would have to wait is the one that makes the state.
TEST_F(SessionMemoryTest, WhoeverMayNotWaitIsToldWhenAStateIsBeingMade) {
  const auto here = std::make_shared<std::unique_ptr<SessionMemory>>();
  std::string word;
  *here = std::make_unique<SessionMemory>(
      "s", std::nullopt,
      [&]() -> StoreResult<std::optional<std::string>> {
        Use other;
        try {
          text(**here, shared, other, false);
        } catch (const ActivityFailure& e) {
          word = e.type();
        }
        return std::nullopt;
      },
      [](const std::shared_ptr<void>&) {});
  Use use;
  text(**here, shared, use);
  EXPECT_EQ(word, "state_busy");
}

}  // namespace
}  // namespace holdfast::runtime::session_memory_test
