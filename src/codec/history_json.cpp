#include "codec/history_json.hpp"

#include "codec/json_form.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace holdfast::history {

namespace {

// What an event says about itself, before the fields of its body.
constexpr std::array<std::string_view, 2> kHeading = {"event", "kind"};

struct Heading {
  std::optional<std::uint64_t> id{};
  std::string kind{};
};

bool read_heading(JsonReader& in, Heading& heading) {
  return in.object([&](std::string_view key) {
    if (key == "event") return in.integer(heading.id.emplace(), std::numeric_limits<std::uint64_t>::max());
    if (key == "kind") return in.string(heading.kind);
    return in.skip();
  });
}

using ReadJson = bool (*)(JsonReader& in, Body& body);

template <std::size_t Kind>
bool read_body(JsonReader& in, Body& body) {
  return read_json_object(in, body.emplace<Kind>(), kHeading);
}
template <std::size_t... Kind>
constexpr std::array<ReadJson, sizeof...(Kind)> json_readers(std::index_sequence<Kind...>) {
  return {&read_body<Kind>...};
}
constexpr auto kJsonReaders = json_readers(std::make_index_sequence<std::variant_size_v<Body>>{});

std::optional<std::uint8_t> find_kind(std::string_view name) {
  for (std::size_t i = 0; i < kJsonReaders.size(); ++i) {
    const auto kind = static_cast<std::uint8_t>(i);
    if (kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

}  // namespace

std::string to_json(const Event& event) {
  JsonWriter out;
  out.begin_object();
  out.key("event");
  out.integer(event.id.value);
  out.key("kind");
  out.string(kind_name(event.body));
  std::visit([&out]<class T>(const T& body) { write_json_fields<T, true>(out, body); }, event.body);
  out.end_object();
  return out.take();
}

Result<Event, std::string> parse_event_json(std::string_view json, std::optional<EventId> expected) {
  const EventId place = expected.value_or(EventId{1});
  JsonReader first_look(json);
  Heading heading;
  if (!read_heading(first_look, heading)) {
    return Unexpected("event " + to_string(place) + ": " + first_look.error());
  }
  Event event{.id = {heading.id.value_or(place.value)}};
  const std::string name = "event " + to_string(event.id);
  if (event.id.value == 0) return Unexpected(name + ": events are numbered from 1");
  if (expected && event.id != *expected) {
    return Unexpected(name + " stands where event " + to_string(*expected) +
                      " is expected: events are numbered one after the other");
  }
  if (heading.kind.empty()) return Unexpected(name + ": it has no \"kind\"");
  const std::optional<std::uint8_t> kind = find_kind(heading.kind);
  if (!kind)
    return Unexpected(name + ": there is no kind \"" + detail::quote(heading.kind) +
                      "\" in this version of Holdfast");
  JsonReader in(json);
  const ReadJson read = kJsonReaders[*kind];
  if (!read(in, event.body) || !in.finish()) {
    return Unexpected(name + " (" + heading.kind + "): " + in.error());
  }
  return event;
}

std::string history_json(std::span<const Event> events) {
  std::string text = "[";
  std::string_view separator = "\n";
  for (const Event& event : events) {
    text.append(separator).append(to_json(event));
    separator = ",\n";
  }
  return text + (events.empty() ? "]\n" : "\n]\n");
}

Result<std::vector<Event>, std::string> parse_history_json(std::string_view json) {
  JsonReader in(json);
  std::vector<Event> events;
  std::optional<EventId> expected;
  if (!in.open('[', "an array of events")) return Unexpected(in.error());
  while (in.next_element(events.empty())) {
    std::string_view text;
    if (!in.raw(text)) {
      return Unexpected("event " + to_string(expected.value_or(EventId{1})) + ": " + in.error());
    }
    Result<Event, std::string> event = parse_event_json(text, expected);
    if (!event) return Unexpected(std::move(event).error());
    expected = EventId{event->id.value + 1};
    events.push_back(*std::move(event));
  }
  if (!in.ok() || !in.finish()) return Unexpected(in.error());
  return events;
}

}  // namespace holdfast::history
