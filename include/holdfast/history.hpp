// History as clients see it: what happened in one execution of an instance, event by event, in pages.
//
//   std::optional<HistoryOptions> next = HistoryOptions();
//   while (next) {
//     const HistoryPage page = run.history(*next);
//     for (const HistoryEvent& event : page.events) std::cout << to_string(event.id) << " " << event.text();
//     next = page.next;
//   }
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace history {
struct StoredEvent;
}

/// An event of history. Which members are set depends on its kind: docs/guide/history.md has a table.
struct HistoryEvent {
  enum class Kind : std::uint8_t {
    turn_started,
    started,           ///< the execution began
    completed,         ///< an operation succeeded
    failed,            ///< an operation failed for good
    cancel_requested,  ///< somebody asked the instance to stop
    execution_completed,
    execution_failed,
    execution_cancelled,
    execution_terminated,
    continued_as_new,
    operation_cancelled,  ///< an operation ended without an outcome
    activity_scheduled,
    timer_started,
    event_awaited,
    message_awaited,
    child_started,
    detached_started,
    session_opened,
    session_closing,
    session_event_awaited,
    value_read,  ///< of another instance
    side_effect_recorded,
    message_tried,  ///< a mailbox was looked into without waiting
    value_set,      ///< or cleared, when there is no payload
    message_sent,   ///< an event or a message went to another instance
    cancel_sent,
    patched,  ///< the code was told to take a patch
    terminate_sent,
    end_awaited,    ///< of another instance
    attribute_set,  ///< or cleared, when there is no payload
    unknown,        ///< recorded by a newer version of Holdfast
  };

  EventId id{};
  Kind kind = Kind::unknown;
  CalendarTime time{};  ///< of its turn: what ctx.now() said
  /// Of the activity, orchestration, event, mailbox, patch or attribute; the key of a value.
  std::string name{};
  std::string version{};   ///< of the orchestration
  std::string instance{};  ///< another one: the parent, the child, the target; whose value was read
  std::string session{};
  std::string queue{};  ///< of an activity
  std::string build{};  ///< of the worker that ran the turn
  EventId source{};     ///< the event that started the operation which ended here
  /// The input of what began, the outcome of what ended, the value that was set, received or sent.
  std::optional<Payload> payload{};
  std::optional<Failure> failure{};
  std::string reason{};               ///< why it was cancelled or terminated
  std::optional<CalendarTime> due{};  ///< of a timer

  /// The payload as a T; nothing when there is none. Throws DecodeError. For several inputs T is a
  /// std::tuple.
  template <class T>
  [[nodiscard]] std::optional<T> payload_as() const {
    if (!payload) return std::nullopt;
    return decode<T>(*payload).value();
  }

  /// What it says besides its kind, in a line for people: `charge {"cents":1200} queue=payments`.
  [[nodiscard]] std::string text() const;
  /// All that is recorded, settings and limits included, as one line of JSON: docs/history-format.md.
  [[nodiscard]] std::string json() const;

  /// What text() and json() are made from. Set by those who read history.
  std::shared_ptr<const history::StoredEvent> stored{};
};

/// The kind as it is written in JSON: "activity_scheduled".
std::string_view to_string(HistoryEvent::Kind kind) noexcept;

/// Which events to read.
struct HistoryOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  ExecutionNumber execution{};  ///< not set: the current one
  /// Turns behind this event: the last one of a page. 0: from the beginning.
  EventId after{};
  /// About how much of the stored history one page holds; above zero. A page has whole turns, and at least
  /// one.
  std::size_t max_bytes = std::size_t{256} << 10U;
};

/// A part of the history of one execution: as of one moment, and what comes later is behind it.
struct HistoryPage {
  ExecutionNumber execution{};
  std::vector<HistoryEvent> events{};
  /// Set if there is more: what to ask for to get the next page, of the same execution. To follow an instance
  /// that runs, ask again later for `{.execution = page.execution, .after = page.events.back().id}`.
  std::optional<HistoryOptions> next{};
};

/// An execution of an instance whose history is there.
struct ExecutionInfo {
  ExecutionNumber execution{};
  std::uint64_t turns = 0;
  std::uint64_t bytes = 0;  ///< of its history, as stored
  friend bool operator==(const ExecutionInfo&, const ExecutionInfo&) = default;
};

}  // namespace holdfast
