#include "codec/segment.hpp"

#include "codec/binary.hpp"
#include "codec/crc32c.hpp"
#include "codec/history_samples_test.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace holdfast::history::segment_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// The segment with the checksum that belongs to its bytes, whatever they are.
std::string with_checksum(std::string bytes) {
  ByteWriter(bytes).fixed32(codec::crc32c(bytes));
  return bytes;
}

std::string error_of(std::string_view segment) {
  const auto cursor = SegmentCursor::open(segment);
  return cursor ? "" : cursor.error();
}

// The body of the only event of a segment with `body`.
template <class T>
std::string body_bytes(const T& body) {
  SegmentWriter writer(EventId{1});
  writer.add(body);
  const std::string segment = writer.finish();
  return std::string(SegmentCursor::open(segment)->next()->body);
}

template <class T>
Result<Body, std::string> decode_as(std::string_view bytes) {
  return decode_body({.id = {17}, .kind = kind_of<T>, .body = bytes});
}

template <class T>
std::string decode_error(std::string_view bytes) {
  const auto body = decode_as<T>(bytes);
  return body ? "" : body.error();
}

// ---- kinds --------------------------------------------------------------------------------------

// "... [T = holdfast::history::TurnStarted]" -> "turn_started"; g++ puts more behind a semicolon.
std::string snake_case(std::string_view pretty) {
  const std::size_t end = pretty.find_first_of(";]", pretty.find("T = "));
  const std::size_t begin = pretty.rfind("::", end) + 2;
  std::string name;
  for (const char c : pretty.substr(begin, end - begin)) {
    if (c >= 'A' && c <= 'Z' && !name.empty()) name.push_back('_');
    name.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
  }
  return name;
}
template <class T>
std::string type_name() {
  return snake_case(__PRETTY_FUNCTION__);
}

TEST(Kinds, AreTheIndexInBodyAndNamedLikeTheType) {
  EXPECT_EQ(kind_of<TurnStarted>, 0);
  EXPECT_EQ(kind_of<Completed>, 2);
  EXPECT_EQ(kind_of<ActivityScheduled>, 11);
  for (const Event& event : full_events()) {
    std::visit(
        [&]<class T>(const T&) {
          EXPECT_EQ(kind_of<T>, event.body.index());
          EXPECT_EQ(type_name<T>(), kind_name(event.body));
        },
        event.body);
  }
  EXPECT_EQ(kind_name(kind_of<SessionEventAwaited>), "session_event_awaited");
  EXPECT_EQ(kind_name(static_cast<std::uint8_t>(std::variant_size_v<Body>)), "");
  EXPECT_EQ(kind_name(std::uint8_t{255}), "");
}

// ---- writing and reading ------------------------------------------------------------------------

TEST(Segment, NumbersEventsFromTheFirstOn) {
  SegmentWriter writer(EventId{40});
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(writer.next_id(), EventId{40});
  EXPECT_EQ(writer.add(EventAwaited{.name = "a"}), EventId{40});
  EXPECT_EQ(writer.add(Body(EventAwaited{.name = "b"})), EventId{41});
  EXPECT_FALSE(writer.empty());
  EXPECT_EQ(writer.next_id(), EventId{42});

  const std::string segment = writer.finish();
  auto cursor = SegmentCursor::open(segment);
  ASSERT_TRUE(cursor.has_value());
  EXPECT_EQ(cursor->first_event(), EventId{40});
  EXPECT_EQ(cursor->event_count(), 2U);
  for (const char* const name : {"a", "b"}) {
    ASSERT_FALSE(cursor->done());
    const auto event = cursor->next();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->kind, kind_of<EventAwaited>);
    std::string_view read;
    ASSERT_TRUE(ByteReader(event->body).string(read));
    EXPECT_EQ(read, name);
  }
  EXPECT_TRUE(cursor->done());
}

