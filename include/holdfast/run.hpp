// Run: a handle for an instance, from Client::start() or by its id from Client::run().
//
//   Run run = client.start("approve", {.id = "order-7"}, order);
//   run.raise("decision", Decision{.approved = true});
//   std::string result = run.wait<std::string>(5s);
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/attributes.hpp>
#include <holdfast/cancel_reason.hpp>
#include <holdfast/client_call.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/history.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>
#include <holdfast/status.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

class HistoryReader;

namespace detail {
class ClientCore;

template <class T>
std::optional<T> decode_optional(const std::optional<Payload>& payload) {
  if (!payload) return std::nullopt;
  return decode<T>(*payload).value();
}
}  // namespace detail

struct QueryOptions;

namespace detail {

/// Arguments of a call without options.
template <class... In>
concept PlainArguments =
    (sizeof...(In) == 0) || !std::is_same_v<std::tuple_element_t<0, std::tuple<In..., void>>, QueryOptions>;

}  // namespace detail

/// An instance as it is now.
struct RunInfo {
  std::string id{};
  std::string orchestration{};
  std::string version{};  ///< empty until its first turn, when none was asked for
  ExecutionNumber execution{};
  Status status = Status::running;
  std::string parent{};                     ///< the id of the instance whose child it is, while that exists
  std::optional<Payload> output_payload{};  ///< of one that completed
  std::optional<Failure> failure{};         ///< of one that failed, was cancelled or terminated
  std::string parked_because{};             ///< why its code can't go on
  std::optional<Payload> custom_status{};   ///< what the code last gave to ctx.set_status()
  std::uint64_t custom_status_version = 0;  ///< grows with each change of it
  CalendarTime created_at{};
  CalendarTime updated_at{};
  std::optional<CalendarTime> cancel_requested_at{};
  std::vector<Attribute> attributes{};  ///< by which it is found, sorted by name and type

  /// Completed, failed, cancelled or terminated.
  [[nodiscard]] bool has_ended() const noexcept { return holdfast::has_ended(status); }
  /// Its result as a T, once it has completed; throws DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> output() const {
    return detail::decode_optional<T>(output_payload);
  }
  /// The custom status as a T; throws DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> status_as() const {
    return detail::decode_optional<T>(custom_status);
  }
  /// A search attribute; nothing when it has none of this name and type.
  template <class T>
  [[nodiscard]] std::optional<T> attribute(std::string_view name) const {
    return detail::attribute_as<T>(detail::find_attribute(attributes, name, detail::attribute_type<T>()));
  }
};

/// Something that an instance waits for.
struct RunWait {
  enum class Kind : std::uint8_t {
    activity,
    timer,
    event,
    mailbox,
    session,
    child,
    worker,  ///< for the instance itself: it is parked, suspended or delayed, or no worker has taken it or
             ///< its code
  };
  Kind kind = Kind::activity;
  /// Of the activity, event, mailbox or session; the id of a child; of `worker`, the orchestration.
  std::string name{};
  /// In words: "running on a, attempt 2", "no live worker has it and serves queue 'gpu', attempt 1, gives up
  /// in 40 s", "session missing", "requirements not met by any live worker", "no session capacity", "session
  /// owner has no code for it", "session kept for node 'b', 40 s more", "session asked for", "starts in 40
  /// s".
  std::string state{};
  /// Whether a live worker has the code, and serves the queue. Of a child also whether that holds for all
  /// that the child waits for.
  bool served = true;
  /// When the code began to wait for it; of a child, when that was started.
  std::optional<CalendarTime> since{};
  std::optional<CalendarTime> due{};  ///< of a timer
  std::vector<RunWait> waits{};       ///< of a child: what it waits for itself

  // Of an activity:
  std::string queue{};
  std::string running_on{};  ///< the node, when it runs
  int attempt = 0;
  int delivery = 0;                       ///< 0: not yet handed out in this attempt
  std::optional<Duration> gives_up_in{};  ///< until it fails because no worker took it
  std::optional<Failure> last_failure{};  ///< of the attempt before
  std::optional<Payload>
      last_heartbeat{};  ///< details given to ActivityContext::heartbeat(), also by earlier attempts

  /// The details of the last heartbeat as a T; throws DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> heartbeat() const {
    return detail::decode_optional<T>(last_heartbeat);
  }
};

