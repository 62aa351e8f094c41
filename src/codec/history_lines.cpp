#include "codec/history_lines.hpp"

#include "codec/history_json.hpp"
#include "codec/segment.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/json.hpp>

#include <array>
#include <functional>
#include <istream>
#include <limits>
#include <utility>
#include <vector>

namespace holdfast::history {

namespace {

constexpr std::string_view kLinesOf = "history";
constexpr std::uint64_t kLinesFormat = 1;
// A header holds three names of at most 255 bytes. What has a longer first line is something else, and may be
// of any size.
constexpr std::size_t kMaxHeader = 64U << 10U;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// The last four bytes of a segment, lowest first, as the number that they are.
std::string checksum_of(std::string_view segment) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 1; i <= 4; ++i) {
    const auto byte = static_cast<unsigned char>(segment[segment.size() - i]);
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

// The name of the first field: it says what a line is. Empty when the line is no object.
std::string first_field(std::string_view line) {
  JsonReader in(line);
  std::string_view key;
  if (!in.open('{', "object") || !in.next_key(key, true)) return {};
  return std::string(key);
}

using ReadValue = std::function<bool(JsonReader& in)>;
struct Field {
  std::string_view name;
  ReadValue read;
};
// Reads an object with these fields, each at most once. Empty, or what is wrong with it.
template <std::size_t N>
std::string read_fields_of(std::string_view line, const std::array<Field, N>& fields, bool others_are_fine) {
  JsonReader in(line);
  std::array<bool, N> seen{};
  const bool fine = in.object([&](std::string_view key) {
    for (std::size_t i = 0; i < N; ++i) {
      if (fields[i].name != key) continue;
      if (std::exchange(seen[i], true)) return in.fail("the field stands here twice");
      return fields[i].read(in);
    }
    return others_are_fine ? in.skip() : in.fail("there is no such field");
  });
  return fine && in.finish() ? std::string() : in.error();
}

ReadValue into_number(std::uint64_t& out) {
  return [&out](JsonReader& in) { return in.integer(out, std::numeric_limits<std::uint64_t>::max()); };
}
ReadValue into_text(std::string& out) {
  return [&out](JsonReader& in) { return in.string(out); };
}

// What is wrong with the names and numbers of a header; empty when nothing is.
std::string problem_of(const LinesHeader& header) {
  std::string problem = detail::name_problem("an instance", header.instance);
  if (problem.empty()) problem = detail::name_problem("an orchestration", header.orchestration);
  if (problem.empty() && !header.version.empty()) problem = detail::name_problem("a version", header.version);
  if (problem.empty() && header.execution.value == 0) problem = "executions are numbered from 1";
  return problem;
}

// The lines of the events, if reading them gives these very bytes again.
std::optional<std::string> event_lines(std::string_view segment) {
  const auto events = read_segment(segment);
  if (!events || events->empty()) return std::nullopt;
  std::string lines;
  SegmentWriter again(events->front().id);
  for (const Event& event : *events) {
    const std::string line = to_json(event);
    const auto parsed = parse_event_json(line, event.id);
    if (!parsed) return std::nullopt;
    again.add(parsed->body);
    lines.append(line).append("\n");
  }
  if (again.finish() != segment) return std::nullopt;
  return lines;
}

}  // namespace

// ---- writing ------------------------------------------------------------------------------------

std::string LinesWriter::header(const LinesHeader& header) {
  JsonWriter out;
  out.begin_object();
  out.key("holdfast");
  out.string(kLinesOf);
  out.key("format");
  out.integer(kLinesFormat);
  out.key("instance");
  out.string(header.instance);
  out.key("execution");
  out.integer(header.execution.value);
  out.key("orchestration");
  out.string(header.orchestration);
  out.key("version");
  out.string(header.version);
  out.end_object();
  return out.take() + "\n";
}

Result<std::string, std::string> LinesWriter::turn(std::string_view segment) {
  const auto cursor = SegmentCursor::open(segment);
  if (!cursor) return Unexpected(cursor.error());
  if (cursor->first_event().value != events_ + 1) {
    return Unexpected("this part of history begins with event " + to_string(cursor->first_event()) +
                      " where event " + std::to_string(events_ + 1) + " should stand");
  }
  const std::optional<std::string> lines = event_lines(segment);
  events_ += cursor->event_count();
  JsonWriter out;
  out.begin_object();
  out.key("turn");
  out.integer(++turns_);
  if (lines) {
    out.key("events");
    out.integer(cursor->event_count());
    out.key("crc32c");
    out.string(checksum_of(segment));
  } else {
    out.key("segment");
    out.bytes(segment);
  }
  out.end_object();
  return out.take() + "\n" + lines.value_or("");
}

std::string LinesWriter::end() const {
  JsonWriter out;
  out.begin_object();
  out.key("end");
  out.begin_object();
  out.key("turns");
  out.integer(turns_);
  out.key("events");
  out.integer(events_);
  out.end_object();
  out.end_object();
  return out.take() + "\n";
}

// ---- reading ------------------------------------------------------------------------------------

Unexpected<LinesError> LinesReader::error(std::string reason) const {
  return Unexpected(LinesError{number_, std::move(reason)});
}

Unexpected<LinesError> LinesReader::cut_off(std::string_view missing) const {
  return Unexpected(LinesError{
      number_ + 1, "the file ends where " + std::string(missing) + " should stand: it is cut off"});
}

// False at the end of the stream. A line over the limit is cut: it is none of ours.
bool LinesReader::read_line(std::size_t limit) {
  line_.clear();
  if (limit == kNoLimit) {
    if (!std::getline(in_, line_)) return false;
  } else {
    char c = 0;
    while (line_.size() < limit && in_.get(c) && c != '\n') line_.push_back(c);
    if (line_.empty() && !in_) return false;
  }
  ++number_;
  return true;
}

Result<std::optional<LinesHeader>, LinesError> LinesReader::next_history() {
  turns_ = 0;
  next_event_ = EventId{1};
  if (!read_line(kMaxHeader)) return std::optional<LinesHeader>();
  std::string what;
  std::uint64_t format = 0;
  LinesHeader header;
  if (first_field(line_) != "holdfast") {
    return error(
        "this is no exported history: its first line is not a header such as "
        R"({"holdfast":"history","format":1,...})");
  }
  // Fields that a later version may add are passed over.
  const std::array<Field, 6> fields{{{"holdfast", into_text(what)},
                                     {"format", into_number(format)},
                                     {"instance", into_text(header.instance)},
                                     {"execution", into_number(header.execution.value)},
                                     {"orchestration", into_text(header.orchestration)},
                                     {"version", into_text(header.version)}}};
  if (std::string problem = read_fields_of(line_, fields, true); !problem.empty())
    return error("the header: " + problem);
  if (what != kLinesOf)
    return error("this file holds a \"" + detail::quote(what) + "\" of Holdfast, and no history");
  if (format != kLinesFormat) {
    return error("this history has format " + std::to_string(format) +
                 ", which this version of Holdfast doesn't know: it was written by a newer version");
  }
  if (std::string problem = problem_of(header); !problem.empty()) return error("the header: " + problem);
  return std::optional(std::move(header));
}

Result<std::optional<std::string>, LinesError> LinesReader::next_turn() {
  if (!read_line(kNoLimit)) return cut_off("the next turn or the end");
  const std::string kind = first_field(line_);
  if (kind == "turn") return read_turn();
  if (kind == "end") return read_end();
  return error(kind == "event" ? "there is no turn for this event: its line is missing, or has fewer events"
                               : R"(expected a turn such as {"turn":1,"events":2}, or the end)");
}

Result<std::optional<std::string>, LinesError> LinesReader::read_turn() {
  std::uint64_t turn = 0;
  std::optional<std::uint64_t> count;
  std::string checksum;
  std::optional<std::string> segment;
  const std::array<Field, 4> fields{
      {{"turn", into_number(turn)},
       {"events", [&](JsonReader& in) { return into_number(count.emplace())(in); }},
       {"crc32c", into_text(checksum)},
       {"segment", [&](JsonReader& in) { return in.bytes(segment.emplace()); }}}};
  if (std::string problem = read_fields_of(line_, fields, false); !problem.empty()) return error(problem);
  if (turn != turns_ + 1) {
    return error("turn " + std::to_string(turn) + " stands where turn " + std::to_string(turns_ + 1) +
                 " is expected");
  }
  ++turns_;
  if (count.has_value() == segment.has_value())
    return error("a turn has either \"events\", how many follow, or a \"segment\"");
  if (count) return read_events(*count, checksum);
  const auto cursor = SegmentCursor::open(*segment);
  if (!cursor) return error(cursor.error());
  if (cursor->first_event() != next_event_) {
    return error("the segment begins with event " + to_string(cursor->first_event()) + " where event " +
                 to_string(next_event_) + " is expected");
  }
  next_event_.value += cursor->event_count();
  return segment;
}

Result<std::optional<std::string>, LinesError> LinesReader::read_end() {
  std::uint64_t turns = 0;
  std::uint64_t events = 0;
  const auto read_counts = [&](JsonReader& in) {
    std::string_view counts;
    if (!in.raw(counts)) return false;
    const std::array<Field, 2> fields{{{"turns", into_number(turns)}, {"events", into_number(events)}}};
    const std::string problem = read_fields_of(counts, fields, false);
    return problem.empty() || in.fail(problem);
  };
  const std::array<Field, 1> fields{{{"end", read_counts}}};
  if (std::string problem = read_fields_of(line_, fields, false); !problem.empty()) return error(problem);
  if (turns == turns_ && events + 1 == next_event_.value) return std::optional<std::string>();
  return error("the file says that it has " + std::to_string(turns) + " turns with " +
               std::to_string(events) + " events, and has " + std::to_string(turns_) + " with " +
               std::to_string(next_event_.value - 1) + ": some are missing, or were added");
}

Result<std::optional<std::string>, LinesError> LinesReader::read_events(std::uint64_t count,
                                                                        std::string_view checksum) {
  const std::uint64_t first_line = number_;
  SegmentWriter writer(next_event_);
  for (std::uint64_t i = 0; i < count; ++i, ++next_event_.value) {
    if (!read_line(kNoLimit)) return cut_off("event " + to_string(next_event_));
    Result<Event, std::string> event = parse_event_json(line_, next_event_);
    if (!event) {
      const std::string kind = first_field(line_);
      if (kind != "turn" && kind != "end") return error(std::move(event).error());
      return error("event " + to_string(next_event_) + " is missing: the turn says that it has " +
                   std::to_string(count) + " events");
    }
    writer.add(event->body);
  }
  std::string segment = writer.finish();
  // A file that was edited by hand leaves the checksum out.
  if (!checksum.empty() && checksum != checksum_of(segment)) {
    return Unexpected(LinesError{
        first_line, "the events of this turn have the checksum " + checksum_of(segment) + ", and not " +
                        detail::quote(checksum) +
                        ": they were changed, or damaged. If they were changed on purpose, leave out "
                        "\"crc32c\" here"});
  }
  return std::optional(std::move(segment));
}

}  // namespace holdfast::history
