// History that was damaged on its way: an error that names the event, never a crash, never other code that
// runs.
#include "codec/bytes.hpp"
#include "codec/crc32c.hpp"
#include "engine/driver_test.hpp"

#include <initializer_list>

namespace holdfast::engine::corruption_test {
namespace {

Task<std::string> works(Context& ctx, std::string who) {
  auto left = ctx.activity<int>("left").start();
  auto text = co_await ctx.activity<std::string>("first", {.queue = "q"}, who);
  const auto all = co_await when_all(ctx.activity<std::string>("second", text), ctx.sleep(1s));
  text += std::get<0>(all);
  ctx.set_value("text", text);
  const auto box = ctx.mailbox<std::string>("box");
  text += co_await box.receive();
  co_return text;
}

/// Four turns; they begin with events 1, 5, 9 and 14.
Driver recorded() {
  Driver driver(works, "Ada");
  driver.start();
  Outcome outcome = driver.step(driver.completes(EventId{4}, "a"));
  driver.step(driver.completes(outcome.actions.at(0).id, "b"), driver.completes(outcome.actions.at(1).id));
  driver.step(driver.sends("box", "c"));
  return driver;
}

Result<void, Problem> replay(const std::vector<std::string>& segments) {
  Execution execution({.instance = "i-1"}, detail::make_orchestration(works));
  for (const std::string& segment : segments) {
    if (auto outcome = execution.replay(segment); !outcome) return outcome;
  }
  return {};
}

void expect_damage(const std::vector<std::string>& segments, std::uint64_t event, const std::string& what) {
  const auto outcome = replay(segments);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, Problem::Kind::corrupt_history);
  EXPECT_EQ(outcome.error().event.value, event);
  const std::string where = what.starts_with("event ") ? "" : " at event " + std::to_string(event);
  EXPECT_EQ(describe(outcome.error()), "history is damaged" + where + ": " + what);
  EXPECT_EQ(to_failure(outcome.error()).category, Category::store);
}

std::string segment_of(std::uint64_t first, std::initializer_list<history::Body> events) {
  history::SegmentWriter writer(EventId{first});
  for (const history::Body& event : events) {
    std::visit([&](const auto& body) { writer.add(body); }, event);
  }
  return writer.finish();
}

history::Started started() {
  return {.name = "works", .version = "1", .input = encode_args("Ada"), .seed = 1};
}

// ---- bytes --------------------------------------------------------------------------------------

TEST(DamagedBytes, ACutIsFoundWhereverItIs) {
  const Driver driver = recorded();
  std::uint64_t event = 1;
  for (std::size_t i = 0; i < driver.segments().size(); ++i) {
    for (std::size_t size = 0; size < driver.segments()[i].size(); ++size) {
      auto segments = driver.segments();
      segments[i].resize(size);
      const auto outcome = replay(segments);
      ASSERT_FALSE(outcome) << "segment " << i << " cut to " << size;
      EXPECT_EQ(outcome.error().kind, Problem::Kind::corrupt_history);
      EXPECT_EQ(outcome.error().event.value, event);
    }
    event += history::read_segment(driver.segments()[i]).value().size();
  }
}

TEST(DamagedBytes, AFlippedBitIsFoundWhereverItIs) {
  const Driver driver = recorded();
  for (std::size_t i = 0; i < driver.segments().size(); ++i) {
    for (std::size_t bit = 0; bit < driver.segments()[i].size() * 8; ++bit) {
      auto segments = driver.segments();
      char& byte = segments[i][bit / 8];
      byte = static_cast<char>(byte ^ (1 << (bit % 8)));
      const auto outcome = replay(segments);
      ASSERT_FALSE(outcome) << "segment " << i << ", bit " << bit;
      EXPECT_EQ(outcome.error().kind, Problem::Kind::corrupt_history);
    }
  }
}

// A segment whose checksum is right, with one event of any kind and body.
std::string raw_segment(std::uint64_t first, std::uint8_t kind, std::string_view body) {
  std::string segment = "HFH\x01";
  history::ByteWriter out(segment);
  out.varint(first);
  out.varint(1);
  out.byte(kind);
  out.string(body);
  out.fixed32(codec::crc32c(segment));
  return segment;
}

TEST(DamagedBytes, AnEventThatCannotBeReadIsNamed) {
  auto segments = recorded().segments();
  segments.resize(2);
  segments.push_back(raw_segment(9, 200, ""));
  expect_damage(segments, 9,
                "event 9: it is of kind 200, which this version of Holdfast doesn't know: this history was "
                "written by a newer version");
  segments.back() = raw_segment(9, history::kind_of<history::Completed>, "\x05");
  const auto outcome = replay(segments);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, Problem::Kind::nondeterminism);  // of an event that is no operation
  segments.back() = raw_segment(9, history::kind_of<history::Completed>, "\x80");
  expect_damage(segments, 9, "event 9 (completed): the source is cut off");
}

