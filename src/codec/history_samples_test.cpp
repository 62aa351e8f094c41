#include "codec/history_samples_test.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::history {

using namespace std::chrono_literals;

namespace {

constexpr CalendarTime kNoon = std::chrono::sys_days{std::chrono::year{2030} / std::chrono::March / 14} + 12h;

Payload json(std::string text) { return {kJsonEncoding, std::move(text)}; }

Failure full_failure() {
  const Failure root{.category = Category::timeout,
                     .type = "connect_timeout",
                     .message = "no answer from the bank",
                     .source = "activity connect",
                     .event = {3},
                     .attempt = 1,
                     .retryable = false,
                     .details = {kBytesEncoding, std::string("\x00\xFF", 2)}};
  return {.category = Category::session,
          .type = "session_lost",
          .message = "the worker is gone",
          .source = "activity charge",
          .event = {70'000},
          .attempt = 4,
          .retryable = false,
          .details = json(R"({"owner":"w-1"})"),
          .cause = std::make_shared<const Failure>(root)};
}

detail::SessionSettings full_session() {
  return {.id = "gpu-render",
          .queue = "gpu",
          .connection = "cuda:0",
          .requirements = {"gpu:l4", "nvme"},
          .lease = 30s,
          .idle_timeout = never,
          .ttl = 1800500ms,
          .max_concurrent_activities = 2,
          .create_if_missing = true,
          .allow_reacquire_after_failure = false,
          .outlives_opener = true};
}

detail::ActivitySettings full_settings() {
  return {.queue = "payments",
          .session = full_session(),
          .timeout = 5min,
          .schedule_to_start = 1500ms,
          .retry = {.max_attempts = 4,
                    .backoff = Backoff::linear,
                    .first_delay = 100ms,
                    .factor = 2.5,
                    .max_delay = 30s,
                    .jitter = 0.1,
                    .total_deadline = never,
                    .non_retryable = {"card_declined", "fraud"}},
          .priority = -3};
}

template <std::size_t... Kind>
std::vector<Body> default_bodies(std::index_sequence<Kind...>) {
  return {Body(std::in_place_index<Kind>)...};
}

}  // namespace

std::vector<Event> number_events(EventId first, std::vector<Body> bodies) {
  std::vector<Event> events;
  for (Body& body : bodies) {
    events.push_back({.id = first, .body = std::move(body)});
    ++first.value;
  }
  return events;
}

std::vector<Event> full_events() {
  std::vector<Body> bodies;
  bodies.emplace_back(TurnStarted{.time = kNoon + 250us, .build = "2030.3.1"});
  bodies.emplace_back(Started{
      .name = "order",
      .version = "1.2.0",
      .input = json(R"({"id":"o1","note":"caf\u00e9"})"),
      .seed = std::numeric_limits<std::uint64_t>::max(),
      .parent = Parent{.instance = "shop", .execution = {2}, .event = {300}, .key = {70}},
      .values = {{"empty", Payload{}}, {"seen", json("[1,2]")}},
      .cancel_requested = "closed",
      .history_budget = 10000,
      .limits = ExecutionLimits{.payload_bytes = 4194304,
                                .history_events = 50000,
                                .history_bytes = 67108864,
                                .open_operations = 10000,
                                .values = 1000,
                                .values_bytes = 1048576},
      .retrying = Retrying{.policy = full_settings().retry,
                           .attempt = 2,
                           .first_start = kNoon - 1h,
                           .not_before = kNoon + 1s},
      .seed_high = 1234567890123,
      .attributes = {
          {"cents", std::int64_t{-1200}}, {"due", CalendarTime(Duration(1'500'000))}, {"late", true}}});
  bodies.emplace_back(Completed{.source = {128}, .value = json("\"paid\"")});
  bodies.emplace_back(Failed{.source = {129}, .failure = full_failure()});
  bodies.emplace_back(CancelRequested{.reason = "the customer left"});
  bodies.emplace_back(ExecutionCompleted{.output = json("null")});
  bodies.emplace_back(ExecutionFailed{.failure = full_failure()});
  bodies.emplace_back(ExecutionCancelled{.failure = full_failure()});
  bodies.emplace_back(ExecutionTerminated{.reason = "by hand"});
  bodies.emplace_back(ContinuedAsNew{.version = "2.0.0", .input = json("{\"page\":2}")});
  bodies.emplace_back(OperationCancelled{.source = {12}, .reason = CancelReason::continued_as_new});
  bodies.emplace_back(
      ActivityScheduled{.name = "charge", .settings = full_settings(), .input = json("{\"cents\": 1200}")});
  bodies.emplace_back(TimerStarted{.due = kNoon + 24h});
  bodies.emplace_back(EventAwaited{.name = "decision"});
  bodies.emplace_back(MessageAwaited{.mailbox = "orders"});
  bodies.emplace_back(ChildStarted{.id = "order-7/ship",
                                   .name = "ship",
                                   .version = "1.0.0",
                                   .on_parent_close = ParentClosePolicy::terminate,
                                   .input = {Encoding("frame-v1"), "\x01\x02"},
                                   .retry = full_settings().retry,
                                   .attributes = {{"customer", "acme"}, {"rate", 0.5}}});
  bodies.emplace_back(DetachedStarted{.id = "audit-7",
                                      .name = "audit",
                                      .version = "1.0.1",
                                      .input = json("true"),
                                      .launched = true,
                                      .attributes = {{"sku", "lamp"}}});
  bodies.emplace_back(SessionOpened{.settings = full_session()});
  bodies.emplace_back(SessionClosing{.id = "gpu-render"});
  bodies.emplace_back(SessionEventAwaited{.id = "gpu-render"});
  bodies.emplace_back(ValueRead{.instance = "order-8", .key = "status"});
  bodies.emplace_back(
      SideEffectRecorded{.value = json("0.25"), .failure = std::optional<Failure>(full_failure())});
  bodies.emplace_back(MessageTried{.mailbox = "orders", .value = json("null")});
  bodies.emplace_back(ValueSet{.key = "status", .value = json("\"open\"")});
  bodies.emplace_back(MessageSent{.instance = "stock",
                                  .channel = Address::Kind::mailbox,
                                  .name = "changes",
                                  .value = json("-1"),
                                  .keep_for = 1h});
  bodies.emplace_back(CancelSent{.instance = "order-8", .reason = "sold out"});
  bodies.emplace_back(Patched{.id = "check-stock"});
  bodies.emplace_back(TerminateSent{.instance = "order-8", .reason = "sold out"});
  bodies.emplace_back(EndAwaited{.instance = "order-8"});
  bodies.emplace_back(
      AttributeSet{.name = "tags", .type = AttributeType::keywords, .value = Keywords{"gift", "rush"}});
  return number_events({120}, std::move(bodies));
}

std::vector<Event> default_events() {
  return number_events({1}, default_bodies(std::make_index_sequence<std::variant_size_v<Body>>{}));
}

std::vector<Event> order_turn() {
  std::vector<Body> bodies;
  bodies.emplace_back(TurnStarted{.time = kNoon, .build = "1.0"});
  bodies.emplace_back(Completed{.source = {3}, .value = json("true")});
  bodies.emplace_back(ActivityScheduled{.name = "charge",
                                        .settings = detail::ActivitySettings{.timeout = 30s},
                                        .input = json(R"({"cents":1200})")});
  bodies.emplace_back(ActivityScheduled{.name = "notify", .input = json("\"o1\"")});
  bodies.emplace_back(OperationCancelled{.source = {4}});
  return number_events({5}, std::move(bodies));
}

std::string write_segment(const std::vector<Event>& events) {
  SegmentWriter writer(events.front().id);
  for (const Event& event : events) writer.add(event.body);
  return writer.finish();
}

rc::Gen<std::vector<Event>> any_events() {
  return rc::gen::exec([] {
    std::vector<Body> bodies(*rc::gen::inRange<std::size_t>(1, 6));
    for (Body& body : bodies) body = pick<Body>();
    return number_events({*rc::gen::inRange<std::uint64_t>(1, 1'000'000)}, std::move(bodies));
  });
}

// ---- the samples themselves ---------------------------------------------------------------------

namespace {

// The paths of the fields that are at their default, also inside structs.
template <class T>
void find_defaults(const T& object, const std::string& path, std::vector<std::string>& found) {
  const T defaults{};
  const auto members = detail::fields_of(object);
  const auto default_members = detail::fields_of(defaults);
  const auto look_at = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    const auto& value = std::get<I>(members);
    const std::string field = path + "." + std::string(detail::field_names<T>[I]);
    using Field = std::remove_cvref_t<decltype(value)>;
    if (value == std::get<I>(default_members)) found.push_back(field);
    if constexpr (std::is_same_v<Field, std::optional<detail::SessionSettings>> ||
                  std::is_same_v<Field, std::optional<Parent>>) {
      find_defaults(*value, field, found);
    } else if constexpr (std::is_same_v<Field, detail::ActivitySettings> ||
                         std::is_same_v<Field, detail::RetrySettings> ||
                         std::is_same_v<Field, detail::SessionSettings> || std::is_same_v<Field, Failure>) {
      find_defaults(value, field, found);
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (look_at(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<detail::field_count<T>>{});
}

TEST(HistorySamples, FullEventsLeaveNoFieldAtItsDefault) {
  const std::vector<Event> events = full_events();
  ASSERT_EQ(events.size(), std::variant_size_v<Body>);
  for (std::size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].body.index(), i) << "there is one event of each kind, in the order of Body";
    std::vector<std::string> found;
    std::visit([&](const auto& body) { find_defaults(body, std::string(kind_name(events[i].body)), found); },
               events[i].body);
    EXPECT_EQ(found, std::vector<std::string>()) << "give these fields a value in full_events()";
  }
}

}  // namespace
}  // namespace holdfast::history
