#include "codec/history_json.hpp"

#include "codec/history_samples_test.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace holdfast::history::history_json_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr CalendarTime kNewYear = std::chrono::sys_days{std::chrono::year{2030} / std::chrono::January / 1};

std::string json_of(Body body) { return to_json({.id = {7}, .body = std::move(body)}); }

std::string error_of(std::string_view json) {
  const auto events = parse_history_json(json);
  return events ? "" : events.error();
}

Body parse_one(const std::string& json) {
  const auto events = parse_history_json("[" + json + "]");
  EXPECT_TRUE(events.has_value()) << events.error();
  return events ? events->at(0).body : Body();
}

// ---- what it looks like -------------------------------------------------------------------------

TEST(HistoryJson, ShowsPayloadsAsValuesAndLeavesOutDefaults) {
  EXPECT_EQ(json_of(ActivityScheduled{.name = "charge", .input = {kJsonEncoding, R"({"cents":1200})"}}),
            R"({"event":7,"kind":"activity_scheduled","name":"charge","input":{"cents":1200}})");
  EXPECT_EQ(json_of(ActivityScheduled{
                .name = "charge",
                .settings = detail::ActivitySettings{.timeout = 90s, .retry = {.max_attempts = 2}},
                .input = {kBytesEncoding, "\xFF"}}),
            R"({"event":7,"kind":"activity_scheduled","name":"charge",)"
            R"("settings":{"timeout":"PT1M30S","retry":{"max_attempts":2}},)"
            R"("input":{"encoding":"bytes","$b64":"/w=="}})");
}

TEST(HistoryJson, ShowsTimesAsRfc3339) {
  EXPECT_EQ(json_of(TimerStarted{.due = kNewYear + 1ms}),
            R"({"event":7,"kind":"timer_started","due":"2030-01-01T00:00:00.001Z"})");
}

TEST(HistoryJson, ShowsNumbersTimesAndChoicesOfAnEventAlsoAtTheirDefault) {
  EXPECT_EQ(json_of(OperationCancelled{.source = {3}}),
            R"({"event":7,"kind":"operation_cancelled","source":3,"reason":"dropped"})");
  EXPECT_EQ(json_of(TurnStarted{}), R"({"event":7,"kind":"turn_started","time":"1970-01-01T00:00:00Z"})");
}

TEST(HistoryJson, ShowsFailuresWithTheirCauses) {
  const Failure root{.category = Category::timeout, .message = "no answer"};
  EXPECT_EQ(json_of(Failed{.source = {3},
                           .failure = {.type = "card_declined",
                                       .message = "no money",
                                       .source = "activity charge",
                                       .event = {3},
                                       .attempt = 2,
                                       .retryable = false,
                                       .cause = std::make_shared<const Failure>(root)}}),
            R"({"event":7,"kind":"failed","source":3,"failure":{"category":"application",)"
            R"("type":"card_declined","message":"no money","source":"activity charge","event":3,"attempt":2,)"
            R"("retryable":false,"cause":{"category":"timeout","message":"no answer"}}})");
}

TEST(HistoryJson, ShowsTheSessionOfAnActivityAsItsPolicyIsSpelledElsewhere) {
  const detail::SessionSettings session{.id = "gpu-1",
                                        .queue = "gpu",
                                        .connection = "cuda:0",
                                        .requirements = {"gpu:l4"},
                                        .lease = 30s,
                                        .idle_timeout = never,
                                        .ttl = 1500ms,
                                        .max_concurrent_activities = 1,
                                        .create_if_missing = true,
                                        .allow_reacquire_after_failure = false};
  EXPECT_EQ(
      json_of(ActivityScheduled{.name = "render", .settings = detail::ActivitySettings{.session = session}}),
      R"({"event":7,"kind":"activity_scheduled","name":"render","settings":{"worker_session":)"
      R"({"session_id":"gpu-1","queue":"gpu","connection":"cuda:0","requirements":["gpu:l4"],)"
      R"("lease_seconds":30,"idle_seconds":"never","ttl_seconds":1.5,"max_concurrent_activities":1,)"
      R"("create_if_missing":true,"allow_reacquire_after_failure":false}}})");
  EXPECT_EQ(
      json_of(SessionOpened{.settings = detail::SessionSettings{.id = "gpu-1", .outlives_opener = true}}),
      R"({"event":7,"kind":"session_opened","settings":{"session_id":"gpu-1","outlives_opener":true}})");
}

