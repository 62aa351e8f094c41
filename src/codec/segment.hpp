// Segments: the events of one turn as bytes, the way stores keep them. docs/history-format.md has every byte.
#pragma once

#include "codec/bytes.hpp"
#include "codec/history.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace holdfast::history {

template <class T, class... Alternatives>
constexpr std::uint8_t find_kind(std::type_identity<std::variant<Alternatives...>>) {
  static_assert((std::is_same_v<T, Alternatives> + ... + 0) == 1, "this type is no alternative of Body");
  std::uint8_t kind = 0;
  static_cast<void>(((std::is_same_v<T, Alternatives> || (++kind, false)) || ...));
  return kind;
}

/// The index of T in Body, which is its kind in the binary form.
template <class T>
inline constexpr std::uint8_t kind_of = find_kind<T>(std::type_identity<Body>{});

/// An event whose body is still bytes. The body is a ByteReader's: the first field of ActivityScheduled is
/// its name, the first of Completed and of Failed their source; a body that ends before a field leaves it at
/// its default.
struct RawEvent {
  EventId id{};
  std::uint8_t kind = 0;
  std::string_view body{};
};

/// Writes the events of one turn. One thread at a time.
class SegmentWriter {
 public:
  /// `first` is the id of the first event, at least 1.
  explicit SegmentWriter(EventId first);

  /// Adds an alternative of Body, or a whole Body, and returns the event's id.
  template <class T>
  EventId add(const T& body) {
    if constexpr (std::is_same_v<T, Body>) {
      return std::visit([this](const auto& alternative) { return this->add(alternative); }, body);
    } else {
      return add_event(kind_of<T>, &body);
    }
  }

  /// The id that the next event gets.
  [[nodiscard]] EventId next_id() const noexcept { return {first_.value + count_}; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// The segment: header, events, checksum. The writer is then empty, and goes on with the next id.
  std::string finish();

 private:
  EventId add_event(std::uint8_t kind, const void* body);
  void begin();

  EventId first_;
  std::uint64_t count_ = 0;
  std::string segment_;       // so far, when there are events
  std::size_t count_at_ = 0;  // where their number goes
};

/// Walks over one segment without decoding the events. `segment` must outlive it. One thread at a time;
/// copies walk on their own.
class SegmentCursor {
 public:
  /// Checks format, version and checksum, and that the events take up exactly the bytes that are there. The
  /// error says in one sentence what is wrong.
  static Result<SegmentCursor, std::string> open(std::string_view segment);

  [[nodiscard]] EventId first_event() const noexcept { return first_; }
  [[nodiscard]] std::uint64_t event_count() const noexcept { return count_; }

  [[nodiscard]] bool done() const noexcept { return passed_ == count_; }
  /// Precondition: !done(). An error names the event: "event 17: ...".
  Result<RawEvent, std::string> next() {
    RawEvent event{.id = {first_.value + passed_}};
    if (!in_.byte(event.kind) || !in_.string(event.body)) [[unlikely]]
      return cut_off(event.id);
    ++passed_;
    return event;
  }

 private:
  SegmentCursor() = default;
  static Unexpected<std::string> cut_off(EventId event);

  ByteReader in_;
  EventId first_;
  std::uint64_t count_ = 0;
  std::uint64_t passed_ = 0;
};

/// Decodes a body. Whatever the bytes are, the outcome is an event or an error, which names the event and the
/// field: "event 17 (activity_scheduled): the name is cut off".
Result<Body, std::string> decode_body(const RawEvent& event);

/// All events of a segment.
Result<std::vector<Event>, std::string> read_segment(std::string_view segment);

}  // namespace holdfast::history