TEST(Segment, AFinishedWriterGoesOnWithTheNextEvent) {
  SegmentWriter writer(EventId{1});
  writer.add(EventAwaited{.name = "a"});
  writer.finish();
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(writer.add(EventAwaited{.name = "b"}), EventId{2});
  const auto events = read_segment(writer.finish());
  ASSERT_TRUE(events.has_value());
  EXPECT_EQ(*events, number_events({2}, {EventAwaited{.name = "b"}}));
}

TEST(Segment, WithoutEventsIsOneToo) {
  SegmentWriter writer(EventId{9});
  const std::string segment = writer.finish();
  const auto cursor = SegmentCursor::open(segment);
  ASSERT_TRUE(cursor.has_value());
  EXPECT_TRUE(cursor->done());
  EXPECT_EQ(cursor->first_event(), EventId{9});
}

TEST(Segment, RoundTripOfEveryKindWithEveryField) {
  const auto again = read_segment(write_segment(full_events()));
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, full_events());
}

TEST(Segment, RoundTripOfEveryKindWithDefaults) {
  const auto again = read_segment(write_segment(default_events()));
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, default_events());
}

RC_GTEST_PROP(Segment, RoundTripOfAnyEvents, ()) {
  const std::vector<Event> events = *any_events();
  const std::string segment = write_segment(events);
  const auto again = read_segment(segment);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == events);
  RC_ASSERT(write_segment(*again) == segment);
}

TEST(Segment, SettingsAtTheirDefaultsCostOneByte) {
  const ActivityScheduled plain{.name = "charge", .input = {kBytesEncoding, "x"}};
  EXPECT_EQ(body_bytes(plain), "\6charge\0\1\1x"s);
}

TEST(Segment, NameOrSourceStandsFirst) {
  EXPECT_TRUE(body_bytes(Completed{.source = {300}, .value = {}}).starts_with("\xAC\x02"));
  EXPECT_TRUE(body_bytes(Failed{.source = {300}, .failure = {.message = "x"}}).starts_with("\xAC\x02"));
}

// ---- damage -------------------------------------------------------------------------------------

TEST(DamagedSegment, SaysWhatIsWrong) {
  const std::string good = write_segment(order_turn());
  EXPECT_EQ(error_of(""), "this is not a segment of history");
  EXPECT_EQ(error_of("HFH\x01"), "this is not a segment of history");
  EXPECT_EQ(error_of("{\"event\":1}"), "this is not a segment of history");
  EXPECT_EQ(
      error_of(with_checksum("HFH\x02")),
      "this segment of history has format 2, which this version of Holdfast doesn't know: it was written "
      "by a newer version, or is damaged");
  EXPECT_EQ(error_of(good + "x"),
            "the checksum of this segment of history is wrong: it is damaged or cut off");
  EXPECT_EQ(error_of(with_checksum("HFH\x01\x05")), "the header of this segment of history is malformed");
  EXPECT_EQ(error_of(with_checksum("HFH\x01\x00\x00"s)),
            "the event ids of this segment of history are out of range");
  EXPECT_EQ(error_of(with_checksum("HFH\x01" + std::string(9, '\xFF') + "\x01\x01")),
            "the event ids of this segment of history are out of range");
  EXPECT_EQ(error_of(with_checksum("HFH\x01\x05\x03\x00\x00\x00\x00"s)),
            "this segment of history is too short for its 3 events");
  EXPECT_EQ(error_of(with_checksum("HFH\x01\x05\x02\x00\x00\x00\x01"s)), "event 6: it is cut off");
  EXPECT_EQ(error_of(with_checksum("HFH\x01\x05\x01\x00\x00\x00"s)),
            "there are 1 bytes after the last event of this segment of history");
  EXPECT_EQ(error_of(good), "");
}

TEST(DamagedSegment, EveryTruncationIsFound) {
  const std::string good = write_segment(full_events());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(read_segment(std::string_view(good).substr(0, size)).has_value()) << size;
  }
}

