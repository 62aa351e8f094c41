// Any bytes as an exported history. What can be read must be written and read again with the same bytes; what
// can't must say on which line, and why, in valid UTF-8.
#include "codec/history_lines.hpp"

#include "base/utf8.hpp"
#include "codec/segment.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::history {
namespace {

struct History {
  LinesHeader header{};
  std::vector<std::string> segments{};
};

void check(const LinesError& error, std::size_t lines) {
  fuzz::require(error.line >= 1 && error.line <= lines + 1, "an error names a line of the file, or its end");
  fuzz::require(!error.reason.empty() && detail::is_utf8(error.reason), "an error is text");
}

/// The histories up to the first mistake.
std::vector<History> read(const std::string& text) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  std::istringstream in(text);
  LinesReader reader(in);
  std::vector<History> histories;
  for (;;) {
    auto header = reader.next_history();
    if (!header) return check(header.error(), lines), histories;
    if (!*header) return histories;
    History history{.header = **std::move(header)};
    for (;;) {
      auto turn = reader.next_turn();
      if (!turn) return check(turn.error(), lines), histories;
      if (!*turn) break;
      fuzz::require(SegmentCursor::open(**turn).has_value(), "a turn is a segment");
      history.segments.push_back(**std::move(turn));
    }
    histories.push_back(std::move(history));
  }
}

std::string write(const History& history) {
  LinesWriter writer;
  std::string text = LinesWriter::header(history.header);
  for (const std::string& segment : history.segments) {
    const auto lines = writer.turn(segment);
    fuzz::require(lines.has_value(), "what was read can be written");
    text += *lines;
  }
  return text + writer.end();
}

}  // namespace
}  // namespace holdfast::history

void holdfast::fuzz::run(std::string_view input) {
  using namespace holdfast::history;
  for (const History& history : read(std::string(input))) {
    const std::vector<History> again = read(write(history));
    require(again.size() == 1, "what was written can be read");
    require(again[0].header == history.header, "with the same header");
    require(again[0].segments == history.segments, "and the same bytes");
  }
}
