// ActivityContext: what a running activity knows about itself, and how it learns that it should stop.
//
//   rt.activity("resize", [](ActivityContext& ctx, Image image) {
//     for (auto& tile : image.tiles) {
//       ctx.throw_if_stopping();
//       resize(tile);
//       ctx.heartbeat(tile.number);
//     }
//     return image;
//   });
#pragma once

#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast {

template <class T>
class SessionState;

namespace detail {
class ActivityCall;
class SessionStateCode;

struct InCoroutine {};
/// What ActivityContext::cancelled() returns. holdfast/asio.hpp defines it.
template <class Where>
struct CancelledAwait {
  static_assert(!std::is_same_v<Where, Where>,
                "holdfast: ctx.cancelled() is for activities that are coroutines; include holdfast/asio.hpp");
};

/// What SessionState::when_free() returns. holdfast/asio.hpp defines it.
template <class Where>
struct StateAwait {
  static_assert(!std::is_same_v<Where, Where>,
                "holdfast: when_free() is for activities that are coroutines; include holdfast/asio.hpp");
};

}  // namespace detail

/// The session that an activity belongs to.
struct ActivitySession {
  std::string id{};
  /// A fencing token: grows with each claim of the session, and is never used twice. A database or device
  /// that remembers the highest one it has seen can refuse late requests of a former owner.
  Generation generation{};
  /// This is the first activity since this worker began to hold the session, so nothing of it is in memory
  /// yet. Retries of that activity are fresh, too. The first activity after a re-claim with no other owner in
  /// between is not. Of activities that run concurrently only one is fresh, and another may be the first to
  /// look into memory: compare `held_since` to find out what is old.
  bool fresh = false;
  /// The generation in which this worker began to hold the session; no other worker has held it since. What
  /// this worker has in memory from an earlier generation is old.
  Generation held_since{};
};

/// The context of one attempt. Valid while the activity's code runs; any of its threads may use it.
class ActivityContext {
 public:
  explicit ActivityContext(detail::ActivityCall& call) noexcept : call_(call) {}
  ActivityContext(const ActivityContext&) = delete;
  ActivityContext& operator=(const ActivityContext&) = delete;

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const std::string& instance() const noexcept;
  [[nodiscard]] ExecutionNumber execution() const noexcept;
  /// The event in history that scheduled it.
  [[nodiscard]] EventId activity_id() const noexcept;
  /// The number of this attempt, from 1: one more after each failure or timeout that is retried.
  [[nodiscard]] int attempt() const noexcept;
  /// How often this attempt was handed to a worker, from 1: one more each time a worker was lost with it.
  [[nodiscard]] int delivery() const noexcept;
  /// The same for all attempts and deliveries of this activity, and globally unique otherwise: pass it to the
  /// systems that you call, so that a repeated request takes effect once. 32 hexadecimal digits, a hash of
  /// the execution's random seed, the activity's place in history, its name and its input. So in a store that
  /// was restored from a backup, a call with the same input has the same key, and one with another input
  /// another.
  [[nodiscard]] std::string idempotency_key() const;

  /// Fires when the result is no longer wanted, the attempt has timed out, or this worker can't go on with
  /// it: it drains, or its lock could not be kept.
  [[nodiscard]] std::stop_token stop_token() const;
  /// For coroutines: `co_await ctx.cancelled()` goes on when the stop token fires. Needs holdfast/asio.hpp.
  template <class Where = detail::InCoroutine>
  [[nodiscard]] auto cancelled() const {
    return detail::CancelledAwait<Where>::of(stop_token());
  }
  /// Why the stop token fired; nothing before.
  [[nodiscard]] std::optional<CancelReason> cancel_reason() const noexcept;
  /// Throws when the stop token has fired: how code gives up half-way. Don't return a half result instead:
  /// where the reason is `worker_stopping` or `lease_lost` what is returned counts as the result, while an
  /// activity that throws is run again by another worker, and the attempt doesn't count.
  void throw_if_stopping() const;
  /// How long this attempt may still take; `never` when it has no limit.
  [[nodiscard]] Duration time_left() const noexcept;
  /// The same as a point in calendar time, to be passed to systems that it calls; nothing when it has no
  /// limit.
  [[nodiscard]] std::optional<CalendarTime> deadline() const noexcept;
  /// The queue that it came from; empty = the default one.
  [[nodiscard]] const std::string& queue() const noexcept;

  /// ActivityOptions::connection, or else SessionOptions::connection of its session; empty: none.
  [[nodiscard]] const std::string& connection() const noexcept;

  /// The session that it belongs to; nothing for an activity without one.
  [[nodiscard]] const std::optional<ActivitySession>& session() const noexcept;
  /// Declares the session's state unusable: the session fails when this attempt ends, and all activities that
  /// are queued or run in it fail with SessionAborted. The result of this attempt counts, and is not retried.
  /// No effect without a session, or when the session has another owner by then.
  void abort_session(std::string_view reason);

  /// Reports progress. Clients see the details, and so does the next attempt if this one fails. Not needed to
  /// keep the lock. Throws LimitError when the details are larger than Limits::payload_bytes.
  template <class T>
  void heartbeat(const T& details) {
    set_progress(encode(details));
  }
  /// The details of the last heartbeat, also of an earlier attempt.
  template <class T>
  [[nodiscard]] std::optional<T> last_heartbeat() const {
    const std::optional<Payload> payload = progress();
    if (!payload) return std::nullopt;
    return decode<T>(*payload).value();
  }

 private:
  template <class T>
  friend class SessionState;

  [[nodiscard]] void* session_state(const detail::SessionStateCode& code);
  /// Null when another activity uses it: then `when_free` is called once, from any thread, when it is worth
  /// asking again.
  [[nodiscard]] void* session_state(const detail::SessionStateCode& code, std::function<void()> when_free);
  void set_progress(Payload details);
  [[nodiscard]] std::optional<Payload> progress() const;

  detail::ActivityCall& call_;
};

}  // namespace holdfast
