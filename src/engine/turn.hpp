// What goes into a turn and what comes out of it. Plain data: the engine does nothing with the world.
#pragma once

#include "base/kept_memory.hpp"
#include "codec/history.hpp"
#include "codec/operation.hpp"

#include <holdfast/address.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/payload.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::engine {

/// A message that waits until the code receives it.
struct Delivery {
  Address address{};
  Payload value{};
};

/// Something that wakes an instance.
struct Message {
  MessageId id{};
  /// The execution that an outcome belongs to; messages of another one are ignored.
  ExecutionNumber execution{};
  std::variant<history::Started, history::Completed, history::Failed, history::CancelRequested, Delivery>
      body{};
};

/// The input of a turn. Each message is given once to an Execution: it keeps those that the code has not
/// received.
struct Turn {
  CalendarTime time{};
  std::vector<Message> messages{};
};

/// An operation that was started in this turn.
struct Action {
  EventId id{};
  detail::Operation operation{};
  OperationKey key{};  ///< of activities: their idempotency key; of what begins an instance: its seed
  friend bool operator==(const Action&, const Action&) = default;
};

/// An operation that was started, in this turn or before, and ends here without an outcome.
struct Cancel {
  EventId source{};
  history::CancelReason reason = history::CancelReason::dropped;
  std::uint8_t kind = 0;  ///< the index of the operation in detail::Operation
  std::string label{};    ///< the activity's name, the child's id, ...
  ParentClosePolicy on_close = ParentClosePolicy::cancel;  ///< of a child
  friend bool operator==(const Cancel&, const Cancel&) = default;
};

/// Why code can't go on from its history.
struct Problem {
  enum class Kind : std::uint8_t {
    corrupt_history,  ///< the bytes are damaged
    nondeterminism,   ///< the code no longer does what history shows
  };
  Kind kind = Kind::nondeterminism;
  EventId event{};             ///< the first event that differs, or can't be read
  std::string history_says{};  ///< "activity 'charge'"; what is wrong, when history is damaged
  std::string code_did{};      ///< "started activity 'refund'"
  std::string hint{};          ///< what may have led to it, and what to do
  std::string build{};         ///< of the code that ran the turn in which it differs
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// All of it in one text.
std::string describe(const Problem& problem);
/// The failure that clients and parents see.
Failure to_failure(const Problem& problem);

/// How an execution ended.
using End = std::variant<history::ExecutionCompleted, history::ExecutionFailed, history::ExecutionCancelled,
                         history::ExecutionTerminated, history::ContinuedAsNew>;

/// A message that can't be read as what the code waits for under its address.
struct Unreadable {
  MessageId id{};
  Address address{};
  Failure failure{};
  friend bool operator==(const Unreadable&, const Unreadable&) = default;
};

/// The output of a turn: what has to be committed, all or nothing.
struct Outcome {
  std::string segment{};                   ///< new history; empty when nothing happened
  EventId first_event{};                   ///< of the segment
  std::vector<Action> actions{};           ///< in the order of the code
  std::vector<Cancel> cancels{};           ///< sorted by source
  std::vector<MessageId> consumed{};       ///< received by the code, applied, or without use
  std::uint64_t ignored = 0;               ///< how many of those were of no use: late, twice, unknown
  std::vector<Unreadable> unreadable{};    ///< messages that nobody who waits can read
  std::vector<Address> waits{};            ///< what it waits for now; only these make it ready
  std::vector<std::string> patches{};      ///< that the code took in this turn
  std::optional<Payload> status{};         ///< set when the code changed it
  std::vector<std::string> near_limits{};  ///< in words: what came near to a limit in this turn
  std::optional<End> end{};                ///< set when the execution ended

  /// Becomes that of a turn in which nothing has happened yet, and keeps the memory of its lists.
  void start_over() {
    Outcome anew;
    anew.actions = emptied(std::move(actions));
    anew.cancels = emptied(std::move(cancels));
    anew.consumed = emptied(std::move(consumed));
    *this = std::move(anew);
  }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

}  // namespace holdfast::engine
