#include "client/history_events.hpp"

#include "codec/binary.hpp"
#include "codec/crc32c.hpp"
#include "codec/history_json.hpp"
#include "codec/history_text.hpp"
#include "codec/segment.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace holdfast::history::history_events_test {
namespace {

using namespace std::chrono_literals;
using Kind = HistoryEvent::Kind;

constexpr CalendarTime kNoon = std::chrono::sys_days{std::chrono::year{2030} / 3 / 14} + 12h;

std::string write_segment(std::vector<Body> bodies) {
  SegmentWriter writer(EventId{1});
  for (const Body& body : bodies) writer.add(body);
  return writer.finish();
}

std::vector<HistoryEvent> events_of(const std::string& segment) {
  std::vector<HistoryEvent> events;
  const auto added = append_events(segment, events);
  EXPECT_TRUE(added.has_value()) << added.error();
  return events;
}

HistoryEvent event_of(Body body) {
  return events_of(write_segment({TurnStarted{.time = kNoon}, std::move(body)})).back();
}

TEST(HistoryEvents, ShowWhatStartedAnOperationAndHowItEnded) {
  const HistoryEvent scheduled = event_of(ActivityScheduled{
      .name = "charge",
      .settings =
          detail::ActivitySettings{.queue = "payments", .session = detail::SessionSettings{.id = "s-1"}},
      .input = {kJsonEncoding, "[\"o1\",5]"}});
  EXPECT_EQ(scheduled.kind, Kind::activity_scheduled);
  EXPECT_EQ(scheduled.id, EventId{2});
  EXPECT_EQ(scheduled.time, kNoon);
  EXPECT_EQ(scheduled.name, "charge");
  EXPECT_EQ(scheduled.queue, "payments");
  EXPECT_EQ(scheduled.session, "s-1");
  EXPECT_EQ((scheduled.payload_as<std::tuple<std::string, int>>()), (std::tuple("o1", 5)));
  EXPECT_EQ(scheduled.text(), "charge [\"o1\",5] session=s-1 queue=payments");
  EXPECT_EQ(scheduled.json(),
            R"({"event":2,"kind":"activity_scheduled","name":"charge","settings":{"queue":"payments",)"
            R"("worker_session":{"session_id":"s-1"}},"input":["o1",5]})");
  EXPECT_THROW(static_cast<void>(scheduled.payload_as<int>()), DecodeError);

  const HistoryEvent completed = event_of(Completed{.source = {7}, .value = {kJsonEncoding, "3"}});
  EXPECT_EQ(completed.source, EventId{7});
  EXPECT_EQ(completed.payload_as<int>(), 3);
  const HistoryEvent failed = event_of(Failed{.source = {7}, .failure = {.message = "declined"}});
  EXPECT_EQ(failed.source, EventId{7});
  EXPECT_EQ(failed.failure->message, "declined");
  EXPECT_EQ(failed.payload_as<int>(), std::nullopt);
  const HistoryEvent dropped = event_of(OperationCancelled{.source = {7}});
  EXPECT_EQ(dropped.source, EventId{7});
  EXPECT_EQ(dropped.reason, "dropped");
}

TEST(HistoryEvents, ShowWhoElseTheyAreAbout) {
  EXPECT_EQ(event_of(Started{.name = "ship", .version = "2", .parent = Parent{.instance = "order"}}).instance,
            "order");
  const HistoryEvent child = event_of(ChildStarted{.id = "ship-1", .name = "ship", .version = "2"});
  EXPECT_EQ(child.instance + " " + child.name + " " + child.version, "ship-1 ship 2");
  const HistoryEvent sent = event_of(MessageSent{.instance = "shop", .name = "sold"});
  EXPECT_EQ(sent.instance + " " + sent.name, "shop sold");
  const HistoryEvent read = event_of(ValueRead{.instance = "shop", .key = "stock"});
  EXPECT_EQ(read.instance + " " + read.name, "shop stock");
  EXPECT_EQ(event_of(CancelSent{.instance = "shop", .reason = "sold"}).reason, "sold");
  EXPECT_EQ(event_of(Patched{.id = "check-stock"}).name, "check-stock");
  const HistoryEvent set = event_of(AttributeSet{"cents", AttributeType::integer, std::int64_t{5}});
  EXPECT_EQ(set.name, "cents");
  EXPECT_EQ(set.payload_as<int>(), 5);
  EXPECT_EQ(set.text(), "cents 5");
  const HistoryEvent cleared = event_of(AttributeSet{"cents", AttributeType::integer, std::nullopt});
  EXPECT_FALSE(cleared.payload);
  EXPECT_EQ(cleared.text(), "cents (cleared integer)");
  EXPECT_EQ(event_of(SessionOpened{.settings = detail::SessionSettings{.id = "s"}}).session, "s");
}

TEST(HistoryEvents, WithoutAValueHaveNoPayload) {
  EXPECT_FALSE(event_of(ValueSet{.key = "k"}).payload);
  EXPECT_FALSE(event_of(MessageTried{.mailbox = "box"}).payload);
  EXPECT_EQ(event_of(ValueSet{.key = "k", .value = Payload{kJsonEncoding, "null"}}).payload->bytes, "null");
  const HistoryEvent threw =
      event_of(SideEffectRecorded{.failure = std::optional(Failure{.message = "no file"})});
  EXPECT_FALSE(threw.payload);
  EXPECT_EQ(threw.failure->message, "no file");
}

TEST(HistoryEvents, OfEveryKindAreShownAsTheyAreInFiles) {
  std::set<std::string_view> kinds;
  for (const auto& file : std::filesystem::directory_iterator("tests/histories/recorded")) {
    std::ifstream in(file.path());
    const std::string json(std::istreambuf_iterator<char>(in), {});
    const std::vector<Event> recorded = parse_history_json(json).value();
    std::vector<Body> bodies;
    for (const Event& event : recorded) bodies.push_back(event.body);
    const std::vector<HistoryEvent> events = events_of(write_segment(bodies));
    ASSERT_EQ(events.size(), recorded.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      kinds.insert(to_string(events[i].kind));
      EXPECT_EQ(to_string(events[i].kind), kind_name(recorded[i].body));
      EXPECT_EQ(events[i].json(), to_json(recorded[i]));
      EXPECT_EQ(events[i].text(), summary(recorded[i].body));
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(Kind::unknown));
}

TEST(HistoryEvents, OfANewerVersionAreShownAsUnknown) {
  std::string segment("HFH\x01\x01\x01", 6);
  ByteWriter out(segment);
  out.byte(200);
  out.string("later");
  out.fixed32(codec::crc32c(segment));
  const std::vector<HistoryEvent> events = events_of(segment);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::unknown);
  EXPECT_EQ(to_string(events[0].kind), "unknown");
  EXPECT_EQ(events[0].text(), "of kind 200, which only newer versions of Holdfast know");
  EXPECT_EQ(events[0].json(), R"({"event":1,"kind":200,"body":{"$b64":"bGF0ZXI="}})");
}

TEST(HistoryEvents, ThatCantBeReadAreAnError) {
  std::vector<HistoryEvent> events;
  EXPECT_EQ(append_events("nonsense", events).error(), "this is not a segment of history");
  std::string segment("HFH\x01\x09\x01", 6);
  ByteWriter out(segment);
  out.byte(kind_of<ActivityScheduled>);
  out.string("\x7f");
  out.fixed32(codec::crc32c(segment));
  EXPECT_EQ(append_events(segment, events).error(), "event 9 (activity_scheduled): the name is cut off");
  EXPECT_TRUE(events.empty());
}

TEST(HistoryEvents, MadeByHandHaveNoTextOfTheirOwn) {
  const HistoryEvent event{.id = {1}, .kind = Kind::timer_started};
  EXPECT_EQ(event.text(), "");
  EXPECT_EQ(event.json(), "null");
}

}  // namespace
}  // namespace holdfast::history::history_events_test
