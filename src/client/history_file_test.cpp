#include "codec/history_lines.hpp"
#include "codec/segment.hpp"

#include <holdfast/history_file.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::history_file_test {
namespace {

using namespace history;

std::string file_of(const std::string& instance, int turns) {
  LinesWriter writer;
  std::string text = LinesWriter::header({instance, {2}, "sell", "3"});
  EventId first{1};
  for (int i = 0; i < turns; ++i) {
    SegmentWriter segment(first);
    segment.add(TurnStarted{.build = std::to_string(i)});
    segment.add(ActivityScheduled{.name = "pay"});
    first = segment.next_id();
    text += writer.turn(segment.finish()).value();
  }
  return text + writer.end();
}

TEST(HistoryFile, IsReadTurnByTurn) {
  std::istringstream in(file_of("order-7", 2));
  HistoryReader history = read_history(in);
  EXPECT_EQ(history.header(), (HistoryHeader{"order-7", {2}, "sell", "3"}));
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    const std::vector<HistoryEvent> events = history.next_turn();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].build, std::to_string(turn));
    EXPECT_EQ(events[1].id, EventId{turn * 2 + 2});
    EXPECT_EQ(events[1].name, "pay");
  }
  EXPECT_TRUE(history.next_turn().empty());
  EXPECT_TRUE(history.next_turn().empty());
  EXPECT_FALSE(history.next_history());
}

TEST(HistoryFile, MayHoldSeveralHistories) {
  std::istringstream in(file_of("a", 3) + file_of("b", 0) + file_of("c", 1));
  HistoryReader history = read_history(in);
  EXPECT_EQ(history.next_turn().size(), 2U);  // what is left of it is passed over
  EXPECT_TRUE(history.next_history());
  EXPECT_EQ(history.header().instance, "b");
  EXPECT_TRUE(history.next_history());
  EXPECT_EQ(history.header().instance, "c");
  EXPECT_EQ(history.next_turn().size(), 2U);
  EXPECT_FALSE(history.next_history());
}

TEST(HistoryFile, IsWrittenAsItWasRead) {
  const std::string text = file_of("order-7", 3);
  std::istringstream in(text);
  std::ostringstream out;
  write_history(read_history(in), out);
  EXPECT_EQ(out.str(), text);
}

std::string error_of(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  try {
    HistoryReader history = read_history(in, name);
    while (!history.next_turn().empty()) {
    }
  } catch (const HistoryFileError& e) {
    return std::to_string(e.line()) + " " + e.what();
  }
  return "";
}

TEST(HistoryFile, ThatIsWrongIsNamedWithTheLine) {
  EXPECT_EQ(error_of("", "o.jsonl"),
            "1 o.jsonl, line 1: the file is empty: an exported history has a header");
  EXPECT_EQ(error_of("PK\x03\x04", "o.zip").substr(0, 48),
            "1 o.zip, line 1: this is no exported history: it");
  std::string text = file_of("order-7", 2);
  text.resize(text.size() - 40);
  EXPECT_EQ(error_of(text, "").substr(0, 10), "7 line 7: ");
}

TEST(HistoryFile, ThatIsNotThereOrAFolderIsAnError) {
  const auto error_of_path = [](const std::string& path) -> std::string {
    std::ifstream in(path);
    try {
      static_cast<void>(read_history(in, path));
    } catch (const HistoryFileError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error_of_path("tests/no.jsonl"), "tests/no.jsonl, line 1: the file can't be opened");
  EXPECT_EQ(error_of_path("tests"), "tests, line 1: the file can't be read");
}

TEST(HistoryFile, ThatTakesNoMoreIsAnError) {
  std::istringstream in(file_of("order-7", 1));
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  try {
    write_history(read_history(in), out);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(
        e.what(),
        "the history of instance 'order-7' could not be written to its end: the stream takes no more");
  }
}

}  // namespace
}  // namespace holdfast::history_file_test
