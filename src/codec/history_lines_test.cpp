#include "codec/history_lines.hpp"

#include "codec/binary.hpp"
#include "codec/crc32c.hpp"
#include "codec/history_samples_test.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::history::history_lines_test {
namespace {

using namespace std::string_literals;

const LinesHeader kHeader{.instance = "order-7", .execution = {2}, .orchestration = "sell", .version = "3"};

std::string write(const std::vector<std::string>& segments) {
  LinesWriter writer;
  std::string text = LinesWriter::header(kHeader);
  for (const std::string& segment : segments) text += writer.turn(segment).value();
  return text + writer.end();
}

/// All histories of a file; or the line of what is wrong, and the reason.
struct Read {
  std::vector<LinesHeader> headers{};
  std::vector<std::string> segments{};
  std::string error{};
};
Read read(const std::string& text) {
  std::istringstream in(text);
  LinesReader reader(in);
  Read all;
  const auto failed = [&](const LinesError& error) {
    all.error = std::to_string(error.line) + ": " + error.reason;
    return all;
  };
  for (;;) {
    const auto header = reader.next_history();
    if (!header) return failed(header.error());
    if (!*header) return all;
    all.headers.push_back(**header);
    for (;;) {
      auto turn = reader.next_turn();
      if (!turn) return failed(turn.error());
      if (!*turn) break;
      all.segments.push_back(**std::move(turn));
    }
  }
}
std::string error_of(const std::string& text) { return read(text).error; }

/// Two turns of an order.
std::vector<std::string> two_turns() {
  const std::string first = write_segment(number_events(
      {1}, {TurnStarted{}, Started{.name = "sell", .version = "3"}, ActivityScheduled{.name = "pay"}}));
  const std::string second = write_segment(
      number_events({4}, {TurnStarted{}, Completed{.source = {3}}, ExecutionCompleted{.output = {}}}));
  return {first, second};
}

std::string replaced(std::string text, std::string_view old, std::string_view with) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), with);
}
std::string without_line(const std::string& text, int number) {
  std::istringstream in(text);
  std::string left;
  for (std::string line; std::getline(in, line);) left += --number == 0 ? "" : line + "\n";
  return left;
}

// ---- what it looks like -------------------------------------------------------------------------

TEST(HistoryLines, HaveAHeaderALineForEachTurnAndEventAndAnEnd) {
  EXPECT_EQ(
      write(two_turns()),
      R"({"holdfast":"history","format":1,"instance":"order-7","execution":2,)"
      R"("orchestration":"sell","version":"3"})"
      "\n"
      R"({"turn":1,"events":3,"crc32c":"8d8a0fac"})"
      "\n"
      R"({"event":1,"kind":"turn_started","time":"1970-01-01T00:00:00Z"})"
      "\n"
      R"({"event":2,"kind":"started","name":"sell","version":"3","seed":0,"history_budget":0,"seed_high":0})"
      "\n"
      R"({"event":3,"kind":"activity_scheduled","name":"pay"})"
      "\n"
      R"({"turn":2,"events":3,"crc32c":"fbd56983"})"
      "\n"
      R"({"event":4,"kind":"turn_started","time":"1970-01-01T00:00:00Z"})"
      "\n"
      R"({"event":5,"kind":"completed","source":3})"
      "\n"
      R"({"event":6,"kind":"execution_completed"})"
      "\n"
      R"({"end":{"turns":2,"events":6}})"
      "\n");
}

TEST(HistoryLines, LookAsThePageShows) {
  const CalendarTime noon = std::chrono::sys_days{std::chrono::year{2030} / 3 / 14} + std::chrono::hours(12);
  const std::string segment = write_segment(number_events(
      {1}, {TurnStarted{.time = noon},
            Started{.name = "sell",
                    .version = "1",
                    .input = {kJsonEncoding, "\"o1\""},
                    .seed = 7,
                    .history_budget = 10'000,
                    .seed_high = 9},
            ActivityScheduled{.name = "charge", .input = {kJsonEncoding, R"({"cents":1200})"}}}));
  LinesWriter writer;
  std::string text = LinesWriter::header({"order-7", {1}, "sell", "1"});
  text += writer.turn(segment).value();
  text += writer.end();
  std::ifstream page("docs/history-format.md");
  const std::string shown(std::istreambuf_iterator<char>(page), {});
  EXPECT_NE(shown.find("```json\n" + text + "```\n"), std::string::npos) << text;
}

TEST(HistoryLines, GiveTheHeaderAndTheBytesAgain) {
  const Read again = read(write(two_turns()));
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.headers, std::vector<LinesHeader>{kHeader});
  EXPECT_EQ(again.segments, two_turns());
}

