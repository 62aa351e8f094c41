// Programs without a store: their text, and how they shrink.
#include "testkit/conformance/model/differences.hpp"
#include "testkit/conformance/model/program_text.hpp"
#include "testkit/conformance/model/shrinking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace holdfast::testing::model {
namespace {

Program sample() {
  Program program;
  program.push_back({1, Join{.node = Node::bob}});
  program.push_back({2, Start{.instances = {{.id = Id::b}, {.id = Id::c, .delay = 2s}}}});
  TurnSpec turn{.id = Id::b, .token = Which::stale, .keep_lock = true};
  turn.waits.emplace({At::event_x, At::mailbox_x});
  turn.activities.push_back({.priority = 5, .session = Sid::t, .policy = {.ttl = 20s, .on_record = true}});
  turn.completed.push_back({.activity = {12, 1}});
  program.push_back({7, CommitTurns{.who = Who::bob, .turns = {turn}}});
  program.push_back({8, Advance{61s}});
  return program;
}

TEST(ProgramText, SaysOnlyWhatIsNotTheDefault) {
  EXPECT_EQ(to_text(sample()[0]), R"(1 join {"node":"bob"})");
  EXPECT_EQ(to_text(sample()[1]), R"(2 start {"instances":[{"id":"b"},{"id":"c","delay":"PT2S"}]})");
  EXPECT_EQ(to_text(Step{3, Sweep{}}), "3 sweep");
}

TEST(ProgramText, ReadsWhatItWrote) { EXPECT_EQ(program_of(to_text(sample())), sample()); }

TEST(Shrinking, KeepsOnlyWhatIsNeeded) {
  // Needs a turn that keeps the lock, after a start of c.
  const auto fails = [](const Program& program) -> std::optional<std::size_t> {
    bool started = false;
    for (std::size_t i = 0; i < program.size(); ++i) {
      if (const auto* start = std::get_if<Start>(&program[i].operation)) {
        started = started || std::any_of(start->instances.begin(), start->instances.end(),
                                         [](const StartSpec& spec) { return spec.id == Id::c; });
      }
      const auto* commit = std::get_if<CommitTurns>(&program[i].operation);
      if (commit != nullptr && started && !commit->turns.empty() && commit->turns[0].keep_lock) return i + 1;
    }
    return std::nullopt;
  };
  EXPECT_EQ(to_text(shrink(sample(), fails, 1000)),
            "2 start {\"instances\":[{\"id\":\"c\"}]}\n"
            "7 commit_turns {\"turns\":[{\"keep_lock\":true}]}\n");
}

TEST(Shrinking, StopsWhenItHasRunOftenEnough) {
  std::size_t asked = 0;
  const auto fails = [&](const Program& program) -> std::optional<std::size_t> {
    ++asked;
    return program.empty() ? std::nullopt : std::optional(program.size());
  };
  EXPECT_FALSE(shrink(sample(), fails, 2).empty());
  EXPECT_EQ(asked, 2U);
}

TEST(Differences, NameTheRowAndTheMember) {
  store::StoreState model;
  model.instances.resize(2);
  model.instances[0].view = {.key = {1}, .instance = "a"};
  model.instances[1].view = {.key = {2}, .instance = "b", .output = "b's"};
  store::StoreState subject = model;
  subject.instances[0].messages.push_back({.id = {7}, .body = std::string("hi\xff")});
  subject.instances.pop_back();
  Differences found;
  compare("", model, subject, found);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].where, "instances a (key 1).messages 7");
  EXPECT_EQ(found[0].model, "nothing");
  EXPECT_EQ(found[0].subject, R"({id: 7, body: "hi\xff"})");
  EXPECT_EQ(found[1].where, "instances b (key 2)");
  EXPECT_EQ(found[1].subject, "nothing");
}

TEST(Differences, NoticeTheOrder) {
  std::vector<store::SessionView> model{{.id = "s"}, {.id = "t"}};
  std::vector<store::SessionView> subject{{.id = "t"}, {.id = "s"}};
  Differences found;
  compare("sessions", model, subject, found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].where, "sessions, the order");
  EXPECT_EQ(found[0].model, R"(["s", "t"])");
}

TEST(Differences, TellAnAnswerFromAnError) {
  const StoreResult<bool> model = true;
  const StoreResult<bool> subject = Unexpected(
      StoreError{.kind = StoreError::Kind::gone, .message = "x", .reason = CancelReason::session_lost});
  Differences found;
  compare("close_session", model, subject, found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].model, "yes");
  EXPECT_EQ(found[0].subject, "gone (session_lost): x");
}

}  // namespace
}  // namespace holdfast::testing::model
