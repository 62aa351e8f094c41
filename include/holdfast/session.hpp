// Session: activities that share what one worker holds in memory.
//
//   auto gpu = co_await ctx.open_session({.requirements = {"gpu:l4"}, .ttl = 30min});
//   auto frames = co_await gpu.activity<Frames>("render", job);
//   co_await gpu.close();
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/detail/describe.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/op.hpp>
#include <holdfast/task.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

/// A change of a session, for orchestrations that wait for it.
struct SessionEvent {
  enum class Kind : std::uint8_t {
    claimed,   ///< for the first time
    moved,     ///< to another worker, with its saved state or by plan
    lost,      ///< its owner is gone, and no other worker may take over; or an activity aborted it
    restored,  ///< claimed again after its owner was lost, with nothing saved; or by the same owner
    closed,    ///< by code, by a client, or because its opener has ended
    expired,   ///< its TTL is over; or its record was removed since it was not used any more
  };
  Kind kind = Kind::claimed;
  std::string from{};    ///< the node that held it before, if any
  std::string to{};      ///< the node that holds it now, if any
  std::string reason{};  ///< a SessionReason, as text
  std::uint64_t generation = 0;
};

std::string_view to_string(SessionEvent::Kind kind) noexcept;

namespace detail {
template <>
struct OutcomeReader<SessionEvent> {
  static Result<SessionEvent> read(OpState& state);
};
}  // namespace detail

/// A handle by id; copies refer to the same session. Making one records nothing.
class Session {
 public:
  Session(detail::Core& core, std::string_view id);
  Session(detail::Core& core, detail::SharedSessionSettings settings);

  [[nodiscard]] const std::string& id() const noexcept;

  /// An activity that runs on the session's owner.
  template <class R, class... In>
  Op<R> activity(std::string_view name, In&&... in) const {
    detail::check_inputs<In...>();
    return {*core_, detail::describe_activity(name, nullptr, encode_args(in...), settings_.get())};
  }
  template <class R, class... In>
  Op<R> activity(std::string_view name, ActivityOptions options, In&&... in) const {
    detail::check_inputs<In...>();
    return {*core_, detail::describe_activity(name, &options, encode_args(in...), settings_.get())};
  }
  template <class R, class... P, class... In>
    requires(sizeof...(In) == sizeof...(P) && (std::convertible_to<In, P> && ...))
  Op<R> activity(const Activity<R(P...)>& handle, In&&... in) const {
    detail::check_inputs<In...>();
    return {*core_, detail::describe_activity(handle.name, &handle.options,
                                              encode_args(static_cast<const P&>(std::forward<In>(in))...),
                                              settings_.get())};
  }

  template <class R, class... P, class... In>
    requires(sizeof...(In) == sizeof...(P) && (std::convertible_to<In, P> && ...))
  Op<R> activity(const Activity<R(P...)>& handle, ActivityOptions options, In&&... in) const {
    detail::check_inputs<In...>();
    options = detail::merged(handle.options, options);
    return {*core_, detail::describe_activity(handle.name, &options,
                                              encode_args(static_cast<const P&>(std::forward<In>(in))...),
                                              settings_.get())};
  }
  template <class R, class... In>
  Op<R> activity(std::string_view name, detail::BareBraces, In&&... in) const volatile;
  template <class R, class... P, class... In>
  Op<R> activity(const Activity<R(P...)>& handle, detail::BareBraces, In&&... in) const volatile;

  /// Ends the session. Its queued activities fail with SessionClosed. No effect when it has ended already.
  Op<void> close() const { return {*core_, detail::describe_session_closing(id())}; }
  /// The next event of the session, in order. Events are recorded for this instance from open_session() on if
  /// it opened the session, otherwise from its first wait for one, and are kept until the code waits.
  Op<SessionEvent> next_event() const { return {*core_, detail::describe_session_event(id())}; }
  /// Waits until the session has changed hands, or has ended: the next event that is not its first claim.
  Task<SessionEvent> moved() const;

 private:
  detail::Core* core_;
  detail::SharedSessionSettings settings_;
};

namespace detail {

/// The outcome of opening a session is its id.
template <>
struct OutcomeReader<Session> {
  static Result<Session> read(OpState& state);
};

}  // namespace detail
}  // namespace holdfast
