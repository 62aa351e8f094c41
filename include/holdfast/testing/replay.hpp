// ReplayHarness: tests an orchestration in memory. The test plays workers, clients and the clock; the engine
// is the real one.
//
//   ReplayHarness run;
//   run.start(hello, "Ada");
//   run.complete("greet", "Hello, Ada!");
//   run.result<std::string>().value()           // "Hello, Ada!"
//
// Every call that makes something happen is one turn. After each turn the whole history is replayed, and
// inputs are compared: nondeterministic code is found at the first call where it differs.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/history_file.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/log.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>
#include <holdfast/session.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::testing {

/// What an orchestration can wait for.
enum class OperationKind : std::uint8_t {
  activity,
  timer,
  event,
  mailbox,
  child,
  detached,
  session_open,
  session_close,
  session_event,
  value_of,
  ended,  ///< of another instance: ctx.ended(); complete it with an EndedInstance
};

/// An operation that the code has started.
struct StartedOperation {
  EventId id{};
  OperationKind kind = OperationKind::activity;
  /// Of the activity, orchestration, event or mailbox; the id of a session; the key of a value.
  std::string name{};
  std::string instance{};  ///< the id of a child or detached orchestration; of a value, whose it is; of
                           ///< `ended`, who ends
  std::string session{};   ///< of an activity
  std::string queue{};     ///< of an activity
  Payload input{kJsonEncoding, "null"};
  CalendarTime due{};  ///< of a timer

  /// The input as a T; throws DecodeError. For several arguments T is a std::tuple.
  template <class T>
  [[nodiscard]] T input_as() const {
    return decode<T>(input).value();
  }
};

/// A message from the code to another instance: ctx.raise(), ctx.send(), ctx.cancel(), ctx.terminate().
struct SentMessage {
  enum class Kind : std::uint8_t { event, mailbox, cancel, terminate };
  Kind kind = Kind::event;
  std::string instance{};
  std::string name{};  ///< of the event or the mailbox
  Payload value{};     ///< of a cancel or terminate: the reason

  /// The value as a T; throws DecodeError.
  template <class T>
  [[nodiscard]] T value_as() const {
    return decode<T>(value).value();
  }
};

/// One event of history as text.
struct HistoryLine {
  EventId id{};
  std::string kind{};  ///< "activity_scheduled"
  std::string what{};  ///< `charge {"amount":5}`
};

/// An event or message that could not be decoded as the type that the code waits for.
struct SetAsideMessage {
  Address address{};
  Failure failure{};  ///< why not
};

/// The first difference between code and history.
struct Divergence {
  EventId event{};  ///< the first event that differs
  std::string history_says{};
  std::string code_did{};
  std::string hint{};
  std::string text{};  ///< all of it in one text
};

/// The identity of the instance, and how it is tested.
struct ReplayOptions {
  std::string instance = "instance-1";
  std::string orchestration = "orchestration";
  std::string version = "1";
  std::uint64_t seed = 42;  ///< of ctx.random() and ctx.uuid()
  std::uint64_t history_budget = 10'000;
  bool replay_every_turn = true;
  std::shared_ptr<Logger> logger{};  ///< where lines of ctx.log() go; empty: nowhere
};

/// One instance, from its start to its end. For one thread at a time. Calls that make no sense (completing an
/// operation that is not open, going on after the end) throw std::logic_error and say what is open; a replay
/// that differs from history throws Error of category nondeterminism.
///
/// A name stands for the oldest open operation of that name. Use an id from open() for another one.
class ReplayHarness {
 public:
  enum class State : std::uint8_t {
    not_started,
    running,
    completed,
    failed,
    cancelled,
    terminated,
    continued_as_new,  ///< next_execution() goes on
  };

  ReplayHarness();
  explicit ReplayHarness(ReplayOptions options);
  ReplayHarness(ReplayHarness&&) noexcept;
  ReplayHarness& operator=(ReplayHarness&&) noexcept;
  ~ReplayHarness();

  /// The first turn. `orchestration` is a function or a lambda without captures.
  template <class F, class... In>
  void start(F orchestration, const In&... in) {
    start_code(detail::make_orchestration(orchestration), encode_args(in...));
  }

  // ---- what the code waits for ------------------------------------------------------------------

  /// In the order in which the code started them.
  [[nodiscard]] std::vector<StartedOperation> open() const;
  [[nodiscard]] StartedOperation open(std::string_view name) const;
  [[nodiscard]] bool is_open(std::string_view name) const;
  /// Operations that ended without an outcome: losers of races, dropped futures, those that were cancelled by
  /// a request or by the end of the execution. In the order of history.
  [[nodiscard]] const std::vector<StartedOperation>& cancelled() const noexcept;

  /// What the code sent to other instances, and what it launched, in all executions.
  [[nodiscard]] const std::vector<SentMessage>& sent() const noexcept;
  [[nodiscard]] const std::vector<StartedOperation>& launched() const noexcept;

  // ---- what happens to it -----------------------------------------------------------------------

  /// The operation succeeds. Without a value its result is void, or the id of the session or detached
  /// orchestration.
  template <class T>
  void complete(std::string_view name, const T& value) {
    complete_with(open(name).id, encode(value));
  }
  template <class T>
  void complete(EventId id, const T& value) {
    complete_with(id, encode(value));
  }
  void complete(std::string_view name) { complete_with(open(name).id, std::nullopt); }
  void complete(EventId id) { complete_with(id, std::nullopt); }

