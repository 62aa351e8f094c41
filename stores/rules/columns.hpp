// Columns: the columns of a table stand in one function, which calls `field(name, value)` for each of them.
// Statements, reading, writing and comparing are made from it, so a new column is one line. Here are those
// that the tables of all databases have; the others stand with their stores.
#pragma once

#include "rows.hpp"

#include <holdfast/ids.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast::rules {

/// A text whose column holds bytes; NULL when there are none.
template <class Text>
struct Bytes {
  Text& text;
};
template <class Text>
Bytes(Text&) -> Bytes<Text>;

/// A text that may hold any bytes, such as a message of others; never NULL.
template <class Text>
struct AnyBytes {
  Text& text;
};
template <class Text>
AnyBytes(Text&) -> AnyBytes<Text>;

template <class T>
concept Enumeration = std::is_enum_v<T>;

// ---- tables of all databases ---------------------------------------------------------------------

/// The same for messages, delayed ones and early ones.
void message_columns(auto& message, auto&& address, auto&& body, auto&& field) {
  field("kind", message.kind);
  field("execution", message.execution);
  field("source", message.source);
  field("address_kind", message.address.kind);
  field("address", address);
  field("body", body);
}

/// What changes of an activity with its attempts.
void attempt_columns(auto& activity, auto&& field) {
  field("session_over", activity.session_over);
  field("attempt", activity.attempt);
  field("delivery", activity.delivery);
  field("worker", activity.lock.worker);
  field("token", activity.lock.token);
  field("until", activity.lock.until);
  field("generation", activity.generation);
  field("last_failure", Bytes(activity.last_failure));
  field("progress", Bytes(activity.progress));
}

/// Without the activity and its token.
void cancel_columns(auto& cancel, auto&& field) {
  field("worker", cancel.worker);
  field("name", cancel.record.name);
  field("reason", cancel.record.reason);
  field("state", cancel.record.state);
  field("until", cancel.until);
  field("at", cancel.at);
  field("session", cancel.session);
}

/// Without its id, its policy and what was saved.
void session_columns(auto& session, auto&& field) {
  field("ended", session.ended);
  field("reason", session.reason);
  field("note", AnyBytes(session.note));
  field("owner", session.owner);
  field("worker", session.worker);
  field("generation", session.generation);
  field("held_since", session.held_since);
  field("lease_until", session.lease_until);
  field("lease", session.lease);
  field("idle_timeout", session.idle_timeout);
  field("last_owner", session.last_owner);
  field("last_worker", session.last_worker);
  field("planned", session.planned);
  field("restarted", session.restarted);
  field("ran", session.ran);
  field("wanted", session.wanted);
  field("wanted_for", session.wanted_for);
  field("last_activity", session.last_activity);
  field("changed", session.changed);
  field("ttl_until", session.ttl_until);
  field("opener", session.opener);
  field("opened_by", session.opened_by);
  field("saved_version", session.saved_version);
  field("created_at", session.created_at);
  field("updated_at", session.updated_at);
}

/// Without its key and what it joined with.
void worker_columns(auto& worker, auto&& field) {
  field("draining", worker.draining);
  field("superseded", worker.superseded);
  field("joined_at", worker.joined_at);
  field("seen", worker.seen);
}

/// Without its number.
void log_columns(auto& entry, auto&& field) {
  field("session", entry.session);
  field("kind", entry.kind);
  field("reason", entry.reason);
  field("owner", entry.owner);
  field("previous_owner", entry.previous_owner);
  field("generation", entry.generation);
  field("at", entry.at);
  field("quiet_for", entry.quiet_for);
}

/// Without its number and the bytes.
void set_aside_columns(auto& row, auto&& field) {
  field("key", row.key);
  field("what", row.what);
  field("problem", AnyBytes(row.problem));
  field("at", row.at);
}

// ---- comparing -----------------------------------------------------------------------------------

/// The values of columns as bytes, to be compared.
class Image {
 public:
  /// One that most rows fit into without another allocation.
  static Image with_room() {
    Image image;
    image.bytes_.reserve(240);
    return image;
  }

  template <class T>
  void operator()(std::string_view /*name*/, const T& value) {
    add(value);
  }
  friend bool operator==(const Image&, const Image&) = default;

 private:
  template <std::integral T>
  void add(T value) {
    const auto wide = static_cast<std::int64_t>(value);
    bytes_.append(static_cast<const char*>(static_cast<const void*>(&wide)), sizeof wide);
  }
  template <Enumeration T>
  void add(T value) {
    add(static_cast<int>(value));
  }
  template <class Rep, class Period>
  void add(std::chrono::duration<Rep, Period> value) {
    add(value.count());
  }
  template <class Clock, class Span>
  void add(std::chrono::time_point<Clock, Span> value) {
    add(value.time_since_epoch());
  }
  template <class Tag>
  void add(Number<Tag> value) {
    add(value.value);
  }
  template <class Tag>
  void add(Token<Tag> value) {
    add(value.high);
    add(value.low);
  }
  void add(std::string_view value) {
    add(value.size());
    bytes_.append(value);
  }
  template <class Text>
  void add(Bytes<Text> value) {
    add(std::string_view(value.text));
  }
  template <class Text>
  void add(AnyBytes<Text> value) {
    add(std::string_view(value.text));
  }
  template <class T>
  void add(const std::optional<T>& value) {
    bytes_.push_back(value ? '1' : '0');
    if (value) add(*value);
  }

  std::string bytes_{};
};

}  // namespace holdfast::rules