TEST(HistoryLines, OfAHistoryWithoutTurnsAreItsHeaderAndItsEnd) {
  const Read again = read(write({}));
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.headers.size(), 1U);
  EXPECT_TRUE(again.segments.empty());
}

TEST(HistoryLines, MayHoldSeveralHistoriesOrNone) {
  EXPECT_TRUE(read("").headers.empty());
  EXPECT_EQ(read("").error, "");
  const Read again = read(write(two_turns()) + write({}) + write(two_turns()));
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.headers.size(), 3U);
  EXPECT_EQ(again.segments.size(), 4U);
}

// ---- the same bytes -----------------------------------------------------------------------------

TEST(HistoryLines, GiveEveryKindOfEventAgain) {
  for (const std::vector<Event>& events : {full_events(), default_events()}) {
    std::vector<Body> bodies;
    for (const Event& event : events) bodies.push_back(event.body);
    const std::string segment = write_segment(number_events({1}, std::move(bodies)));
    const std::string text = write({segment});
    EXPECT_EQ(text.find("\"segment\""), std::string::npos) << "its events are shown";
    EXPECT_EQ(read(text).segments, std::vector<std::string>{segment});
  }
}

RC_GTEST_PROP(HistoryLines, GiveAnyHistoryAgain, ()) {
  std::vector<Body> bodies;
  for (Event& event : *any_events()) bodies.push_back(std::move(event.body));
  std::vector<std::string> segments;
  EventId first{1};
  while (!bodies.empty()) {
    const auto size = *rc::gen::inRange<std::size_t>(1, bodies.size() + 1);
    const auto end = bodies.begin() + static_cast<std::ptrdiff_t>(size);
    segments.push_back(write_segment(number_events(first, {bodies.begin(), end})));
    first.value += size;
    bodies.erase(bodies.begin(), end);
  }
  const Read again = read(write(segments));
  RC_ASSERT(again.error.empty());
  RC_ASSERT(again.segments == segments);
}

/// A segment with one event of these bytes.
std::string segment_with(std::uint8_t kind, std::string_view body) {
  std::string segment = "HFH\x01\x01\x01"s;
  ByteWriter out(segment);
  out.byte(kind);
  out.string(body);
  out.fixed32(codec::crc32c(segment));
  return segment;
}