TEST(HistoryJson, HasALineForEachEvent) {
  const auto events = number_events({3}, {EventAwaited{.name = "a"}, EventAwaited{.name = "b"}});
  EXPECT_EQ(history_json(events),
            "[\n"
            "{\"event\":3,\"kind\":\"event_awaited\",\"name\":\"a\"},\n"
            "{\"event\":4,\"kind\":\"event_awaited\",\"name\":\"b\"}\n"
            "]\n");
  EXPECT_EQ(history_json({}), "[]\n");
}

// ---- and back -----------------------------------------------------------------------------------

TEST(HistoryJson, RoundTripOfEveryKind) {
  for (const auto& events : {full_events(), default_events(), order_turn(), std::vector<Event>()}) {
    const auto again = parse_history_json(history_json(events));
    ASSERT_TRUE(again.has_value()) << again.error();
    EXPECT_EQ(*again, events);
  }
}

RC_GTEST_PROP(HistoryJson, RoundTripOfAnyEvents, ()) {
  const std::vector<Event> events = *any_events();
  const std::string json = history_json(events);
  RC_ASSERT(std::count(json.begin(), json.end(), '\n') == static_cast<std::ptrdiff_t>(events.size()) + 2);
  const auto again = parse_history_json(json);
  if (!again) RC_FAIL(again.error());
  RC_ASSERT(*again == events);
}

// Payloads come back byte by byte, also those that look like something else.
TEST(HistoryJson, KeepsTheBytesOfPayloads) {
  for (const std::string& bytes :
       {"null"s, ""s, " 1"s, "1 "s, "[1,\n2]"s, "{\"a\": 1}"s, "\"\xFF\""s, "1],[2"s, "nul"s,
        R"({"encoding":"json","$b64":"AA=="})"s, R"({"$b64":"AA==","encoding":"json"})"s,
        R"({"encoding":"json","$b64":"AA==","x":1})"s, R"({"$b64":"AA=="})"s,
        std::string(500, '[') + std::string(500, ']'), "\"\x00\""s}) {
    const Body body = MessageTried{.mailbox = "m", .value = Payload{kJsonEncoding, bytes}};
    EXPECT_EQ(parse_one(json_of(body)), body) << bytes;
  }
}

TEST(HistoryJson, TellsNoValueFromNull) {
  EXPECT_EQ(parse_one(R"({"kind":"value_set","key":"k"})"), Body(ValueSet{.key = "k", .value = {}}));
  EXPECT_EQ(parse_one(R"({"kind":"value_set","key":"k","value":null})"),
            Body(ValueSet{.key = "k", .value = Payload{kJsonEncoding, "null"}}));
}

TEST(HistoryJson, CanBeWrittenByHand) {
  const auto events = parse_history_json(R"([
    {"kind": "turn_started", "time": "2030-01-01T01:00:00+01:00"},
    {"kind": "started", "name": "order", "input": {"id": "o1"}, "values": {"a": 1}, "parent": null},
    {"kind": "activity_scheduled", "name": "charge",
     "settings": {"worker_session": {"session_id": "s", "lease_seconds": 0.25, "idle_seconds": null},
                  "timeout": "never"}},
    {"kind": "child_started", "id": "c", "on_parent_close": "abandon"}
  ])");
  ASSERT_TRUE(events.has_value()) << events.error();
  EXPECT_EQ(
      *events,
      number_events({1}, {TurnStarted{.time = kNewYear},
                          Started{.name = "order",
                                  .input = {kJsonEncoding, "{\"id\": \"o1\"}"},
                                  .values = {{"a", {kJsonEncoding, "1"}}}},
                          ActivityScheduled{
                              .name = "charge",
                              .settings = detail::ActivitySettings{.session = {{.id = "s", .lease = 250ms}},
                                                                   .timeout = never}},
                          ChildStarted{.id = "c", .on_parent_close = ParentClosePolicy::abandon}}));
}