TEST(DamagedSegment, EveryFlipInOneByteIsFound) {
  std::string bytes = write_segment(order_turn());
  for (char& byte : bytes) {
    const char before = byte;
    for (int flip = 1; flip < 256; ++flip) {
      byte = static_cast<char>(before ^ flip);
      ASSERT_FALSE(SegmentCursor::open(bytes).has_value())
          << "byte " << &byte - bytes.data() << " ^ " << flip;
    }
    byte = before;
  }
}

// Goes over whatever can be read of it.
void read_all(std::string_view segment) {
  static_cast<void>(read_segment(segment));
  auto cursor = SegmentCursor::open(segment);
  if (!cursor) return;
  while (!cursor->done()) {
    const auto event = cursor->next();
    ASSERT_TRUE(event.has_value()) << "open() has walked over it";
    const auto body = decode_body(*event);
    EXPECT_TRUE(body.has_value() || body.error().starts_with("event "));
  }
}

TEST(DamagedSegment, WithARightChecksumIsReadOrRefused) {
  const std::string good = write_segment(full_events());
  const std::string content = good.substr(0, good.size() - 4);
  for (std::size_t i = 0; i < content.size(); ++i) {
    read_all(with_checksum(content.substr(0, i)));
    for (const int value : {0, 1, 2, 0x40, 0x7F, 0x80, 0xFF}) {
      std::string damaged = content;
      damaged[i] = static_cast<char>(value);
      read_all(with_checksum(damaged));
    }
  }
}

TEST(DamagedBody, EveryTruncationAndManyChangesAreReadOrRefused) {
  for (const Event& event : full_events()) {
    const std::string good = std::visit([](const auto& body) { return body_bytes(body); }, event.body);
    const auto decode = [&](std::string_view bytes) {
      const auto body = decode_body({event.id, static_cast<std::uint8_t>(event.body.index()), bytes});
      if (!body) {
        EXPECT_TRUE(body.error().find(kind_name(event.body)) != std::string::npos) << body.error();
      }
    };
    for (std::size_t i = 0; i < good.size(); ++i) {
      decode(std::string_view(good).substr(0, i));
      std::string damaged = good;
      for (int value = 0; value < 256; ++value) {
        damaged[i] = static_cast<char>(value);
        decode(damaged);
      }
    }
  }
}

RC_GTEST_PROP(DamagedBody, OfAnyBytesIsReadOrRefused, (std::uint8_t kind, const std::string& bytes)) {
  const auto body = decode_body({{17}, static_cast<std::uint8_t>(kind % 32), bytes});
  const bool in_order = body.has_value() || body.error().starts_with("event 17");
  RC_ASSERT(in_order);
}

TEST(DamagedBody, SaysWhichFieldAndWhy) {
  EXPECT_EQ(decode_error<ActivityScheduled>("\7charge"),
            "event 17 (activity_scheduled): the name is cut off");
  EXPECT_EQ(decode_error<ActivityScheduled>("\x80\x00"s),
            "event 17 (activity_scheduled): the name is malformed");
  // An empty name, then settings with an empty queue, no session, and a timeout without its value.
  EXPECT_EQ(decode_error<ActivityScheduled>("\x00\x03\x00\x00\x01"s),
            "event 17 (activity_scheduled): the settings.timeout is cut off");
  EXPECT_EQ(decode_error<ActivityScheduled>("\x00\x02\x00\x02"s),
            "event 17 (activity_scheduled): the settings.session is malformed");
  EXPECT_EQ(decode_error<ActivityScheduled>("\x00\x07\x00\x00\x00\x00\x00\x80\x80"s),
            "event 17 (activity_scheduled): the settings.priority is cut off");
  EXPECT_EQ(decode_error<ActivityScheduled>("\x00\x0A\x00\x00\x00\x00\x00\x80\x80\x80\x80\x7F"s),
            "event 17 (activity_scheduled): the settings.priority is 17045651456, which is out of range");
  EXPECT_EQ(decode_error<Completed>("\5\3ab"), "event 17 (completed): the value is cut off");
  EXPECT_EQ(decode_error<Completed>("\5\4a b\0"s), "event 17 (completed): the value has an invalid encoding");
  EXPECT_EQ(decode_error<Failed>("\x05\x01\x63"s),
            "event 17 (failed): the failure.category is 99, which this version of Holdfast doesn't know");
  EXPECT_EQ(decode_error<Started>("\x00\x00\x00\x00\x00\x00\x02\x01k\x00\x00\x01k\x00\x00"s),
            "event 17 (started): the values has the same key twice");
}

