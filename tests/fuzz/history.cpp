// Any bytes as history: as a segment, as one whose checksum is right, and as JSON. What can be read must be
// written and read again with the same outcome in both forms; what can't must say why, in valid UTF-8.
#include "base/utf8.hpp"
#include "codec/bytes.hpp"
#include "codec/crc32c.hpp"
#include "codec/history_json.hpp"
#include "codec/segment.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::history {
namespace {

using Events = Result<std::vector<Event>, std::string>;

std::string write_segment(const std::vector<Event>& events) {
  SegmentWriter writer(events.front().id);
  for (const Event& event : events) writer.add(event.body);
  return writer.finish();
}

// Texts and bytes are compared, not events: what isn't a number doesn't equal itself.
void check(const Events& events) {
  if (!events) {
    fuzz::require(!events.error().empty() && detail::is_utf8(events.error()), "an error is text");
    return;
  }
  if (events->empty()) return;
  const std::string segment = write_segment(*events);
  const Events from_segment = read_segment(segment);
  fuzz::require(from_segment.has_value(), "what was written can be read");
  fuzz::require(write_segment(*from_segment) == segment, "what was read is written with the same bytes");

  const std::string json = history_json(*events);
  const Events from_json = parse_history_json(json);
  fuzz::require(from_json.has_value(), "what was written as JSON can be read");
  fuzz::require(history_json(*from_json) == json, "what was read is written as the same JSON");
}

// Walks over a segment as replay does.
void walk(std::string_view segment) {
  auto cursor = SegmentCursor::open(segment);
  if (!cursor) return;
  std::uint64_t passed = 0;
  for (; !cursor->done(); ++passed) {
    const auto event = cursor->next();
    fuzz::require(event.has_value(), "a segment that was opened can be walked over");
    fuzz::require(event->id.value == cursor->first_event().value + passed, "events have consecutive ids");
    const auto body = decode_body(*event);
    fuzz::require(body.has_value() || detail::is_utf8(body.error()), "an error is text");
  }
  fuzz::require(passed == cursor->event_count(), "there are as many events as the header says");
}

}  // namespace
}  // namespace holdfast::history

void holdfast::fuzz::run(std::string_view input) {
  using namespace holdfast::history;
  check(read_segment(input));
  check(parse_history_json(input));

  std::string segment(input.substr(0, input.size() - std::min<std::size_t>(input.size(), 4)));
  ByteWriter(segment).fixed32(codec::crc32c(segment));
  walk(segment);
  check(read_segment(segment));
}
