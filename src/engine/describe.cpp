#include "base/check_options.hpp"
#include "base/versions.hpp"
#include "engine/description.hpp"

#include <holdfast/detail/describe.hpp>
#include <holdfast/detail/names.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace holdfast::detail {

namespace {

std::vector<std::string> copy(const Names& names) { return {names.begin(), names.end()}; }

std::string optional_name(std::string_view what, std::string_view name) {
  return name.empty() ? std::string() : checked_name(what, name);
}

RetrySettings retry_settings(const RetryPolicy& policy) {
  return {.max_attempts = policy.max_attempts,
          .backoff = policy.backoff,
          .first_delay = policy.first_delay,
          .factor = policy.factor,
          .max_delay = policy.max_delay,
          .jitter = policy.jitter,
          .total_deadline = policy.total_deadline,
          .non_retryable = copy(policy.non_retryable)};
}

ActivitySettings activity_settings(const ActivityOptions& options) {
  ActivitySettings settings{.queue = optional_name("a queue", options.queue),
                            .timeout = options.timeout,
                            .schedule_to_start = options.schedule_to_start,
                            .retry = retry_settings(options.retry),
                            .priority = options.priority.value_or(0),
                            .connection = std::string(options.connection)};
  if (options.session) {
    settings.session = SessionSettings{.id = checked_name("a session", *options.session)};
  }
  return settings;
}

SessionSettings session_settings(const SessionOptions& options) {
  check_options({"session", options.id}, options);
  return {.id = optional_name("a session", options.id),
          .queue = optional_name("a queue", options.queue),
          .connection = std::string(options.connection),
          .requirements = copy(options.requirements),
          .lease = options.lease,
          .idle_timeout = options.idle_timeout,
          .ttl = options.ttl,
          .max_concurrent_activities = options.max_concurrent_activities,
          .create_if_missing = options.create_if_missing,
          .allow_reacquire_after_failure = options.allow_reacquire_after_failure,
          .outlives_opener = options.outlives_opener};
}

}  // namespace

void FreeDescription::operator()(Description* description) const noexcept { delete description; }

SharedSessionSettings worker_session_settings(std::string_view id, SessionOptions options) {
  options.id = id;
  if (!options.lease) options.lease = std::chrono::seconds(120);
  if (!options.idle_timeout) options.idle_timeout = never;
  if (!options.ttl) options.ttl = std::chrono::seconds(1800);
  if (!options.max_concurrent_activities) options.max_concurrent_activities = 1;
  SessionSettings settings = session_settings(options);
  settings.id = checked_name("a session", id);
  return std::make_shared<const SessionSettings>(std::move(settings));
}

ActivityOptions merged(const ActivityOptions& handle, const ActivityOptions& call) {
  const auto text = [](std::string_view over, std::string_view under) { return over.empty() ? under : over; };
  const auto value = [](const auto& over, const auto& under) { return over ? over : under; };
  const RetryPolicy& over = call.retry;
  const RetryPolicy& under = handle.retry;
  return {.session = value(call.session, handle.session),
          .queue = text(call.queue, handle.queue),
          .connection = text(call.connection, handle.connection),
          .timeout = value(call.timeout, handle.timeout),
          .schedule_to_start = value(call.schedule_to_start, handle.schedule_to_start),
          .retry = {.max_attempts = value(over.max_attempts, under.max_attempts),
                    .backoff = value(over.backoff, under.backoff),
                    .first_delay = value(over.first_delay, under.first_delay),
                    .factor = value(over.factor, under.factor),
                    .max_delay = value(over.max_delay, under.max_delay),
                    .jitter = value(over.jitter, under.jitter),
                    .total_deadline = value(over.total_deadline, under.total_deadline),
                    .non_retryable = over.non_retryable.empty() ? under.non_retryable : over.non_retryable},
          .priority = value(call.priority, handle.priority)};
}

Described describe_activity(std::string_view name, const ActivityOptions* options, Payload input,
                            const SessionSettings* session) {
  Described described(new Description);
  auto& activity = described->operation.emplace<ActivityScheduled>();
  activity.name = checked_name("an activity", name);
  activity.input = std::move(input);
  if (options != nullptr) check_options({"activity", name}, *options);
  if (options != nullptr || session != nullptr) {
    ActivitySettings settings = options != nullptr ? activity_settings(*options) : ActivitySettings{};
    if (session != nullptr) settings.session = *session;
    activity.settings = std::move(settings);
  }
  return described;
}

