// Client: starts instances and talks to them, in the process of a Runtime or in one of its own.
#pragma once

#include <holdfast/attributes.hpp>
#include <holdfast/bulk.hpp>
#include <holdfast/client_call.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/history.hpp>
#include <holdfast/limits.hpp>
#include <holdfast/log.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/orchestration.hpp>
#include <holdfast/random.hpp>
#include <holdfast/run.hpp>
#include <holdfast/run_tree.hpp>
#include <holdfast/schedule.hpp>
#include <holdfast/session_info.hpp>
#include <holdfast/status.hpp>
#include <holdfast/worker_info.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

class Store;

/// How an instance is started. Write it inline; the texts are copied before the call returns.
struct StartOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// Not set: 128 random bits; in an activity the same ones for all attempts.
  std::optional<std::string_view> id{};
  std::string_view version{};  ///< empty: newest_version; or a range, such as "^2.1"
  Reuse reuse = Reuse::never;
  Duration delay{};  ///< it begins this much later
  /// Search attributes: `{{"customer", name}, {"cents", 1200}, {"tags", {"rush", "gift"}}}`. Like the delay,
  /// they make no other start of it: for an id that exists, they are passed over.
  AttributeList attributes{};
};

namespace detail {
/// Inputs of a start without options.
template <class... In>
concept PlainStartInputs = (!std::is_same_v<In, StartOptions> && ...);
}  // namespace detail

/// One instance for Client::start_all().
struct StartItem {
  std::string id{};
  Payload input{};
  std::vector<Attribute> attributes{};
};
/// Encodes the inputs: `start_item("img-1", url, 200)`.
template <class... In>
StartItem start_item(std::string id, const In&... in) {
  return {.id = std::move(id), .input = encode_args(in...)};
}

/// How an event or message is sent.
struct MessageOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// How long it is kept for an id that doesn't exist yet; 0: not at all, the call throws not_found.
  Duration keep_for = kKeepEarly;
  Duration delay{};  ///< it arrives this much later; not negative, like keep_for
  /// Deduplication: of all messages to an id with the same key the first one counts, and later ones are
  /// dropped, for RuntimeOptions::request_retention. Without a key, each call sends a message; but inside the
  /// function of an activity, a call that a later attempt repeats sends none.
  std::string_view key{};
};

/// How an instance is deleted.
struct DeleteOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  bool force = false;  ///< also when it has not ended
  /// Its children too, and theirs. With `force` those that run are suspended first, so that no more children
  /// begin; a call that was interrupted can be repeated. Without `force` all must have ended.
  bool cascade = false;
};

/// Activities of one name in one queue.
struct QueueInfo {
  std::string queue{};
  std::string name{};         ///< of the activity
  std::uint64_t ready = 0;    ///< that wait for a worker
  std::uint64_t delayed = 0;  ///< that wait for their next attempt
  std::uint64_t running = 0;
  Duration oldest_wait{};     ///< of the ready ones
  std::uint32_t workers = 0;  ///< live ones that serve the queue and have the code; 0: the work waits for one
};

struct ClientOptions {
  /// How long a call is repeated while the store is unavailable, before it throws ClientError.
  Duration retry_for = std::chrono::seconds(10);
  /// Where request ids and seeds come from; empty: system_random(). Outlives the client.
  Random* random = nullptr;
  /// Larger inputs, events and messages are refused with ClientError (invalid); 0: no limit.
  std::uint64_t max_payload_bytes = Limits{}.payload_bytes;
  /// How to wait before a blocking call is repeated, for tests; empty: the thread sleeps.
  std::function<void(Duration)> pause{};
  /// Calls that were begun without waiting and are not sent yet; further ones throw ClientError
  /// (unavailable). 0: no limit.
  std::size_t max_queued = 100'000;
  /// Where it logs what callbacks throw; empty: stderr.
  std::shared_ptr<Logger> logger{};
};

