// The bytes and the JSON of history against files: neither may change by accident. After a change that is
// meant,
//
//   HOLDFAST_WRITE_HISTORIES=1 build/dev/src/codec/codec_tests --gtest_filter='HistoryFormat.*'
//
// writes the files anew, from the samples in history_samples_test.cpp. Files of a format that was released
// are never written anew: a new format has a folder of its own, and the old ones stay readable.
#include "codec/history_json.hpp"
#include "codec/history_samples_test.hpp"
#include "codec/segment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace holdfast::history::history_format_test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
    text.push_back(i % 32 == 31 || i + 1 == bytes.size() ? '\n' : ' ');
  }
  return text;
}

std::string from_hex(const std::string& text) {
  std::istringstream in(text);
  std::string bytes;
  for (unsigned byte = 0; in >> std::hex >> byte;) bytes.push_back(static_cast<char>(byte));
  return bytes;
}

struct Sample {
  std::string name;
  std::vector<Event> events;
};

std::vector<Sample> samples() {
  return {{"full", full_events()}, {"defaults", default_events()}, {"order-turn", order_turn()}};
}

std::string path_of(const Sample& sample, std::string_view ending) {
  return "tests/histories/format-1/" + sample.name + std::string(ending);
}

void write_files(const Sample& sample) {
  std::ofstream(path_of(sample, ".hex"), std::ios::binary) << to_hex(write_segment(sample.events));
  std::ofstream(path_of(sample, ".json"), std::ios::binary) << history_json(sample.events);
}

TEST(HistoryFormat, BytesAndJsonAreThoseOfTheFiles) {
  for (const Sample& sample : samples()) {
    if (std::getenv("HOLDFAST_WRITE_HISTORIES") != nullptr) write_files(sample);
    EXPECT_EQ(to_hex(write_segment(sample.events)), read_file(path_of(sample, ".hex"))) << sample.name;
    EXPECT_EQ(history_json(sample.events), read_file(path_of(sample, ".json"))) << sample.name;
  }
}

TEST(HistoryFormat, FilesReadAsTheSamples) {
  for (const Sample& sample : samples()) {
    const auto from_bytes = read_segment(from_hex(read_file(path_of(sample, ".hex"))));
    ASSERT_TRUE(from_bytes.has_value()) << sample.name << ": " << from_bytes.error();
    EXPECT_EQ(*from_bytes, sample.events) << sample.name;
    const auto from_json = parse_history_json(read_file(path_of(sample, ".json")));
    ASSERT_TRUE(from_json.has_value()) << sample.name << ": " << from_json.error();
    EXPECT_EQ(*from_json, sample.events) << sample.name;
  }
}

// In docs/history-format.md the bytes stand in lines of `<hex bytes>   <what they mean>`.
TEST(HistoryFormat, TheExampleInTheDocumentationIsTheOrderTurn) {
  const std::string page = read_file("docs/history-format.md");
  const std::string opening = "```hex\n";
  const std::size_t begin = page.find(opening);
  ASSERT_NE(begin, std::string::npos);
  std::istringstream lines(
      page.substr(begin + opening.size(), page.find("```", begin + 3) - begin - opening.size()));
  std::string bytes;
  for (std::string line; std::getline(lines, line);) bytes += from_hex(line.substr(0, line.find("  ")));
  EXPECT_EQ(to_hex(bytes), to_hex(write_segment(order_turn())));
}

}  // namespace
}  // namespace holdfast::history::history_format_test