TEST(DamagedBytes, AnOperationThatCannotBeReadIsNamed) {
  const auto outcome = replay({segment_of(1, {history::TurnStarted{}, started()}),
                               raw_segment(3, history::kind_of<detail::ActivityScheduled>, "\x09left")});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().event, EventId{3});
}

// ---- segments -----------------------------------------------------------------------------------

TEST(DamagedSegments, OneThatIsMissingIsFound) {
  auto segments = recorded().segments();
  segments.erase(segments.begin() + 1);
  expect_damage(segments, 5, "this part of history begins with event 9 where event 5 should stand");
}

TEST(DamagedSegments, TheFirstOneIsMissing) {
  auto segments = recorded().segments();
  segments.erase(segments.begin());
  expect_damage(segments, 1, "this part of history begins with event 5 where event 1 should stand");
}

TEST(DamagedSegments, TheWrongOrderIsFound) {
  auto segments = recorded().segments();
  std::swap(segments[1], segments[2]);
  expect_damage(segments, 5, "this part of history begins with event 9 where event 5 should stand");
}

TEST(DamagedSegments, OneThatIsThereTwiceIsFound) {
  auto segments = recorded().segments();
  segments.insert(segments.begin() + 1, segments[1]);
  expect_damage(segments, 9, "this part of history begins with event 5 where event 9 should stand");
}

TEST(DamagedSegments, OneThatFollowsTheEndIsFound) {
  Driver driver = recorded();
  ASSERT_TRUE(driver.last.end);
  const std::uint64_t next = driver.events().size() + 1;
  driver.segments().push_back(segment_of(next, {history::TurnStarted{}, history::Completed{EventId{3}, {}}}));
  expect_damage(driver.segments(), next, "history goes on after the end of the execution");
}

TEST(DamagedSegments, OneWithoutEventsIsHarmless) {
  auto segments = recorded().segments();
  segments.insert(segments.begin() + 1, segment_of(5, {}));
  EXPECT_TRUE(replay(segments));
}

// ---- events -------------------------------------------------------------------------------------

TEST(DamagedEvents, ASecondStartIsNamed) {
  auto segments = recorded().segments();
  segments.resize(1);
  segments.push_back(segment_of(5, {history::TurnStarted{}, started()}));
  expect_damage(segments, 6, "the execution starts a second time");
}

TEST(DamagedEvents, WhatComesBeforeTheStartIsNamed) {
  const auto damaged = [](const history::Body& event, const std::string& words) {
    expect_damage({segment_of(1, {history::TurnStarted{}, event})}, 2,
                  words + " comes before the start of the execution");
  };
  damaged(history::Completed{EventId{1}, {}}, "the completion of event 1");
  damaged(history::Failed{EventId{1}, {}}, "the failure of event 1");
  damaged(history::CancelRequested{"x"}, "a request to cancel");
  damaged(detail::TimerStarted{}, "a timer");
  damaged(history::ExecutionCompleted{}, "the end of the execution with a result");
  damaged(history::OperationCancelled{EventId{1}}, "the cancellation of event 1");
}

TEST(DamagedEvents, AnOutcomeOfAnEventThatComesLaterIsNamed) {
  auto segments = recorded().segments();
  segments.resize(1);
  segments.push_back(segment_of(5, {history::TurnStarted{}, history::Completed{EventId{99}, {}}}));
  expect_damage(segments, 6, "it is the completion of event 99, which comes later");
  segments.back() = segment_of(5, {history::TurnStarted{}, history::Failed{EventId{6}, {}}});
  expect_damage(segments, 6, "it is the failure of event 6, which comes later");
}

TEST(DamagedEvents, ASecondOutcomeIsNamed) {
  auto segments = recorded().segments();
  segments.resize(1);
  segments.push_back(segment_of(5, {history::TurnStarted{}, history::Completed{EventId{3}, encode(1)},
                                    history::Completed{EventId{3}, encode(1)}}));
  const auto outcome = replay(segments);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().event, EventId{7});
  EXPECT_EQ(outcome.error().code_did, "does not wait for the outcome of that event, or had it before");
}

TEST(DamagedEvents, ASecondEndIsNamed) {
  expect_damage({segment_of(1, {history::TurnStarted{}, history::ExecutionTerminated{"a"},
                                history::ExecutionTerminated{"b"}})},
                3, "the execution ends a second time");
}

TEST(DamagedEvents, TimesBeyondReasonAreHarmless) {
  for (const CalendarTime time : {CalendarTime::min(), CalendarTime::max()}) {
    const auto sleeps = [](Context& ctx) -> Task<> { co_await ctx.sleep(never); };
    Execution execution({.instance = "i-1"}, detail::make_orchestration(sleeps));
    EXPECT_TRUE(execution.replay(segment_of(
        1, {history::TurnStarted{time}, history::Started{.input = encode_args()}, detail::TimerStarted{}})));
  }
}

}  // namespace
}  // namespace holdfast::engine::corruption_test
