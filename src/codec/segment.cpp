#include "codec/segment.hpp"

#include "codec/binary.hpp"
#include "codec/crc32c.hpp"

#include <array>
#include <cassert>
#include <limits>
#include <utility>

namespace holdfast::history {

namespace {

constexpr std::string_view kMagic = "HFH";
constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kChecksumSize = 4;
// Kind and length of its body.
constexpr std::size_t kMinEventSize = 2;

// ---- one function per kind ----------------------------------------------------------------------

using WriteBody = void (*)(BinaryWriter& out, const void* body);
using ReadBody = bool (*)(BinaryReader& in, Body& body);

template <std::size_t Kind>
void write_body(BinaryWriter& out, const void* body) {
  write_fields(out, *static_cast<const std::variant_alternative_t<Kind, Body>*>(body));
}
template <std::size_t Kind>
bool read_body(BinaryReader& in, Body& body) {
  return read_fields(in, body.emplace<Kind>());
}

template <std::size_t... Kind>
constexpr std::array<WriteBody, sizeof...(Kind)> all_writers(std::index_sequence<Kind...>) {
  return {&write_body<Kind>...};
}
template <std::size_t... Kind>
constexpr std::array<ReadBody, sizeof...(Kind)> all_readers(std::index_sequence<Kind...>) {
  return {&read_body<Kind>...};
}
constexpr auto kWriters = all_writers(std::make_index_sequence<std::variant_size_v<Body>>{});
constexpr auto kReaders = all_readers(std::make_index_sequence<std::variant_size_v<Body>>{});

// ---- header and checksum ------------------------------------------------------------------------

// Why this is no segment that can be read here; empty when it is one. `content` is what stands between format
// and checksum.
std::string check_frame(std::string_view segment, std::string_view& content) {
  if (!segment.starts_with(kMagic) || segment.size() < kMagic.size() + 1 + kChecksumSize) {
    return "this is not a segment of history";
  }
  const auto format = static_cast<std::uint8_t>(segment[kMagic.size()]);
  if (format != kFormat) {
    return "this segment of history has format " + std::to_string(format) +
           ", which this version of Holdfast doesn't know: it was written by a newer version, or is damaged";
  }
  const std::string_view checked = segment.substr(0, segment.size() - kChecksumSize);
  std::uint32_t checksum = 0;
  ByteReader(segment.substr(checked.size())).fixed32(checksum);
  if (codec::crc32c(checked) != checksum) {
    return "the checksum of this segment of history is wrong: it is damaged or cut off";
  }
  content = checked.substr(kMagic.size() + 1);
  return {};
}

}  // namespace

// ---- writing ------------------------------------------------------------------------------------

SegmentWriter::SegmentWriter(EventId first) : first_(first) { assert(first.value > 0); }

void SegmentWriter::begin() {
  // Room for a turn as most are: some completions and what the code starts next.
  constexpr std::size_t kUsualSize = 400;
  segment_.reserve(kUsualSize);
  segment_.append(kMagic);
  ByteWriter out(segment_);
  out.byte(kFormat);
  out.varint(first_.value);
  count_at_ = segment_.size();
  out.byte(0);
}

EventId SegmentWriter::add_event(std::uint8_t kind, const void* body) {
  if (empty()) begin();
  const EventId id = next_id();
  BinaryWriter out{.bytes = ByteWriter(segment_)};
  out.bytes.byte(kind);
  const std::size_t block = out.bytes.begin_block();
  kWriters[kind](out, body);
  out.bytes.end_block(block);
  ++count_;
  return id;
}

std::string SegmentWriter::finish() {
  if (empty()) begin();
  ByteWriter out(segment_);
  out.fill_in(count_at_, count_);
  out.fixed32(codec::crc32c(segment_));
  first_ = next_id();
  count_ = 0;
  return std::exchange(segment_, {});
}

// ---- reading ------------------------------------------------------------------------------------

Unexpected<std::string> SegmentCursor::cut_off(EventId event) {
  return Unexpected("event " + to_string(event) + ": it is cut off");
}

Result<SegmentCursor, std::string> SegmentCursor::open(std::string_view segment) {
  std::string_view content;
  if (std::string problem = check_frame(segment, content); !problem.empty()) {
    return Unexpected(std::move(problem));
  }
  SegmentCursor cursor;
  cursor.in_ = ByteReader(content);
  if (!cursor.in_.varint(cursor.first_.value) || !cursor.in_.varint(cursor.count_)) {
    return Unexpected(std::string("the header of this segment of history is malformed"));
  }
  const bool ids_fit = cursor.first_.value > 0 &&
                       cursor.count_ <= std::numeric_limits<std::uint64_t>::max() - cursor.first_.value;
  if (!ids_fit) return Unexpected(std::string("the event ids of this segment of history are out of range"));
  if (cursor.count_ > cursor.in_.left() / kMinEventSize) {
    return Unexpected("this segment of history is too short for its " + std::to_string(cursor.count_) +
                      " events");
  }
  SegmentCursor walk = cursor;
  while (!walk.done()) {
    if (auto event = walk.next(); !event) return Unexpected(std::move(event).error());
  }
  if (!walk.in_.done()) {
    return Unexpected("there are " + std::to_string(walk.in_.left()) +
                      " bytes after the last event of this segment of history");
  }
  return cursor;
}

Result<Body, std::string> decode_body(const RawEvent& event) {
  if (event.kind >= kReaders.size()) {
    return Unexpected(
        "event " + to_string(event.id) + ": it is of kind " + std::to_string(event.kind) +
        ", which this version of Holdfast doesn't know: this history was written by a newer version");
  }
  BinaryReader in(event.body);
  Body body;
  const ReadBody read = kReaders[event.kind];
  if (read(in, body)) return body;
  return Unexpected("event " + to_string(event.id) + " (" + std::string(kind_name(event.kind)) +
                    "): " + in.error());
}

Result<std::vector<Event>, std::string> read_segment(std::string_view segment) {
  Result<SegmentCursor, std::string> cursor = SegmentCursor::open(segment);
  if (!cursor) return Unexpected(std::move(cursor).error());
  std::vector<Event> events;
  // Its size is checked against the bytes that are there.
  events.reserve(cursor->event_count());
  while (!cursor->done()) {
    const Result<RawEvent, std::string> raw = cursor->next();
    if (!raw) return Unexpected(raw.error());
    Result<Body, std::string> body = decode_body(*raw);
    if (!body) return Unexpected(std::move(body).error());
    events.push_back({.id = raw->id, .body = *std::move(body)});
  }
  return events;
}

}  // namespace holdfast::history