std::string_view to_string(RunWait::Kind kind) noexcept;

/// An activity that was cancelled while it ran. It is shown until the lease that it had is over.
struct RunCancel {
  std::string name{};
  ExecutionNumber execution{};
  EventId event{};  ///< that scheduled it
  CancelReason reason = CancelReason::dropped;
  CancelState state = CancelState::requested;
  std::string running_on{};  ///< the node, if it is still registered
  Duration since{};          ///< how long ago it was cancelled
};

/// An instance as it is now, what it waits for, and where it runs.
struct RunDetail {
  RunInfo info{};
  std::string running_on{};  ///< the node that has it locked now, if any
  std::vector<RunWait> waits{};
  /// Children that it waits for as well: `waits` has the oldest 100. Client::list() with `parent` has all.
  std::uint64_t more_children = 0;
  std::vector<RunCancel> cancels{};
  /// Events and messages that its code has not received, and requests that it has not seen yet.
  std::uint64_t unread_messages = 0;
  std::vector<std::string> value_keys{};  ///< of what the code keeps with ctx.set_value(), sorted
};

/// Options of a query.
struct QueryOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// How long the answer is waited for.
  Duration timeout = std::chrono::seconds(10);
};

/// The answer to a query, and what it is an answer of: run.query<QueryAnswer>(...).
struct QueryAnswer {
  Payload value{kJsonEncoding, "null"};
  ExecutionNumber execution{};
  EventId event{};  ///< the last one of the execution's history that the answer knows
  /// History goes on after that event, but the code does not fit it: the instance is parked, or will be.
  bool behind = false;
  /// The value as a T; throws DecodeError.
  template <class T>
  [[nodiscard]] T as() const {
    return decode<T>(value).value();
  }
};

/// Options of a request to cancel.
struct CancelOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::optional<Duration> terminate_after{};  ///< terminates it if it has not ended by then
};

/// How an instance is started again.
struct RestartOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::string_view version{};  ///< of the orchestration, as in StartOptions; empty: newest_version
};

/// A handle: copies refer to the same instance, and dropping one does nothing to it. It refers to this life
/// of the id: when the instance was deleted, or another one has its id since, calls throw ClientError
/// (not_found). Thread-safe. Calls throw ClientError when the store refuses them; while the store is
/// unavailable, they are repeated for ClientOptions::retry_for.
class Run {
 public:
  /// Refers to no instance, and its calls throw std::logic_error: for a variable that gets its value later.
  Run() = default;
  Run(std::shared_ptr<detail::ClientCore> core, std::string id, InstanceKey key)
      : core_(std::move(core)), id_(std::move(id)), key_(key) {}

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  /// This life of the id.
  [[nodiscard]] InstanceKey key() const noexcept { return key_; }

