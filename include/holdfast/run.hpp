// Run: an instance in the hands of whoever started it, or looks for it by its id.
//
//   Run run = client.start("approve", "order-7", order);
//   run.raise("decision", Decision{.approved = true});
//   std::string result = run.wait<std::string>(5s);
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

namespace detail {
class ClientCore;
}

/// running, suspended, parked, completed, failed, cancelled, terminated.
using Status = store::InstanceStatus;

/// An instance as it is now.
struct RunInfo {
  std::string id{};
  std::string orchestration{};
  std::string version{};  ///< empty until its first turn, when none was asked for
  ExecutionNumber execution{};
  Status status = Status::running;
  std::optional<Failure> failure{};         ///< of one that failed, was cancelled or terminated
  std::string parked_because{};             ///< why its code can't go on
  std::optional<Payload> custom_status{};   ///< what the code last gave to ctx.set_status()
  std::uint64_t custom_status_version = 0;  ///< grows with each change of it
  CalendarTime created_at{};
  CalendarTime updated_at{};
  std::optional<CalendarTime> cancel_requested_at{};
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
    worker,  ///< one that runs the instance itself: it is parked or delayed, or none has taken it or has its
             ///< code
  };
  Kind kind = Kind::activity;
  /// The activity's, event's, mailbox's or session's; a child's id; the orchestration's that wants a worker.
  std::string name{};
  /// In words: "running on a, attempt 2", "no live worker serves it (queue 'gpu'), gives up in 40 s",
  /// "session missing", "requirements not met by any live worker", "no session capacity", "starts in 40 s".
  std::string state{};
  /// Whether somebody who is alive could do it: has the code, and serves the queue.
  bool served = true;
  std::optional<CalendarTime> due{};  ///< of a timer
  std::vector<RunWait> waits{};       ///< of a child: what it waits for itself

  // Of an activity:
  std::string queue{};
  std::string running_on{};  ///< the node, when it runs
  int attempt = 0;
  int delivery = 0;                       ///< 0: not yet handed out in this attempt
  std::optional<Duration> gives_up_in{};  ///< until it fails because nobody took it
  std::optional<Failure> last_failure{};  ///< of the attempt before
  std::optional<Payload>
      last_heartbeat{};  ///< as ActivityContext::heartbeat() said, also in earlier attempts

  /// The details of the last heartbeat as a T; throws DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> heartbeat() const {
    if (!last_heartbeat) return std::nullopt;
    return decode<T>(*last_heartbeat).value();
  }
};

/// An activity that was taken away while it ran. It is shown until the lease that it had is over.
struct RunCancel {
  /// requested: its code has not answered yet; acknowledged: it has ended; abandoned: it goes on after its
  /// grace, and nobody waits for it.
  using State = store::CancelRecord::State;
  std::string name{};
  ExecutionNumber execution{};
  EventId event{};  ///< that scheduled it
  CancelReason reason = CancelReason::dropped;
  State state = State::requested;
  std::string running_on{};  ///< the node, if it is still registered
  Duration since{};          ///< how long ago it was taken away
};

/// What it waits for and where.
struct RunDetail {
  RunInfo info{};
  std::string running_on{};  ///< the node that has it in its hands now, if any
  std::vector<RunWait> waits{};
  std::vector<RunCancel> cancels{};
  std::uint64_t unread_messages = 0;
};

/// How a request to cancel is meant.
struct CancelOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::optional<Duration> terminate_after{};  ///< ends it without asking if it still runs by then
};

/// A handle: copies mean the same instance, and dropping one does nothing to it. Thread-safe. Calls throw
/// ClientError when the store refuses them; while it is unavailable, they try again for
/// ClientOptions::retry_for.
class Run {
 public:
  Run(std::shared_ptr<detail::ClientCore> core, std::string id, InstanceKey key)
      : core_(std::move(core)), id_(std::move(id)), key_(key) {}

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  /// This life of the id.
  [[nodiscard]] InstanceKey key() const noexcept { return key_; }

  /// Waits for its end and gives its result. Throws what it failed with: ChildError also when it was
  /// cancelled or terminated, which its category says. TimeoutError when it has not ended within `timeout`;
  /// it goes on.
  template <class T = void>
  T wait(Duration timeout = never) const {
    return result<T>(timeout).value();
  }
  /// The same, with failures as values.
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

  [[nodiscard]] Status status() const { return info().status; }
  [[nodiscard]] RunInfo info() const;
  [[nodiscard]] RunDetail describe() const;
  /// What the code last gave to ctx.set_status().
  template <class T>
  [[nodiscard]] std::optional<T> custom_status() const {
    return decode_optional<T>(info().custom_status);
  }
  /// Waits until the custom status is another than when the call began, or the run ends; nothing when
  /// `timeout` passed before.
  [[nodiscard]] std::optional<RunInfo> wait_for_change(Duration timeout = never) const;
  /// The same, another than in `since`: a change between two calls is not missed.
  [[nodiscard]] std::optional<RunInfo> wait_for_change(const RunInfo& since, Duration timeout = never) const;
  /// A value that the code set: ctx.set_value().
  template <class T>
  [[nodiscard]] std::optional<T> value(std::string_view key) const {
    return decode_optional<T>(read_value(key));
  }

  /// Raises an event: kept until the code waits for it.
  template <class T>
  void raise(std::string_view event, const T& value) const {
    send_to({Address::Kind::event, std::string(event)}, encode(value));
  }
  void raise(std::string_view event) const {
    send_to({Address::Kind::event, std::string(event)}, {kJsonEncoding, "null"});
  }
  /// Puts a message into a mailbox: received in the order in which they were sent.
  template <class T>
  void send(std::string_view mailbox, const T& value) const {
    send_to({Address::Kind::mailbox, std::string(mailbox)}, encode(value));
  }

  /// Asks it to stop: its awaits throw Cancelled, and its code may tidy up.
  void cancel(std::string_view reason) const { cancel(CancelOptions{}, reason); }
  void cancel(CancelOptions options, std::string_view reason) const;
  /// Ends it without asking its code.
  void terminate(std::string_view reason) const;

 private:
  template <class T>
  static std::optional<T> decode_optional(const std::optional<Payload>& payload) {
    if (!payload) return std::nullopt;
    return decode<T>(*payload).value();
  }
  [[nodiscard]] Result<Payload> wait_for_output(Duration timeout) const;
  [[noreturn]] void refuse_as_gone() const;
  [[nodiscard]] std::optional<Payload> read_value(std::string_view key) const;
  void send_to(Address address, Payload value) const;

  std::shared_ptr<detail::ClientCore> core_;
  std::string id_;
  InstanceKey key_;
};

}  // namespace holdfast