  /// The operation fails for good. `source` and `event` of the failure are filled in.
  void fail(std::string_view name, Failure failure) { fail_with(open(name).id, std::move(failure)); }
  void fail(EventId id, Failure failure) { fail_with(id, std::move(failure)); }
  /// The same with a failure of category `application`.
  void fail(std::string_view name, std::string type, std::string message) {
    fail(name, Failure{.type = std::move(type), .message = std::move(message)});
  }

  /// Advances time to the next timer that is due, and fires it.
  void fire_timer();
  /// Advances time; each timer that becomes due fires, in a turn of its own.
  void advance(Duration by);
  [[nodiscard]] CalendarTime now() const noexcept;

  /// Raises an event, or sends a message to a mailbox. Both are kept until the code receives them, also
  /// before the start and between two executions.
  template <class T>
  void raise(std::string_view event, const T& value) {
    raise_with(event, encode(value));
  }
  template <class T>
  void raise(const Event<T>& event, const std::type_identity_t<T>& value) {
    raise(event.name, value);
  }
  template <class T>
  void send(std::string_view mailbox, const T& value) {
    send_with(mailbox, encode(value));
  }
  template <class T>
  void send(const Mailbox<T>& mailbox, const std::type_identity_t<T>& value) {
    send(mailbox.name, value);
  }
  /// Events and messages that could not be decoded as the type that the code waits for.
  [[nodiscard]] const std::vector<SetAsideMessage>& set_aside() const noexcept;
  /// Delivers an event of a session.
  void session_event(std::string_view session, const SessionEvent& event);

  /// Asks the instance to stop.
  void cancel(std::string reason);
  /// Ends it without running any code.
  void terminate(std::string reason);

  /// Begins the next execution after continue-as-new: values, unread messages and a request to cancel are
  /// kept.
  void next_execution();

  /// Asks a query of the code, as run.query() does: ctx.on_query(). Throws QueryError. The frames in memory
  /// are asked twice, and ones that were made from history once: Error of type `query_differs` says that the
  /// answers are not the same, so that the handler changes something, or depends on what history does not
  /// have.
  template <class R, class... In>
  [[nodiscard]] R query(std::string_view name, const In&... in) {
    return decode<R>(ask(name, encode_args(in...))).value();
  }

  // ---- a history from elsewhere -----------------------------------------------------------------

  /// Instead of start(): takes a history from a store or a file, and with it the ids of its instance, all of
  /// which stay in memory. replay_with() says whether code fits it, history() shows it, resume() goes on from
  /// its end. Throws what reading it throws.
  void load(HistoryReader history);
  /// Replays what was loaded, and goes on with this code: what is open can be completed, and so on. Inputs
  /// are not compared, as in production. Messages that the code has not received, and its custom status, are
  /// no part of a history. Throws Error of category nondeterminism when the code does not fit.
  template <class F>
  void resume(F orchestration) {
    resume_code(detail::make_orchestration(orchestration));
  }

  // ---- replay -----------------------------------------------------------------------------------

  /// Simulates a crash: destroys all frames of the code, and makes them again from history.
  void forget();
  /// Replays the history so far with other code: returns the first difference, or nothing. Inputs are not
  /// compared, as in production.
  template <class F>
  [[nodiscard]] std::optional<Divergence> replay_with(F orchestration) const {
    return replay_code(detail::make_orchestration(orchestration));
  }
  /// The events of the current execution.
  [[nodiscard]] std::vector<HistoryLine> history() const;
  /// The same as aligned text, one line per event.
  [[nodiscard]] std::string history_text() const;

  // ---- the outcome ------------------------------------------------------------------------------

  [[nodiscard]] State state() const noexcept;
  [[nodiscard]] ExecutionNumber execution() const noexcept;
  /// The result; a failure, a cancellation and a termination are errors. Throws std::logic_error before the
  /// end.
  template <class T>
  [[nodiscard]] Result<T> result() const {
    Result<Payload> output = output_payload();
    if (!output) return Unexpected(std::move(output).error());
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return decode<T>(*output);
    }
  }
  /// What the code last gave to ctx.set_status().
  template <class T>
  [[nodiscard]] std::optional<T> status() const {
    return decode_optional<T>(status_payload());
  }
  /// A value of the instance: ctx.set_value().
  template <class T>
  [[nodiscard]] std::optional<T> value(std::string_view key) const {
    return decode_optional<T>(value_payload(key));
  }
  /// Its search attributes, sorted by name and type: ctx.set_attribute().
  [[nodiscard]] const std::vector<Attribute>& attributes() const noexcept;
  template <class T>
  [[nodiscard]] std::optional<T> attribute(std::string_view name) const {
    return holdfast::detail::attribute_as<T>(
        holdfast::detail::find_attribute(attributes(), name, holdfast::detail::attribute_type<T>()));
  }

 private:
  template <class T>
  static std::optional<T> decode_optional(const Payload* payload) {
    if (payload == nullptr) return std::nullopt;
    return decode<T>(*payload).value();
  }
  void start_code(std::shared_ptr<const detail::OrchestrationCode> code, Payload input);
  void resume_code(std::shared_ptr<const detail::OrchestrationCode> code);
  void complete_with(EventId id, std::optional<Payload> value);
  void fail_with(EventId id, Failure failure);
  [[nodiscard]] Payload ask(std::string_view name, const Payload& arguments);
  void raise_with(std::string_view event, Payload value);
  void send_with(std::string_view mailbox, Payload value);
  [[nodiscard]] std::optional<Divergence> replay_code(
      const std::shared_ptr<const detail::OrchestrationCode>& code) const;
  [[nodiscard]] Result<Payload> output_payload() const;
  [[nodiscard]] const Payload* status_payload() const noexcept;
  [[nodiscard]] const Payload* value_payload(std::string_view key) const;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::testing