TEST(HistoryLines, KeepTheBytesOfWhatANewerVersionWrote) {
  const std::vector<std::string> newer = {segment_with(200, "of a kind that comes later"),
                                          segment_with(kind_of<CancelRequested>,
                                                       "\x02"
                                                       "no"
                                                       "a field that comes later")};
  for (const std::string& segment : newer) {
    const std::string text = write({segment});
    EXPECT_NE(text.find(R"({"turn":1,"segment":{"$b64":")"), std::string::npos) << text;
    EXPECT_EQ(read(text).segments, std::vector<std::string>{segment});
  }
}

TEST(HistoryLines, AreNotWrittenOfWhatIsNoSegmentOrNotTheNextOne) {
  LinesWriter writer;
  EXPECT_EQ(writer.turn("nonsense").error(), "this is not a segment of history");
  EXPECT_EQ(writer.turn(two_turns()[1]).error(),
            "this part of history begins with event 4 where event 1 should stand");
}

// ---- files of others, damaged and edited ones ---------------------------------------------------

TEST(HistoryLines, SayWhichLineIsWrongAndWhy) {
  const std::string good = write(two_turns());
  const std::string no_history =
      "this is no exported history: its first line is not a header such as "
      R"({"holdfast":"history","format":1,...})";
  struct Case {
    std::string text;
    std::string error;
  };
  const std::vector<Case> cases = {
      {"\n", "1: " + no_history},
      {"SQLite format 3\0 and so on"s, "1: " + no_history},
      {"[\n" + good, "1: " + no_history},
      {std::string(1U << 20U, '{'), "1: " + no_history},
      {replaced(good, "\"history\"", "\"store\""),
       "1: this file holds a \"store\" of Holdfast, and no history"},
      {replaced(good, "\"format\":1", "\"format\":2"),
       "1: this history has format 2, which this version of Holdfast doesn't know: it was written by a newer "
       "version"},
      {replaced(good, "\"execution\":2", "\"execution\":\"two\""),
       "1: the header: execution: expected integer, found string \"two\""},
      {replaced(good, "\"instance\":\"order-7\",", ""),
       "1: the header: the name of an instance is empty; names have 1 to 255 bytes of UTF-8 without control "
       "characters"},
      {replaced(good, "\"execution\":2", "\"execution\":0"), "1: the header: executions are numbered from 1"},
      {replaced(good, "\"name\":\"pay\"", "\"name\":\"pax\""),
       "2: the events of this turn have the checksum 7fe18caf, and not 8d8a0fac: they were changed, or "
       "damaged. "
       "If they were changed on purpose, leave out \"crc32c\" here"},
      {replaced(good, "\"name\":\"pay\"", "\"name\":7"),
       "5: event 3 (activity_scheduled): name: expected string, found number 7"},
      {replaced(good, "\"name\":\"pay\"}", "\"name\":\"pay\"} and more"),
       "5: event 3 (activity_scheduled): malformed JSON: expected the end of the text at byte 53, found 'a'"},
      {replaced(good, "activity_scheduled", "activity_dreamt_of"),
       "5: event 3: there is no kind \"activity_dreamt_of\" in this version of Holdfast"},
      {replaced(good, "\"event\":5", "\"event\":7"),
       "8: event 7 stands where event 5 is expected: events are numbered one after the other"},
      {without_line(good, 2), "2: there is no turn for this event: its line is missing, or has fewer events"},
      {without_line(good, 5), "5: event 3 is missing: the turn says that it has 3 events"},
      {without_line(good, 9), "9: event 6 is missing: the turn says that it has 3 events"},
      {replaced(good, "\"turn\":2", "\"turn\":3"), "6: turn 3 stands where turn 2 is expected"},
      {replaced(good, "\"turn\":1,\"events\":3", "\"turn\":1,\"events\":2"),
       "2: the events of this turn have the checksum 2dbcdb3c, and not 8d8a0fac: they were changed, or "
       "damaged. "
       "If they were changed on purpose, leave out \"crc32c\" here"},
      {replaced(good, "\"turn\":1,\"events\":3,\"crc32c\":\"8d8a0fac\"", "\"turn\":1,\"events\":2"),
       "5: there is no turn for this event: its line is missing, or has fewer events"},
      {replaced(good, "\"events\":3,", ""),
       "2: a turn has either \"events\", how many follow, or a \"segment\""},
      {replaced(good, "\"events\":3,", "\"events\":3,\"event\":3,"), "2: event: there is no such field"},
      {replaced(good, "\"events\":3,", "\"events\":3,\"events\":3,"),
       "2: events: the field stands here twice"},
      {without_line(good, 10),
       "10: the file ends where the next turn or the end should stand: it is cut off"},
      {good.substr(0, good.find("{\"event\":5")),
       "8: the file ends where event 5 should stand: it is cut off"},
      {replaced(good, "{\"turns\":2,\"events\":6}", "{\"turns\":3,\"events\":6}"),
       "10: the file says that it has 3 turns with 6 events, and has 2 with 6: some are missing, or were "
       "added"},
      {replaced(good, "{\"turns\":2,\"events\":6}", "{\"turns\":2,\"happy\":6}"),
       "10: end: happy: there is no such field"},
      {good + "more", "11: " + no_history},
  };
  for (const Case& each : cases) EXPECT_EQ(error_of(each.text), each.error);
}

TEST(HistoryLines, SayWhatIsWrongWithASegment) {
  const std::string good = write({segment_with(200, "of a kind that comes later")});
  EXPECT_EQ(error_of(good), "");
  const std::string damaged = replaced(good, "$b64\":\"SE", "$b64\":\"SF");
  EXPECT_EQ(error_of(damaged), "2: this is not a segment of history");
  EXPECT_EQ(error_of(replaced(good, "{\"$b64\"", "{\"b64\"")),
            "2: segment.b64: expected bytes as {\"$b64\": \"...\"}, found another object");
  LinesWriter writer;
  const std::string turn = writer.turn(two_turns()[0]).value();
  const std::string twice = LinesWriter::header(kHeader) + turn +
                            replaced(good.substr(good.find("{\"turn\"")), "\"turn\":1", "\"turn\":2");
  EXPECT_EQ(error_of(twice), "6: the segment begins with event 1 where event 4 is expected");
}

TEST(HistoryLines, MayBeEditedWhereTheChecksumIsLeftOut) {
  const std::string edited =
      replaced(replaced(write(two_turns()), ",\"crc32c\":\"8d8a0fac\"", ""), "\"pay\"", "\"pax\"");
  const Read again = read(edited);
  EXPECT_EQ(again.error, "");
  ASSERT_EQ(again.segments.size(), 2U);
  const auto events = read_segment(again.segments[0]);
  EXPECT_EQ(std::get<ActivityScheduled>(events->at(2).body).name, "pax");
}

TEST(HistoryLines, MayHaveLineBreaksOfOtherSystemsAndNewFieldsInTheHeader) {
  std::string text = replaced(write(two_turns()), "\"format\":1,", "\"format\":1,\"written_by\":\"later\",");
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2))
    text.insert(at, "\r");
  const Read again = read(text);
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.segments, two_turns());
}

}  // namespace
}  // namespace holdfast::history::history_lines_test