TEST(DamagedBody, OfAnUnknownKindWasWrittenByANewerVersion) {
  const auto kind = static_cast<std::uint8_t>(std::variant_size_v<Body>);
  EXPECT_EQ(decode_body({.id = {17}, .kind = kind, .body = "x"}).error(),
            "event 17: it is of kind " + std::to_string(kind) +
                ", which this version of Holdfast doesn't know: this history was written by a newer version");
}

TEST(DamagedBody, CountsPromiseNoMoreThanThereIs) {
  const std::string huge = std::string(9, '\xFF') + '\x01';
  EXPECT_EQ(decode_error<Started>("\x00\x00\x00\x00\x00\x00"s + huge),
            "event 17 (started): the values is cut off");
  // A session whose requirements are without end.
  const std::string settings = "\x00\x00\x00"s + huge;
  EXPECT_EQ(decode_as<SessionOpened>(std::string(1, static_cast<char>(settings.size())) + settings).error(),
            "event 17 (session_opened): the settings.requirements is cut off");
}

// ---- causes -------------------------------------------------------------------------------------

Failure with_causes(int causes) {
  Failure failure{.message = "the first"};
  for (int i = 0; i < causes; ++i) {
    failure = {.message = "then", .cause = std::make_shared<const Failure>(std::move(failure))};
  }
  return failure;
}

TEST(Causes, AreKeptUpToALimit) {
  const ExecutionFailed most{.failure = with_causes(kMaxCauses)};
  EXPECT_EQ(*decode_as<ExecutionFailed>(body_bytes(most)), Body(most));

  const auto cut = decode_as<ExecutionFailed>(body_bytes(ExecutionFailed{with_causes(2000)}));
  ASSERT_TRUE(cut.has_value());
  int causes = 0;
  for (const Failure* at = &std::get<ExecutionFailed>(*cut).failure; at->cause; at = at->cause.get())
    ++causes;
  EXPECT_EQ(causes, kMaxCauses);
}

TEST(Causes, BeyondTheLimitAreRefusedWithoutDescending) {
  // Failures with nothing but a cause, one around the other. The innermost is cut off, which nobody gets to
  // see.
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) {
    std::string length;
    ByteWriter(length).varint(bytes.size());
    bytes.insert(0, "\x00\x00\x00\x00\x00\x00\x01\x00\x04null\x01"s + length);
  }
  std::string length;
  ByteWriter(length).varint(bytes.size());
  const auto body = decode_as<ExecutionFailed>(length + bytes);
  ASSERT_FALSE(body.has_value());
  EXPECT_TRUE(body.error().ends_with("cause has too many causes")) << body.error();
}

// ---- evolution ----------------------------------------------------------------------------------

namespace v1 {
struct Inner {
  int a = 0;
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  std::string name{};
  Inner inner{};
  int count = 3;
  friend bool operator==(const Outer&, const Outer&) = default;
};
}  // namespace v1

// The same, grown at both ends that may grow.
namespace v2 {
struct Inner {
  int a = 0;
  std::string b = "b";
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  std::string name{};
  Inner inner{};
  int count = 3;
  std::optional<int> more{};
  friend bool operator==(const Outer&, const Outer&) = default;
};
}  // namespace v2

template <class T>
std::string fields_bytes(const T& object) {
  std::string bytes;
  BinaryWriter out{.bytes = ByteWriter(bytes)};
  write_fields(out, object);
  return bytes;
}
template <class T>
T from_fields(std::string_view bytes) {
  BinaryReader in(bytes);
  T object{};
  EXPECT_TRUE(read_fields(in, object)) << in.error();
  return object;
}