  /// Waits for its end and returns its result. Throws RunFailed when it failed; RunCancelled when it was
  /// cancelled or terminated; RunTimedOut when it has not ended within `timeout`, and goes on; DecodeError
  /// when its result can't be read as a T.
  template <class T = void>
  T wait(Duration timeout = never) const {
    const Payload output = wait_for_output_or_throw(timeout);
    if constexpr (!std::is_void_v<T>) return decode<T>(output).value();
  }
  /// The same with failures as values. An instance that has not ended by then is a failure of category
  /// `timeout` and type `wait_timeout`.
  template <class T = void>
  [[nodiscard]] Result<T> result(Duration timeout = never) const {
    Result<Payload> output = wait_for_output(timeout);
    if (!output) return Unexpected(std::move(output).error());
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return decode<T>(*output);
    }
  }

  /// wait() without a thread that waits: the answer has the result, or what wait() would have thrown.
  template <class T = void>
  ClientCall<T> wait_async(Duration timeout = never) const {
    return detail::map_call(output_async(timeout), [](const Payload& output) {
      if constexpr (!std::is_void_v<T>) return decode<T>(output).value();
    });
  }
  /// Calls back once it has ended, however it did: see RunInfo. The answer has an exception only when nobody
  /// can know any more: ClientError, not_found when it was deleted, unavailable when the client is gone.
  void on_end(std::function<void(ClientAnswer<RunInfo>)> callback) const;

  [[nodiscard]] Status status() const { return info().status; }
  [[nodiscard]] RunInfo info() const;
  [[nodiscard]] RunDetail describe() const;
  /// What happened in its current execution, from the beginning: the first page. Throws ClientError: damaged
  /// when history can't be read.
  [[nodiscard]] HistoryPage history() const { return history(HistoryOptions()); }
  /// The same from a later event on, or of a former execution; not_found when that one does not exist, or its
  /// history was pruned.
  [[nodiscard]] HistoryPage history(HistoryOptions options) const;
  /// The executions whose history is there, the oldest first. The last one is the current one.
  [[nodiscard]] std::vector<ExecutionInfo> executions() const;
  /// What the code last gave to ctx.set_status().
  template <class T>
  [[nodiscard]] std::optional<T> custom_status() const {
    return info().status_as<T>();
  }
  /// Waits until the custom status differs from what it was when the call began, or the run ends; nothing
  /// when `timeout` passed before.
  [[nodiscard]] std::optional<RunInfo> wait_for_change(Duration timeout = never) const;
  /// The same, compared with `since`: no change between two calls is missed.
  [[nodiscard]] std::optional<RunInfo> wait_for_change(const RunInfo& since, Duration timeout = never) const;
  /// The same without a thread that waits.
  ClientCall<std::optional<RunInfo>> wait_for_change_async(const RunInfo& since,
                                                           Duration timeout = never) const;
  /// A value that the code set: ctx.set_value().
  template <class T>
  [[nodiscard]] std::optional<T> value(std::string_view key) const {
    return detail::decode_optional<T>(read_value(key));
  }
  /// What its current execution was started with; a std::tuple for several inputs. Nothing before its first
  /// turn; throws DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> input() const {
    return detail::decode_optional<T>(read_input());
  }

  /// Asks the code something: what it answers by ctx.on_query(). The answer knows all that was committed
  /// before this call. Before the first turn it waits for that. Throws QueryError, whose type says why there
  /// is no answer; ClientError when the instance is gone; DecodeError when the answer can't be read as an R.
  ///
  ///     const int left = run.query<int>("left");
  ///     const Price price = run.query<Price>("price", {.timeout = 1s}, "cup");
  template <class R, class... In>
    requires detail::PlainArguments<In...>
  [[nodiscard]] R query(std::string_view name, const In&... in) const {
    return read_answer<R>(ask_and_wait(name, QueryOptions(), encode_args(in...)));
  }
  template <class R, class... In>
  [[nodiscard]] R query(std::string_view name, QueryOptions options, const In&... in) const {
    return read_answer<R>(ask_and_wait(name, options, encode_args(in...)));
  }
  /// The same without a thread that waits.
  template <class R, class... In>
    requires detail::PlainArguments<In...>
  ClientCall<R> query_async(std::string_view name, const In&... in) const {
    return detail::map_call(ask_async(name, QueryOptions(), encode_args(in...)), &Run::read_answer<R>);
  }
  template <class R, class... In>
  ClientCall<R> query_async(std::string_view name, QueryOptions options, const In&... in) const {
    return detail::map_call(ask_async(name, options, encode_args(in...)), &Run::read_answer<R>);
  }

  /// Raises an event, which is kept until the code waits for it.
  template <class T>
  void raise(std::string_view event, const T& value) const {
    send_to({Address::Kind::event, std::string(event)}, encode(value));
  }
  void raise(std::string_view event) const {
    send_to({Address::Kind::event, std::string(event)}, {kJsonEncoding, "null"});
  }
  template <class T>
  void raise(const Event<T>& event, const std::type_identity_t<T>& value) const {
    raise(event.name, value);
  }
  void raise(const Event<void>& event) const { raise(event.name); }
  /// The same without waiting for the store.
  template <class T>
  ClientCall<void> raise_async(std::string_view event, const T& value) const {
    return send_to_async({Address::Kind::event, std::string(event)}, encode(value));
  }
  ClientCall<void> raise_async(std::string_view event) const {
    return send_to_async({Address::Kind::event, std::string(event)}, {kJsonEncoding, "null"});
  }
  template <class T>
  ClientCall<void> raise_async(const Event<T>& event, const std::type_identity_t<T>& value) const {
    return raise_async(event.name, value);
  }
  ClientCall<void> raise_async(const Event<void>& event) const { return raise_async(event.name); }
  /// Puts a message into a mailbox. The code receives messages in the order in which they were sent.
  template <class T>
  void send(std::string_view mailbox, const T& value) const {
    send_to({Address::Kind::mailbox, std::string(mailbox)}, encode(value));
  }
  template <class T>
  void send(const Mailbox<T>& mailbox, const std::type_identity_t<T>& value) const {
    send(mailbox.name, value);
  }

  template <class T>
  ClientCall<void> send_async(std::string_view mailbox, const T& value) const {
    return send_to_async({Address::Kind::mailbox, std::string(mailbox)}, encode(value));
  }
  template <class T>
  ClientCall<void> send_async(const Mailbox<T>& mailbox, const std::type_identity_t<T>& value) const {
    return send_async(mailbox.name, value);
  }

  /// Asks it to stop: its awaits throw Cancelled, and its code may clean up.
  void cancel(std::string_view reason) const { cancel(CancelOptions{}, reason); }
  void cancel(CancelOptions options, std::string_view reason) const;
  ClientCall<void> cancel_async(std::string_view reason) const {
    return cancel_async(CancelOptions{}, reason);
  }
  ClientCall<void> cancel_async(CancelOptions options, std::string_view reason) const;
  /// Ends it without running its code: any worker that runs orchestrations does so; until there is one, the
  /// request is kept.
  void terminate(std::string_view reason) const;
  ClientCall<void> terminate_async(std::string_view reason) const;
  /// No more of its code runs until it is resumed. A turn under way is lost, and runs again then. Its
  /// activities, timers, children and sessions go on, and what comes waits, a request to cancel too; only
  /// terminate() ends it at once. Throws ClientError: conflict when it has ended, or is suspended already.
  void suspend() const;
  ClientCall<void> suspend_async() const;
  /// It goes on with what came meanwhile, in that order. Throws ClientError: conflict when it is not
  /// suspended.
  void resume() const;
  ClientCall<void> resume_async() const;
  /// Starts it again, after its end: a new life of its id, with the input that it was started with; what this
  /// one left is deleted. A child begins anew without its parent. Throws ClientError: conflict when it has
  /// not ended; not_found when its first history was pruned, or it was ended before it began: then nobody
  /// knows its input.
  Run restart() const { return restart(RestartOptions()); }
  Run restart(RestartOptions options) const;

 private:
  friend HistoryReader read_history(const Run& run, ExecutionNumber execution);

  [[nodiscard]] const std::shared_ptr<detail::ClientCore>& own_core() const;
  [[nodiscard]] detail::ClientCore& core() const;
  [[nodiscard]] Result<Payload> wait_for_output(Duration timeout) const;
  [[nodiscard]] Payload wait_for_output_or_throw(Duration timeout) const;
  [[nodiscard]] ClientCall<Payload> output_async(Duration timeout) const;
  template <class R>
  static R read_answer(QueryAnswer answer) {
    if constexpr (std::is_same_v<R, QueryAnswer>) {
      return answer;
    } else {
      return decode<R>(answer.value).value();
    }
  }
  [[nodiscard]] QueryAnswer ask_and_wait(std::string_view name, QueryOptions options,
                                         Payload arguments) const;
  [[nodiscard]] ClientCall<QueryAnswer> ask_async(std::string_view name, QueryOptions options,
                                                  Payload arguments) const;
  [[nodiscard]] std::optional<Payload> read_value(std::string_view key) const;
  [[nodiscard]] std::optional<Payload> read_input() const;
  void send_to(Address address, Payload value) const;
  [[nodiscard]] ClientCall<void> send_to_async(Address address, Payload value) const;

  std::shared_ptr<detail::ClientCore> core_;
  std::string id_;
  InstanceKey key_{};
};

/// A Run that knows the type of its result.
template <class R>
class TypedRun : public Run {
 public:
  TypedRun() = default;
  explicit TypedRun(Run run) : Run(std::move(run)) {}

  /// See Run::wait().
  R wait(Duration timeout = never) const { return Run::wait<R>(timeout); }
  /// See Run::wait_async().
  ClientCall<R> wait_async(Duration timeout = never) const { return Run::wait_async<R>(timeout); }
  /// See Run::result().
  [[nodiscard]] Result<R> result(Duration timeout = never) const { return Run::result<R>(timeout); }
};

}  // namespace holdfast
