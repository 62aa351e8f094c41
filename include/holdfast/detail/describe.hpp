// From options to operations: copies the texts, checks the names.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/detail/operation.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>

#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

/// Throws std::invalid_argument when the options don't go together.
SessionSettings session_settings(const SessionOptions& options);
/// For the door of worker sessions: what is not set takes its defaults.
SessionSettings worker_session_settings(std::string_view id, SessionOptions options);
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
Described describe_event(std::string_view name);

/// Why a message can't be read as a T, if it can't.
template <class T>
std::optional<Failure> why_unreadable(const Payload& payload) {
  Result<T> value = decode<T>(payload);
  if (value) return std::nullopt;
  return std::move(value).error();
}
/// Of an operation that waits for messages: those that can't be read as a T are not for it.
template <class T>
Described readable_as(Described described) {
  if constexpr (!std::is_void_v<T>) described->why_unreadable = &why_unreadable<T>;
  return described;
}

/// A timer that counts from the moment when it is started.
Described describe_sleep(Duration duration);
Described describe_effect(std::function<Payload()> effect);
Described describe_value_read(std::string_view instance, std::string_view key);

}  // namespace holdfast::detail