TEST(Evolution, NewCodeReadsWhatOldCodeWrote) {
  EXPECT_EQ(from_fields<v2::Outer>(fields_bytes(v1::Outer{.name = "x", .inner = {.a = 5}, .count = 7})),
            (v2::Outer{.name = "x", .inner = {.a = 5, .b = "b"}, .count = 7, .more = {}}));
}

TEST(Evolution, OldCodeIgnoresWhatItDoesNotKnow) {
  EXPECT_EQ(from_fields<v1::Outer>(
                fields_bytes(v2::Outer{.name = "x", .inner = {.a = 5, .b = "new"}, .count = 7, .more = 9})),
            (v1::Outer{.name = "x", .inner = {.a = 5}, .count = 7}));
}

TEST(Evolution, ANewFieldAtItsDefaultChangesNoByte) {
  EXPECT_EQ(fields_bytes(v1::Outer{.name = "x", .inner = {.a = 5}, .count = 7}),
            fields_bytes(v2::Outer{.name = "x", .inner = {.a = 5}, .count = 7}));
  EXPECT_EQ(fields_bytes(v1::Outer{}), "");
}

TEST(Evolution, EveryBodyIgnoresSurplusBytes) {
  for (const Event& event : full_events()) {
    const std::string bytes = std::visit([](const auto& body) { return body_bytes(body); }, event.body);
    const auto body =
        decode_body({event.id, static_cast<std::uint8_t>(event.body.index()), bytes + "surplus"});
    ASSERT_TRUE(body.has_value()) << body.error();
    EXPECT_EQ(*body, event.body);
  }
}

TEST(Evolution, ABodyThatEndsEarlyLeavesTheOtherFieldsAtTheirDefaults) {
  EXPECT_EQ(*decode_as<ChildStarted>("\1c\1n"), Body(ChildStarted{.id = "c", .name = "n"}));
  for (std::uint8_t kind = 0; kind < std::variant_size_v<Body>; ++kind) {
    EXPECT_EQ(*decode_body({.id = {1}, .kind = kind, .body = ""}), default_events()[kind].body);
  }
}

// Bytes that are not there mean the default, so none of these may ever change. All others are empty or zero.
TEST(Evolution, DefaultsArePartOfTheFormat) {
  const Failure failure = std::get<Failed>(*decode_as<Failed>("")).failure;
  EXPECT_EQ(failure.category, Category::application);
  EXPECT_EQ(failure.attempt, 0);
  EXPECT_TRUE(failure.retryable);
  EXPECT_EQ(failure.details, (Payload{kJsonEncoding, "null"}));
  EXPECT_EQ(std::get<Completed>(*decode_as<Completed>("")).value, (Payload{kJsonEncoding, ""}));
  EXPECT_EQ(std::get<OperationCancelled>(*decode_as<OperationCancelled>("")).reason, CancelReason::dropped);
  EXPECT_EQ(std::get<ChildStarted>(*decode_as<ChildStarted>("")).on_parent_close, ParentClosePolicy::cancel);
  EXPECT_EQ(std::get<ActivityScheduled>(*decode_as<ActivityScheduled>("")).settings->priority, 0);
  EXPECT_FALSE(std::get<SessionOpened>(*decode_as<SessionOpened>("")).settings->outlives_opener);
}

// Their numbers are in the binary form.
TEST(Evolution, NumbersOfChoicesArePartOfTheFormat) {
  EXPECT_EQ(static_cast<int>(Category::timeout), 1);
  EXPECT_EQ(static_cast<int>(Category::session), 4);
  EXPECT_EQ(static_cast<int>(Category::store), 9);
  EXPECT_EQ(static_cast<int>(CancelReason::cancel_requested), 1);
  EXPECT_EQ(static_cast<int>(CancelReason::instance_deleted), 7);
  EXPECT_EQ(static_cast<int>(Backoff::exponential), 2);
  EXPECT_EQ(static_cast<int>(ParentClosePolicy::terminate), 2);
}

}  // namespace
}  // namespace holdfast::history::segment_test
