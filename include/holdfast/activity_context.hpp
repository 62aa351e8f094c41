// ActivityContext: what a running activity knows about itself, and how it learns that it should stop.
//
//   rt.activity("resize", [](ActivityContext& ctx, Image image) {
//     for (auto& tile : image.tiles) {
//       if (ctx.stop_token().stop_requested()) return image;
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
/// What ActivityContext::cancelled() gives. holdfast/asio.hpp has it.
template <class Where>
struct CancelledAwait {
  static_assert(!std::is_same_v<Where, Where>,
                "holdfast: ctx.cancelled() is for activities that are coroutines; include holdfast/asio.hpp");
};

/// What SessionState::when_free() gives. holdfast/asio.hpp has it.
template <class Where>
struct StateAwait {
  static_assert(!std::is_same_v<Where, Where>,
                "holdfast: when_free() is for activities that are coroutines; include holdfast/asio.hpp");
};

}  // namespace detail

/// The session that an activity belongs to.
struct ActivitySession {
  std::string id{};
  /// Grows whenever the session is claimed, and is never used twice: what a resource outside can tell late
  /// requests of a former owner by.
  Generation generation{};
  /// This is the first activity since this worker began to hold the session: nothing of it is in memory yet.
  /// A retry of that activity is fresh, too; one after a re-claim with no other owner in between is not. Of
  /// activities that run side by side one is fresh, and need not be the first to look: `held_since` tells all
  /// of them what is old.
  bool fresh = false;
  /// The generation in which this worker began to hold the session; nobody else has held it since. What the
  /// worker has in memory from an earlier one is old.
  Generation held_since{};
};

/// One attempt. Valid while the activity's code runs; any of its threads may use it.
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
  /// From 1; one more after each failure that is retried.
  [[nodiscard]] int attempt() const noexcept;
  /// From 1 in each attempt; one more when a worker was lost with it.
  [[nodiscard]] int delivery() const noexcept;
  /// The same for all attempts and deliveries, and for nothing else in the world: what makes a repeated
  /// request harmless. 32 hexadecimal digits that follow from the execution's random seed, the activity's
  /// place in history, its name and its input; so a store that was restored from a backup, and goes on with
  /// another input, gives another key.
  [[nodiscard]] std::string idempotency_key() const;

  /// Fires when the result is no longer wanted, or this worker can't keep its hold on the activity.
  [[nodiscard]] std::stop_token stop_token() const noexcept;
  /// For coroutines: `co_await ctx.cancelled()` goes on when the stop token fires. Needs holdfast/asio.hpp.
  template <class Where = detail::InCoroutine>
  [[nodiscard]] auto cancelled() const {
    return detail::CancelledAwait<Where>::of(stop_token());
  }
  [[nodiscard]] std::optional<CancelReason> cancel_reason() const noexcept;
  /// How long this attempt may still take; `never` when it has no limit.
  [[nodiscard]] Duration time_left() const noexcept;
  /// The same as a time on the wall, to be passed on to what it calls; nothing when it has no limit.
  [[nodiscard]] std::optional<CalendarTime> deadline() const noexcept;
  /// The queue that it came from; empty = the default one.
  [[nodiscard]] const std::string& queue() const noexcept;

  /// The text that it was scheduled with, else that of its session (SessionOptions::connection); empty: none.
  [[nodiscard]] const std::string& connection() const noexcept;

  /// The session that it belongs to; nothing for an activity without one.
  [[nodiscard]] const std::optional<ActivitySession>& session() const noexcept;
  /// Declares the session's state unusable. When this attempt ends, its session fails with it: what is queued
  /// and what runs in it ends with SessionAborted. The result of this attempt counts, and is not retried. No
  /// effect without a session, or when the session has another owner by then.
  void abort_session(std::string_view reason);

  /// Tells how far it is. The details are seen by clients, and by the next attempt if this one fails. The
  /// lock is kept without it, too. Throws LimitError when the details are larger than Limits::payload_bytes.
  template <class T>
  void heartbeat(const T& details) {
    set_progress(encode(details));
  }
  /// What the last heartbeat with details said, also of an earlier attempt.
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
  /// Null when another activity has it: then `when_free` is called once, when it is worth asking again, by
  /// whichever thread that is.
  [[nodiscard]] void* session_state(const detail::SessionStateCode& code, std::function<void()> when_free);
  void set_progress(Payload details);
  [[nodiscard]] std::optional<Payload> progress() const;

  detail::ActivityCall& call_;
};

}  // namespace holdfast