Described describe_child(std::string_view name, const ChildOptions& options, Payload input) {
  check_options({"child", name}, options);
  return describe_operation(
      ChildStarted{.id = optional_name("an instance", options.id),
                   .name = checked_name("an orchestration", name),
                   .version = wanted_version(options.version),
                   .on_parent_close = options.on_parent_close,
                   .input = std::move(input),
                   .retry = retry_settings(options.retry),
                   .attributes = options.attributes.checked("child '" + std::string(name) + "'")});
}

Described describe_detached(std::string_view name, const DetachedOptions& options, Payload input) {
  return describe_operation(
      DetachedStarted{.id = optional_name("an instance", options.id),
                      .name = checked_name("an orchestration", name),
                      .version = wanted_version(options.version),
                      .input = std::move(input),
                      .attributes = options.attributes.checked("orchestration '" + std::string(name) + "'")});
}

Described describe_launch(std::string_view name, const DetachedOptions& options, Payload input) {
  Described described = describe_detached(name, options, std::move(input));
  std::get<DetachedStarted>(described->operation).launched = true;
  return described;
}

namespace {

Described describe_sent(std::string_view instance, Address address, const SendOptions& options,
                        Payload value) {
  check_delay({"the message for", instance}, "keep_for", options.keep_for);
  return describe_operation(MessageSent{.instance = checked_name("an instance", instance),
                                        .channel = address.kind,
                                        .name = std::move(address.name),
                                        .value = std::move(value),
                                        .keep_for = options.keep_for});
}

}  // namespace

Described describe_sent_event(std::string_view instance, std::string_view event, const SendOptions& options,
                              Payload value) {
  return describe_sent(instance, {Address::Kind::event, checked_name("an event", event)}, options,
                       std::move(value));
}

Described describe_sent_message(std::string_view instance, std::string_view mailbox,
                                const SendOptions& options, Payload value) {
  return describe_sent(instance, {Address::Kind::mailbox, checked_name("a mailbox", mailbox)}, options,
                       std::move(value));
}

Described describe_sent_cancel(std::string_view instance, std::string_view reason) {
  const std::string whose = "the request to cancel '" + std::string(instance) + "'";
  return describe_operation(CancelSent{checked_name("an instance", instance), checked_reason(whose, reason)});
}

Described describe_sent_terminate(std::string_view instance, std::string_view reason) {
  const std::string whose = "the request to terminate '" + std::string(instance) + "'";
  return describe_operation(
      TerminateSent{checked_name("an instance", instance), checked_reason(whose, reason)});
}

Described describe_end(std::string_view instance) {
  return describe_operation(EndAwaited{checked_name("an instance", instance)});
}

Described describe_event(std::string_view name) {
  return describe_operation(EventAwaited{checked_name("an event", name)});
}

Described describe_message(std::string_view mailbox) {
  return describe_operation(MessageAwaited{std::string(mailbox)});
}

Described describe_message_look(std::string_view mailbox) {
  return describe_operation(MessageTried{std::string(mailbox), {}});
}

Described readable_by(Described described, WhyUnreadable why_unreadable) {
  described->why_unreadable = why_unreadable;
  return described;
}

Described describe_session_opening(const SessionOptions& options) {
  return describe_operation(SessionOpened{session_settings(options)});
}

Described describe_session_closing(std::string_view id) {
  return describe_operation(SessionClosing{std::string(id)});
}

Described describe_session_event(std::string_view id) {
  return describe_operation(SessionEventAwaited{std::string(id)});
}

Described describe_timer(CalendarTime due) { return describe_operation(TimerStarted{due}); }

Described describe_sleep(Duration duration) {
  Described described = describe_operation(TimerStarted{});
  described->delay = duration;
  return described;
}

Described describe_effect(std::function<Payload()> effect) {
  Described described = describe_operation(SideEffectRecorded{});
  described->effect = std::move(effect);
  return described;
}

Described describe_value_read(std::string_view instance, std::string_view key) {
  return describe_operation(ValueRead{checked_name("an instance", instance), checked_name("a value", key)});
}

}  // namespace holdfast::detail
