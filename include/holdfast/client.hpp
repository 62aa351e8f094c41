// Client: starts instances and talks to them, in the process of a Runtime or in one of its own.
#pragma once

#include <holdfast/codec.hpp>
#include <holdfast/limits.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/orchestration.hpp>
#include <holdfast/random.hpp>
#include <holdfast/run.hpp>
#include <holdfast/session_info.hpp>
#include <holdfast/status.hpp>
#include <holdfast/worker_info.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
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
  std::string_view version{};  ///< empty: the newest that the worker of the first turn has
  Reuse reuse = Reuse::never;
  Duration delay{};  ///< it begins so much later
};

namespace detail {
/// Inputs of a start without options.
template <class... In>
concept PlainStartInputs = (!std::is_same_v<In, StartOptions> && ...);
}  // namespace detail

/// One of many to start: client.start_all("resize", {...}).
struct StartItem {
  std::string id{};
  Payload input{};
};
/// With its input encoded: `start_item("img-1", url, 200)`.
template <class... In>
StartItem start_item(std::string id, const In&... in) {
  return {std::move(id), encode_args(in...)};
}

/// How an event or message is sent.
struct MessageOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// How long it is kept for an id that doesn't exist yet; 0: not at all, the call throws not_found.
  Duration keep_for = kKeepEarly;
  Duration delay{};  ///< it arrives so much later
  /// Of messages to one id with the same key the first counts, and the others are dropped, for as long as
  /// RuntimeOptions::request_retention. Without one, each call is a message of its own; inside the function
  /// of an activity, all attempts together are one caller.
  std::string_view key{};
};

/// How an instance is deleted.
struct DeleteOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  bool force = false;  ///< also when it has not ended
};

/// Activities of one name in one queue.
struct QueueInfo {
  std::string queue{};
  std::string name{};         ///< of the activity
  std::uint64_t ready = 0;    ///< could run now
  std::uint64_t delayed = 0;  ///< wait for their next attempt
  std::uint64_t running = 0;
  Duration oldest_wait{};     ///< of those that could run now
  std::uint32_t workers = 0;  ///< live ones that serve the queue and have the code; 0: nobody will run them
};

struct ClientOptions {
  /// How long a call tries again while the store is unavailable, before it throws ClientError.
  Duration retry_for = std::chrono::seconds(10);
  /// Where request ids and seeds come from; empty: system_random(). Outlives the client.
  Random* random = nullptr;
  /// An input, event or message that is larger is refused: ClientError (invalid).
  std::uint64_t max_payload_bytes = Limits{}.payload_bytes;
  /// What passes the time before a call tries again; empty: the thread sleeps.
  std::function<void(Duration)> pause{};
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
  InstanceKey after{};  ///< RunPage::next of the page before
  std::size_t limit = 100;
};

/// A page is full, or it is the last.
struct RunPage {
  std::vector<RunInfo> runs{};        ///< newest first
  std::optional<InstanceKey> next{};  ///< there is more
};

/// How a session is released.
struct ReleaseOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// It is taken from its worker at once, which does not save it any more: for a worker that hangs.
  bool force = false;
};
/// How a session is moved.
struct MoveOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  bool force = false;  ///< as in ReleaseOptions
  /// How long it is kept for its new worker once the one before has given it up; then anybody may claim it.
  Duration keep_for = std::chrono::minutes(5);
};

/// Needs a store and no Runtime: the work may be done in another process. Copyable; copies share their state.
/// Thread-safe. A thread of its own begins with the first call that waits.
class Client {
 public:
  explicit Client(std::shared_ptr<Store> store, ClientOptions options = {});

  /// Starts an orchestration. It exists, and survives a crash, when the call returns. The same call again
  /// with the same id gives the same instance; another orchestration or input under an id that is taken
  /// throws ClientError (conflict). Without an id each call starts another one.
  template <class... In>
    requires detail::PlainStartInputs<In...>
  Run start(std::string_view orchestration, const In&... in) {
    return start_with(orchestration, {}, encode_args(in...));
  }
  template <class... In>
  Run start(std::string_view orchestration, StartOptions options, const In&... in) {
    return start_with(orchestration, options, encode_args(in...));
  }
  /// The same by a typed name; the inputs are checked when this is compiled, and so is the result.
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
  /// Starts many in one go, sharing transactions. When some are refused the others are started all the same,
  /// and it throws what the first of those refused would have thrown. What can't be started at all, such as
  /// an id that is no name, is found before anything is started; an outage of the store ends it in the
  /// middle: repeat the call.
  std::vector<Run> start_all(std::string_view orchestration, const std::vector<StartItem>& items);

