// Makes descriptions of operations from options: copies the texts, checks names and values.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

/// SessionOptions with texts of its own.
struct SessionSettings;
using SharedSessionSettings = std::shared_ptr<const SessionSettings>;
/// Of a session that its first activity creates: unset members take their defaults. Throws
/// std::invalid_argument when the options don't go together.
SharedSessionSettings worker_session_settings(std::string_view id, SessionOptions options);
/// What `call` sets, and for the rest what `handle` sets, member by member.
ActivityOptions merged(const ActivityOptions& handle, const ActivityOptions& call);
/// `session`: the policy that comes with the activity; its id may also be options.session.
Described describe_activity(std::string_view name, const ActivityOptions* options, Payload input,
                            const SessionSettings* session = nullptr);
Described describe_child(std::string_view name, const ChildOptions& options, Payload input);
Described describe_detached(std::string_view name, const DetachedOptions& options, Payload input);
Described describe_launch(std::string_view name, const DetachedOptions& options, Payload input);
Described describe_sent_event(std::string_view instance, std::string_view event, const SendOptions& options,
                              Payload value);
Described describe_sent_message(std::string_view instance, std::string_view mailbox,
                                const SendOptions& options, Payload value);
Described describe_sent_cancel(std::string_view instance, std::string_view reason);
Described describe_sent_terminate(std::string_view instance, std::string_view reason);
Described describe_end(std::string_view instance);
Described describe_event(std::string_view name);
Described describe_message(std::string_view mailbox);
/// try_receive(): a message, if there is one.
Described describe_message_look(std::string_view mailbox);
Described describe_session_opening(const SessionOptions& options);
Described describe_session_closing(std::string_view id);
Described describe_session_event(std::string_view id);

/// Why a message can't be read as a T, if it can't.
template <class T>
std::optional<Failure> why_unreadable(const Payload& payload) {
  Result<T> value = decode<T>(payload);
  if (value) return std::nullopt;
  return std::move(value).error();
}
/// For an operation that waits for messages: it does not take those that `why_unreadable` refuses.
Described readable_by(Described described, WhyUnreadable why_unreadable);
template <class T>
Described readable_as(Described described) {
  if constexpr (std::is_void_v<T>) {
    return described;
  } else {
    return readable_by(std::move(described), &why_unreadable<T>);
  }
}

Described describe_timer(CalendarTime due);
/// A timer that counts from the moment when it is started.
Described describe_sleep(Duration duration);
Described describe_effect(std::function<Payload()> effect);
Described describe_value_read(std::string_view instance, std::string_view key);

}  // namespace holdfast::detail