TEST(HistoryJson, NumbersGoOnFromTheOneThatIsGiven) {
  const auto events = parse_history_json(R"([{"event":7,"kind":"event_awaited"},{"kind":"event_awaited"},
                                             {"event":9,"kind":"event_awaited"}])");
  ASSERT_TRUE(events.has_value()) << events.error();
  EXPECT_EQ(events->back().id, EventId{9});
  EXPECT_EQ(error_of(R"([{"event":7,"kind":"event_awaited"},{"event":9,"kind":"event_awaited"}])"),
            "event 9 stands where event 8 is expected: events are numbered one after the other");
  EXPECT_EQ(error_of(R"([{"event":0,"kind":"event_awaited"}])"), "event 0: events are numbered from 1");
}

TEST(HistoryJson, ErrorsNameTheEventAndTheField) {
  EXPECT_EQ(error_of("{}"), "expected an array of events, found an object");
  EXPECT_EQ(error_of("[{]"), "event 1: malformed JSON: expected a key in quotes at byte 2, found ']'");
  EXPECT_EQ(error_of("[1]"), "event 1: expected object, found number 1");
  EXPECT_EQ(error_of("[{}]"), "event 1: it has no \"kind\"");
  EXPECT_EQ(error_of(R"([{"event":5,"kind":"timer"}])"),
            "event 5: there is no kind \"timer\" in this version of Holdfast");
  EXPECT_EQ(error_of(R"([{"kind":"timer_started","due":5}])"),
            "event 1 (timer_started): due: expected a time such as \"2026-11-15T04:36:02Z\", found number 5");
  EXPECT_EQ(
      error_of(R"([{"kind":"activity_scheduled","settings":{"retry":{"max_attempts":"x"}}}])"),
      "event 1 (activity_scheduled): settings.retry.max_attempts: expected integer, found string \"x\"");
  EXPECT_EQ(error_of(R"([{"kind":"activity_scheduled","settings":{"session":{}}}])"),
            "event 1 (activity_scheduled): settings.session: there is no such field; there are queue, "
            "worker_session, timeout, schedule_to_start, retry, priority, connection");
  EXPECT_EQ(error_of(R"([{"kind":"timer_started","deu":5}])"),
            "event 1 (timer_started): deu: there is no such field; there are event, kind, due");
  EXPECT_EQ(error_of(R"([{"kind":"event_awaited","name":"a","name":"b"}])"),
            "event 1 (event_awaited): name: the field stands here twice");
  EXPECT_EQ(error_of(R"([{"kind":"failed","failure":{"category":12}}])"),
            "event 1 (failed): failure.category: expected the name of a choice, found number 12");
  EXPECT_EQ(
      error_of(R"([{"kind":"session_opened","settings":{"ttl_seconds":"1"}}])"),
      "event 1 (session_opened): settings.ttl_seconds: expected a number of seconds, to the microsecond and "
      "without an exponent, or \"never\"");
  EXPECT_EQ(error_of(R"([{"kind":"completed","value":{"encoding":"bytes","$b64":"?"}}])"),
            "event 1 (completed): value: $b64: expected base64 text");
  EXPECT_EQ(error_of("[] x"), "malformed JSON: expected the end of the text at byte 3, found 'x'");
}

TEST(HistoryJson, CutsAndRefusesFailuresWithTooManyCauses) {
  Failure failure{.message = "the first"};
  for (int i = 0; i < 2000; ++i) {
    failure = {.message = "then", .cause = std::make_shared<const Failure>(std::move(failure))};
  }
  const Body cut = parse_one(json_of(ExecutionFailed{.failure = failure}));
  int causes = 0;
  for (const Failure* at = &std::get<ExecutionFailed>(cut).failure; at->cause; at = at->cause.get()) ++causes;
  EXPECT_EQ(causes, kMaxCauses);

  std::string nested = "{}";
  for (int i = 0; i <= kMaxCauses; ++i) nested = R"({"cause":)" + nested + "}";
  const std::string error = error_of(R"([{"kind":"execution_failed","failure":)" + nested + "}]");
  EXPECT_TRUE(error.ends_with("has too many causes")) << error;
}

}  // namespace
}  // namespace holdfast::history::history_json_test