  /// The instance that lives under `id` now. Throws ClientError (not_found).
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
  /// Many in one go, sharing transactions, in this order.
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
  void cancel(std::string_view id, std::string_view reason) const { run(id).cancel(reason); }
  void cancel(std::string_view id, CancelOptions options, std::string_view reason) const {
    run(id).cancel(options, reason);
  }
  void terminate(std::string_view id, std::string_view reason) const { run(id).terminate(reason); }

  /// Removes an instance that has ended, and all that belongs to it; its id is free again. With `force` also
  /// one that runs: its code is not asked, and its activities are cancelled. Its children live on. Throws
  /// ClientError: not_found; conflict for one that has not ended without `force`, and for a child whose
  /// parent waits for it: terminate that.
  void delete_instance(std::string_view id) const { delete_instance(id, {}); }
  void delete_instance(std::string_view id, DeleteOptions options) const;
  /// Removes the history of an execution that is over; false when there was none any more. Throws
  /// ClientError: not_found; conflict for the current one.
  bool prune_execution(std::string_view id, ExecutionNumber execution) const;
  /// The same for all executions before the last `keep`, which count the current one; answers how many.
  std::uint64_t prune_executions(std::string_view id, std::uint64_t keep) const;

  /// Instances, the newest first. By status and by parent they are found in an index; other filters are
  /// tried on one instance after the other until the page is full.
  [[nodiscard]] RunPage list(const ListFilter& filter = {}) const;
  [[nodiscard]] RunDetail describe(std::string_view id) const { return run(id).describe(); }
  /// All activities that wait or run, by queue and name.
  [[nodiscard]] std::vector<QueueInfo> queues() const;
  /// All workers that are registered, in the order of their starts: also those that died lately.
  [[nodiscard]] std::vector<WorkerInfo> workers() const;

  // ---- sessions
  // All of these throw Error (invalid_name) for what can't be the id of a session.

  /// By id, up to `limit` after `after`.
  [[nodiscard]] std::vector<SessionInfo> list_sessions(std::string_view after = {},
                                                       std::size_t limit = 100) const;
  /// Those in some states, of an owner, or of a queue: `list_sessions({.owner = "worker-1"})`.
  [[nodiscard]] std::vector<SessionInfo> list_sessions(const SessionFilter& filter) const;
  /// How many sessions are in which state, as of one moment.
  [[nodiscard]] SessionCounts count_sessions() const;
  /// Throws ClientError (not_found).
  [[nodiscard]] SessionInfo describe_session(std::string_view id) const;
  /// What its owner saved last under the name of a SessionState<T>; nothing when that never was. Throws
  /// ClientError (not_found), DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> saved_state(std::string_view id, std::string_view name) const {
    return detail::decode_optional<T>(read_saved_state(id, name));
  }
  /// The whole story of a session, oldest first, also of one whose record is gone; of all sessions when `id`
  /// is empty.
  [[nodiscard]] std::vector<SessionLogEntry> session_log(std::string_view id) const;
  /// A part of it: up to `limit` entries after the one with number `after`.
  [[nodiscard]] std::vector<SessionLogEntry> session_log(std::string_view id, std::uint64_t after,
                                                         std::size_t limit) const;
  /// Ends a session: what is queued in it fails with SessionClosed, what runs may finish. One that was only
  /// named by activities begins anew with the next of them; one that was opened or given a policy stays
  /// closed. False when it had ended already. Throws ClientError (not_found).
  bool close_session(std::string_view id) const;
  /// Has the worker that holds a session save it and give it up, as soon as nothing of it runs there:
  /// `asked`. It lives on, and whoever needs it next claims it. `released`: its worker was gone, or it was
  /// forced; `free`: nobody held it. Throws ClientError: not_found; conflict when it has ended, or may not
  /// leave.
  SessionReleased release_session(std::string_view id) const { return release_session(id, {}); }
  SessionReleased release_session(std::string_view id, ReleaseOptions options) const;
  /// The same, and it is kept for a worker of this node, which claims it with its next activity. `there`:
  /// that one holds it already. Throws ClientError (conflict) also when no worker of the node is at work.
  SessionReleased move_session(std::string_view id, std::string_view node) const {
    return move_session(id, node, {});
  }
  SessionReleased move_session(std::string_view id, std::string_view node, MoveOptions options) const;
  /// Forgets what was saved in a session, such as a state that no code can read any more. What its worker has
  /// in memory stays. False when nothing was saved. Throws ClientError (not_found).
  bool discard_session_state(std::string_view id) const;

 private:
  Run start_with(std::string_view orchestration, StartOptions options, Payload input);
  Run run_of(std::string_view orchestration, std::string_view id) const;
  [[nodiscard]] std::optional<Payload> read_saved_state(std::string_view id, std::string_view name) const;
  void send_to(std::string_view id, Address address, MessageOptions options, Payload value) const;
  void send_many(std::string_view id, Address address, std::vector<Payload> values) const;

  std::shared_ptr<detail::ClientCore> core_;
};

}  // namespace holdfast