/// Which instances to list. Empty members don't filter.
struct ListFilter {
  std::vector<Status> statuses{};
  std::string orchestration{};
  std::string version{};  ///< of the orchestration
  std::string prefix{};   ///< of the id
  std::string parent{};   ///< the id of an instance: its children
  std::optional<CalendarTime> created_from{};
  std::optional<CalendarTime> created_before{};
  std::vector<AttributeCondition> attributes{};  ///< all of them
  /// By an attribute, which one of the conditions has to be about: those that have it, by its value.
  ListOrder order{};
  ListPlace after{};        ///< RunPage::next of the page before
  std::size_t limit = 100;  ///< of a page, above zero
};

/// A filter as text, for command lines and pages:
///
///     status in (running, parked) and orchestration = bill and created > -2d order by created desc
///
/// Fields: status, orchestration, version, parent (=), id (starts with), created (>, >=, <, <=: a time, a
/// date, now, or how long before `now`). Every other name is that of an attribute (=, has, starts with, >,
/// >=, <, <=), whose type is that of the value: 12 is an integer, 12.0 a real, true a bool, 2027-03-28 and
/// -2d are times; everything else, and all that stands in quotes, is text. Names and texts with blanks stand
/// in quotes, and so do attributes that are named like a field. Throws Error (invalid_filter), which names
/// the column.
ListFilter parse_filter(std::string_view text, CalendarTime now);
ListFilter parse_filter(std::string_view text);

/// A page with fewer than `limit` instances is the last one.
struct RunPage {
  std::vector<RunInfo> runs{};      ///< in the order of the filter, the newest first without one
  std::optional<ListPlace> next{};  ///< set if there is more: ListFilter::after of the next page
};

/// How many instances match a filter.
struct RunCount {
  std::uint64_t count = 0;
  bool at_least = false;  ///< there are more than these 10,000
};

/// How a session is released.
struct ReleaseOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// It is taken from its worker at once, and not saved: for a worker that hangs.
  bool force = false;
};
/// How a session is moved.
struct MoveOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  bool force = false;  ///< as in ReleaseOptions
  /// How long only the new node may claim it once the old one has released it; then any worker may.
  Duration keep_for = std::chrono::minutes(5);
};

/// Needs a store and no Runtime: the work may be done in another process. Copyable; copies share their state.
/// Thread-safe. It has no thread of its own until the first call that waits, and two from then on. A call
/// whose name ends in _async gives a ClientCall, which does nothing until it is begun.
class Client {
 public:
  explicit Client(std::shared_ptr<Store> store, ClientOptions options = {});

  /// Ends the calls that were begun without waiting, for all copies of this client and its Runs: starts and
  /// messages are sent, once more at most; waits give ClientError (unavailable). All callbacks have been
  /// called when it returns. From then on, calls that need a callback, and waits, throw std::logic_error; so
  /// does this call in a callback.
  /// The destructor of the last copy of a client or Run does the same, but an answer on its way to a callback
  /// may hold that copy, and then nobody waits: call close() before what callbacks refer to goes away.
  void close();

