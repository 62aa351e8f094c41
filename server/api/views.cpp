#include "server/api/views.hpp"

#include "codec/base64.hpp"

namespace holdfast::server {

namespace {

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
std::optional<PayloadView> part_view(const std::optional<Payload>& payload) {
  return payload ? std::optional(PayloadView{*payload}) : std::nullopt;
}
std::optional<FailureView> part_view(const std::optional<Failure>& failure) {
  return failure ? std::optional(server::view(*failure)) : std::nullopt;
}
std::optional<Duration> unless_never(std::optional<Duration> time) {
  return time == never ? std::nullopt : time;
}

WaitView part_view(const RunWait& wait) {
  WaitView shown{.kind = wait.kind,
                 .name = wait.name,
                 .state = wait.state,
                 .served = wait.served,
                 .since = wait.since,
                 .due = wait.due};
  for (const RunWait& inner : wait.waits) shown.waits.push_back(part_view(inner));
  shown.queue = wait.queue;
  shown.running_on = wait.running_on;
  shown.attempt = wait.attempt;
  shown.delivery = wait.delivery;
  shown.gives_up_in = wait.gives_up_in;
  shown.last_failure = part_view(wait.last_failure);
  shown.last_heartbeat = part_view(wait.last_heartbeat);
  return shown;
}

CancelView part_view(const RunCancel& cancel) {
  return {.name = cancel.name,
          .execution = cancel.execution.value,
          .event = cancel.event.value,
          .reason = std::string(to_string(cancel.reason)),
          .state = std::string(to_string(cancel.state)),
          .running_on = cancel.running_on,
          .since = cancel.since};
}

SessionPolicyView part_view(const SessionPolicy& policy) {
  return {.queue = policy.queue,
          .connection = policy.connection,
          .requirements = policy.requirements,
          .lease = policy.lease,
          .idle_timeout = unless_never(policy.idle_timeout),
          .ttl = unless_never(policy.ttl),
          .max_concurrent = policy.max_concurrent,
          .when_lost = policy.when_lost,
          .create_if_missing = policy.create_if_missing,
          .outlives_opener = policy.outlives_opener,
          .on_record = policy.on_record};
}

}  // namespace

FailureView view(const Failure& failure) {
  FailureView shown{.category = failure.category,
                    .type = failure.type,
                    .message = failure.message,
                    .source = failure.source,
                    .event = failure.event.value,
                    .attempt = failure.attempt,
                    .retryable = failure.retryable,
                    .details = {failure.details}};
  if (failure.cause) shown.cause = std::make_shared<FailureView>(view(*failure.cause));
  return shown;
}

InstanceView view(const RunInfo& info) {
  InstanceView shown{.id = info.id,
                     .orchestration = info.orchestration,
                     .version = info.version,
                     .execution = info.execution.value,
                     .status = info.status};
  shown.parent = unless_empty(info.parent);
  shown.created_at = info.created_at;
  shown.updated_at = info.updated_at;
  shown.cancel_requested_at = info.cancel_requested_at;
  shown.output = part_view(info.output_payload);
  shown.failure = part_view(info.failure);
  shown.parked_because = unless_empty(info.parked_because);
  shown.custom_status = part_view(info.custom_status);
  shown.custom_status_version = info.custom_status_version;
  shown.attributes = info.attributes;
  return shown;
}

InstanceDetailView view(const RunDetail& detail) {
  InstanceDetailView shown{.instance = view(detail.info), .running_on = detail.running_on};
  for (const RunWait& wait : detail.waits) shown.waits.push_back(part_view(wait));
  shown.more_children = detail.more_children;
  for (const RunCancel& cancel : detail.cancels) shown.cancels.push_back(part_view(cancel));
  shown.unread_messages = detail.unread_messages;
  shown.value_keys = detail.value_keys;
  return shown;
}

SessionView view(const SessionInfo& session) {
  return {.id = session.id,
          .status = std::string(session_status(session)),
          .reason = session.reason,
          .note = session.note,
          .owner = session.owner,
          .generation = session.generation.value,
          .wanted = session.wanted,
          .kept_for = session.kept_for,
          .policy = part_view(session.policy),
          .lease_left = session.lease_left,
          .ttl_left = unless_never(session.ttl_left),
          .quiet_for = session.quiet_for,
          .opened_by = session.opened_by,
          .queued = session.queued,
          .in_flight = session.in_flight,
          .saved_size = session.saved_size,
          .saved_version = session.saved_version,
          .created_at = session.created_at,
          .updated_at = session.updated_at};
}

SessionLogView view(const SessionLogEntry& entry) {
  return {.number = entry.number,
          .session = entry.session,
          .kind = entry.kind,
          .reason = entry.reason,
          .owner = entry.owner,
          .previous_owner = entry.previous_owner,
          .generation = entry.generation.value,
          .at = entry.at,
          .quiet_for = entry.quiet_for,
          .text = to_string(entry)};
}

WorkerView view(const WorkerInfo& worker) {
  return {.node = worker.node,
          .worker = worker.worker.value,
          .status = worker.status,
          .host = worker.host,
          .pid = worker.pid,
          .build = worker.build,
          .started_at = worker.started_at,
          .last_seen = worker.last_seen,
          .any_queue = worker.any_queue,
          .queues = worker.queues,
          .activities = worker.activities,
          .orchestrations = worker.orchestrations,
          .capabilities = worker.capabilities,
          .slots = worker.slots,
          .sessions = worker.sessions,
          .session_limit = worker.session_limit};
}

std::string SchemaName<PayloadView>::write(SchemaTable& /*table*/) {
  return R"({"type":"object","properties":{"encoding":{"type":"string"},"value":{},"base64":{"type":"string"}},)"
         R"("required":["encoding"],"additionalProperties":false})";
}

}  // namespace holdfast::server

namespace holdfast {

// What claims to be JSON was written by somebody else, and may be none.
void Codec<server::PayloadView>::write(JsonWriter& out, const server::PayloadView& view) {
  JsonReader check(view.payload.bytes);
  const bool is_json = view.payload.encoding == kJsonEncoding && check.skip() && check.finish();
  out.begin_object();
  out.key("encoding");
  out.string(view.payload.encoding.id());
  if (is_json) {
    out.key("value");
    out.raw(view.payload.bytes);
  } else {
    out.key("base64");
    out.string(codec::to_base64(view.payload.bytes));
  }
  out.end_object();
}

}  // namespace holdfast