  /// Starts an orchestration. The instance exists, and survives a crash, when the call returns. The same call
  /// again with the same id gives the same instance; another orchestration, version or input under an id that
  /// is taken throws ClientError (conflict). Without an id each call starts another one.
  template <class... In>
    requires detail::PlainStartInputs<In...>
  Run start(std::string_view orchestration, const In&... in) {
    return start_with(orchestration, {}, encode_args(in...));
  }
  template <class... In>
  Run start(std::string_view orchestration, StartOptions options, const In&... in) {
    return start_with(orchestration, options, encode_args(in...));
  }
  /// The same by a typed name: inputs and result are checked at compile time.
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<const In&...>, detail::Types<P...>>)
  TypedRun<R> start(const Orchestration<R(P...)>& orchestration, const In&... in) {
    return start(orchestration, StartOptions(), in...);
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<const In&...>, detail::Types<P...>>)
  TypedRun<R> start(const Orchestration<R(P...)>& orchestration, StartOptions options, const In&... in) {
    return TypedRun<R>(start_with(orchestration.name, options, encode_args(static_cast<const P&>(in)...)));
  }
  template <class... In>
  Run start(std::string_view orchestration, detail::BareBraces, const In&... in) const;
  /// start() without waiting for the store. What is wrong with the call itself is thrown here.
  template <class... In>
    requires detail::PlainStartInputs<In...>
  ClientCall<Run> start_async(std::string_view orchestration, const In&... in) {
    return start_with_async(orchestration, {}, encode_args(in...));
  }
  template <class... In>
  ClientCall<Run> start_async(std::string_view orchestration, StartOptions options, const In&... in) {
    return start_with_async(orchestration, options, encode_args(in...));
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<const In&...>, detail::Types<P...>>)
  ClientCall<TypedRun<R>> start_async(const Orchestration<R(P...)>& orchestration, const In&... in) {
    return start_async(orchestration, StartOptions(), in...);
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<const In&...>, detail::Types<P...>>)
  ClientCall<TypedRun<R>> start_async(const Orchestration<R(P...)>& orchestration, StartOptions options,
                                      const In&... in) {
    return detail::map_call(
        start_with_async(orchestration.name, options, encode_args(static_cast<const P&>(in)...)),
        [](Run run) { return TypedRun<R>(std::move(run)); });
  }
  template <class... In>
  ClientCall<Run> start_async(std::string_view orchestration, detail::BareBraces, const In&... in) const;
  /// Starts many instances, which share transactions. If some are refused, the others are started all the
  /// same, and the call throws for the first one that was refused. Invalid ids and inputs that are too large
  /// are found before anything is started. An outage of the store ends the call in the middle: repeat it.
  std::vector<Run> start_all(std::string_view orchestration, const std::vector<StartItem>& items);

  /// The instance that has this id now. Throws ClientError (not_found).
  [[nodiscard]] Run run(std::string_view id) const;
  /// The same, or nothing.
  [[nodiscard]] std::optional<Run> find(std::string_view id) const;
  /// The same by a typed name. Throws ClientError (conflict) when `id` belongs to another orchestration.
  template <class R, class... P>
  [[nodiscard]] TypedRun<R> run(const Orchestration<R(P...)>& orchestration, std::string_view id) const {
    return TypedRun<R>(run_of(orchestration.name, id));
  }

  /// Raises an event for an id, also before it is started: then it is kept, for 24 hours unless the options
  /// say otherwise. Throws ClientError (conflict) when the instance has ended.
  template <class T>
  void raise(std::string_view id, std::string_view event, const T& value) const {
    send_to(id, {Address::Kind::event, std::string(event)}, {}, encode(value));
  }
  template <class T>
  void raise(std::string_view id, std::string_view event, MessageOptions options, const T& value) const {
    send_to(id, {Address::Kind::event, std::string(event)}, options, encode(value));
  }
  void raise(std::string_view id, std::string_view event) const {
    send_to(id, {Address::Kind::event, std::string(event)}, {}, {kJsonEncoding, "null"});
  }
  template <class T>
  void raise(std::string_view id, const Event<T>& event, const std::type_identity_t<T>& value) const {
    raise(id, event.name, value);
  }
  template <class T>
  void raise(std::string_view id, const Event<T>& event, MessageOptions options,
             const std::type_identity_t<T>& value) const {
    raise(id, event.name, options, value);
  }
  void raise(std::string_view id, const Event<void>& event) const { raise(id, event.name); }
  void raise(std::string_view id, std::string_view event, MessageOptions options) const {
    send_to(id, {Address::Kind::event, std::string(event)}, options, {kJsonEncoding, "null"});
  }
  void raise(std::string_view id, const Event<void>& event, MessageOptions options) const {
    raise(id, event.name, options);
  }
  /// The same without waiting for the store.
  template <class T>
  ClientCall<void> raise_async(std::string_view id, std::string_view event, const T& value) const {
    return send_to_async(id, {Address::Kind::event, std::string(event)}, {}, encode(value));
  }
  template <class T>
  ClientCall<void> raise_async(std::string_view id, std::string_view event, MessageOptions options,
                               const T& value) const {
    return send_to_async(id, {Address::Kind::event, std::string(event)}, options, encode(value));
  }
  ClientCall<void> raise_async(std::string_view id, std::string_view event) const {
    return send_to_async(id, {Address::Kind::event, std::string(event)}, {}, {kJsonEncoding, "null"});
  }
  template <class T>
  ClientCall<void> raise_async(std::string_view id, const Event<T>& event,
                               const std::type_identity_t<T>& value) const {
    return raise_async(id, event.name, value);
  }
  template <class T>
  ClientCall<void> raise_async(std::string_view id, const Event<T>& event, MessageOptions options,
                               const std::type_identity_t<T>& value) const {
    return raise_async(id, event.name, options, value);
  }
  ClientCall<void> raise_async(std::string_view id, const Event<void>& event) const {
    return raise_async(id, event.name);
  }
  /// Puts a message into a mailbox of an id; kept for one that doesn't exist yet in the same way.
  template <class T>
  void send(std::string_view id, std::string_view mailbox, const T& value) const {
    send_to(id, {Address::Kind::mailbox, std::string(mailbox)}, {}, encode(value));
  }
  template <class T>
  void send(std::string_view id, std::string_view mailbox, MessageOptions options, const T& value) const {
    send_to(id, {Address::Kind::mailbox, std::string(mailbox)}, options, encode(value));
  }
  template <class T>
  void send(std::string_view id, const Mailbox<T>& mailbox, const std::type_identity_t<T>& value) const {
    send(id, mailbox.name, value);
  }
  template <class T>
  void send(std::string_view id, const Mailbox<T>& mailbox, MessageOptions options,
            const std::type_identity_t<T>& value) const {
    send(id, mailbox.name, options, value);
  }
  /// The same without waiting for the store. Messages that one thread sends to one id are received in the
  /// order in which they were begun, but for those that had to be sent again.
  template <class T>
  ClientCall<void> send_async(std::string_view id, std::string_view mailbox, const T& value) const {
    return send_to_async(id, {Address::Kind::mailbox, std::string(mailbox)}, {}, encode(value));
  }
  template <class T>
  ClientCall<void> send_async(std::string_view id, std::string_view mailbox, MessageOptions options,
                              const T& value) const {
    return send_to_async(id, {Address::Kind::mailbox, std::string(mailbox)}, options, encode(value));
  }
  template <class T>
  ClientCall<void> send_async(std::string_view id, const Mailbox<T>& mailbox,
                              const std::type_identity_t<T>& value) const {
    return send_async(id, mailbox.name, value);
  }
  template <class T>
  ClientCall<void> send_async(std::string_view id, const Mailbox<T>& mailbox, MessageOptions options,
                              const std::type_identity_t<T>& value) const {
    return send_async(id, mailbox.name, options, value);
  }
  /// Sends many messages, which share transactions, in this order.
  template <class T>
  void send_all(std::string_view id, std::string_view mailbox, const std::vector<T>& values) const {
    std::vector<Payload> payloads;
    payloads.reserve(values.size());
    for (const T& value : values) payloads.push_back(encode(value));
    send_many(id, {Address::Kind::mailbox, std::string(mailbox)}, std::move(payloads));
  }
  template <class T>
  void send_all(std::string_view id, const Mailbox<T>& mailbox, const std::vector<T>& values) const {
    send_all(id, mailbox.name, values);
  }
  /// Asks the instance that has this id to stop; see Run::cancel().
  void cancel(std::string_view id, std::string_view reason) const { cancel(id, {}, reason); }
  void cancel(std::string_view id, CancelOptions options, std::string_view reason) const;
  ClientCall<void> cancel_async(std::string_view id, std::string_view reason) const {
    return cancel_async(id, {}, reason);
  }
  ClientCall<void> cancel_async(std::string_view id, CancelOptions options, std::string_view reason) const;
  void terminate(std::string_view id, std::string_view reason) const;
  ClientCall<void> terminate_async(std::string_view id, std::string_view reason) const;
  /// See Run::suspend(), Run::resume() and Run::restart().
  void suspend(std::string_view id) const;
  ClientCall<void> suspend_async(std::string_view id) const;
  void resume(std::string_view id) const;
  ClientCall<void> resume_async(std::string_view id) const;
  Run restart(std::string_view id) const { return run(id).restart(); }
  Run restart(std::string_view id, RestartOptions options) const { return run(id).restart(options); }

  /// Removes an instance that has ended, with its history, values and status; its id is free again. With
  /// `force` also one that runs: none of its code runs any more, its activities are cancelled, its children
  /// go on. Throws ClientError: not_found; conflict for one that has not ended, without `force`, and for a
  /// child that its parent waits for: terminate that child first, so that the parent is told.
  void delete_instance(std::string_view id) const { delete_instance(id, {}); }
  void delete_instance(std::string_view id, DeleteOptions options) const;

  // ---- many instances
  // These do to all instances that match a filter what the calls above do to one, newest first, in slices
  // that keep each transaction short; `limit` says how many are looked up at a time. Those that the call
  // can't be for are passed over: `cancel_all`, `terminate_all` and `suspend_all` are for instances that have
  // not ended, `resume_all` for suspended ones, and `delete_all` without `force` for those that have ended.
  // Whoever ends or begins meanwhile may be among them or not.

  BulkResult cancel_all(const ListFilter& filter, std::string_view reason) const;
  BulkResult terminate_all(const ListFilter& filter, std::string_view reason) const;
  BulkResult suspend_all(const ListFilter& filter) const;
  BulkResult resume_all(const ListFilter& filter) const;
  BulkResult delete_all(const ListFilter& filter) const { return delete_all(filter, {}); }
  BulkResult delete_all(const ListFilter& filter, DeleteOptions options) const;

  /// Removes the history of an execution that is over; false when it was removed before. Throws ClientError:
  /// not_found, also for an execution that never existed; conflict for the current one.
  bool prune_execution(std::string_view id, ExecutionNumber execution) const;
  /// The same for all executions before the last `keep`, the current one included; returns how many.
  std::uint64_t prune_executions(std::string_view id, std::uint64_t keep) const;

  /// Instances, the newest first, or by an attribute. Indexes find those of a status, a parent, and of values
  /// of attributes; other filters are applied to one instance after the other until the page is full. Throws
  /// ClientError (invalid) for conditions and orders that make no sense.
  [[nodiscard]] RunPage list(const ListFilter& filter = {}) const;
  /// How many instances match a filter, on all pages: exact up to 10,000, and for statuses alone always.
  [[nodiscard]] RunCount count(const ListFilter& filter = {}) const;
  /// How many instances there are of each status; those of which there is none are left out.
  [[nodiscard]] std::map<Status, std::uint64_t> count_by_status() const;
  /// An instance with its children, also those that have ended, their children, and so on. Each instance of a
  /// page costs a look at its children. Throws ClientError (not_found).
  [[nodiscard]] TreePage tree(std::string_view id, const TreeOptions& options = {}) const;
  [[nodiscard]] RunDetail describe(std::string_view id) const { return run(id).describe(); }
  /// See Run::history() and Run::executions(). Throw ClientError (not_found).
  [[nodiscard]] HistoryPage history(std::string_view id) const { return run(id).history(); }
  [[nodiscard]] HistoryPage history(std::string_view id, HistoryOptions options) const {
    return run(id).history(options);
  }
  [[nodiscard]] std::vector<ExecutionInfo> executions(std::string_view id) const {
    return run(id).executions();
  }
  /// All activities that wait or run, by queue and name.
  [[nodiscard]] std::vector<QueueInfo> queues() const;
  /// All registered workers in the order of their starts, including those that died lately.
  [[nodiscard]] std::vector<WorkerInfo> workers() const;

  // ---- schedules

  /// Starts an orchestration again and again. The same call again with the same id gives the same schedule;
  /// an id that is taken throws ClientError (conflict). Throws Error (invalid_schedule) for options that make
  /// no sense. A worker has to run: each one keeps schedules beside its other work.
  template <class... In>
  Schedule create_schedule(std::string_view id, std::string_view orchestration,
                           const ScheduleOptions& options, const In&... in) {
    return create_schedule_with(id, orchestration, options, encode_args(in...));
  }
  /// The same by a typed name: inputs are checked at compile time.
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<const In&...>, detail::Types<P...>>)
  Schedule create_schedule(std::string_view id, const Orchestration<R(P...)>& orchestration,
                           const ScheduleOptions& options, const In&... in) {
    return create_schedule_with(id, orchestration.name, options, encode_args(static_cast<const P&>(in)...));
  }
  /// Throws ClientError: not_found; conflict when `id` is no schedule.
  [[nodiscard]] Schedule schedule(std::string_view id) const;
  /// All of them, the newest first, those that have ended included.
  [[nodiscard]] std::vector<Schedule> schedules() const;
  /// Removes a schedule. What it has started goes on.
  void delete_schedule(std::string_view id) const;

  // ---- sessions
  // All of these throw Error (invalid_name) for an invalid session id.

  /// By id, up to `limit` after `after`.
  [[nodiscard]] std::vector<SessionInfo> list_sessions(std::string_view after = {},
                                                       std::size_t limit = 100) const;
  /// Those in some states, of an owner, or of a queue: `list_sessions({.owner = "worker-1"})`.
  [[nodiscard]] std::vector<SessionInfo> list_sessions(const SessionFilter& filter) const;
  /// How many sessions are in which state, as of one moment.
  [[nodiscard]] SessionCounts count_sessions() const;
  /// Throws ClientError (not_found).
  [[nodiscard]] SessionInfo describe_session(std::string_view id) const;
  /// What its owner saved last under the name of a SessionState<T>; nothing if nothing was saved. Throws
  /// ClientError (not_found), DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> saved_state(std::string_view id, std::string_view name) const {
    return detail::decode_optional<T>(read_saved_state(id, name));
  }
  /// All log entries of a session, oldest first, also of one whose record is gone; of all sessions when `id`
  /// is empty.
  [[nodiscard]] std::vector<SessionLogEntry> session_log(std::string_view id) const;
  /// A part of it: up to `limit` entries after the one with number `after`.
  [[nodiscard]] std::vector<SessionLogEntry> session_log(std::string_view id, std::uint64_t after,
                                                         std::size_t limit) const;
  /// Ends a session: its queued activities fail with SessionClosed, running ones may finish. An implicit
  /// session begins anew with its next activity; one that was opened or given a policy stays closed. False
  /// when it had ended already. Throws ClientError (not_found).
  bool close_session(std::string_view id) const;
  /// Asks the worker that holds a session to save and release it as soon as none of its activities runs
  /// there: `asked`. The session goes on: the next worker that needs it claims it. `released`: its worker was
  /// gone, or `force` was set; `free`: it had no owner. Throws ClientError: not_found; conflict when it has
  /// ended, or can't be handed over.
  SessionReleased release_session(std::string_view id) const { return release_session(id, {}); }
  SessionReleased release_session(std::string_view id, ReleaseOptions options) const;
  /// The same, and then only a worker of `node` may claim it, which it does with the session's next activity.
  /// `there`: that node holds it already. Throws ClientError (conflict) also when no worker of the node is at
  /// work.
  SessionReleased move_session(std::string_view id, std::string_view node) const {
    return move_session(id, node, {});
  }
  SessionReleased move_session(std::string_view id, std::string_view node, MoveOptions options) const;
  /// Deletes the saved state of a session, such as one that no code can read any more. The state in the
  /// memory of its worker stays. False when nothing was saved. Throws ClientError (not_found).
  bool discard_session_state(std::string_view id) const;

 private:
  Run start_with(std::string_view orchestration, StartOptions options, Payload input);
  ClientCall<Run> start_with_async(std::string_view orchestration, StartOptions options, Payload input);
  Schedule create_schedule_with(std::string_view id, std::string_view orchestration,
                                const ScheduleOptions& options, Payload input);
  Run run_of(std::string_view orchestration, std::string_view id) const;
  [[nodiscard]] std::optional<Payload> read_saved_state(std::string_view id, std::string_view name) const;
  void send_to(std::string_view id, Address address, MessageOptions options, Payload value) const;
  [[nodiscard]] ClientCall<void> send_to_async(std::string_view id, Address address, MessageOptions options,
                                               Payload value) const;
  void send_many(std::string_view id, Address address, std::vector<Payload> values) const;

  std::shared_ptr<detail::ClientCore> core_;
};

}  // namespace holdfast
