#include "client/bodies.hpp"
#include "client/core.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/random.hpp>
#include <holdfast/run.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast {

namespace detail {

void ClientCore::refuse(const StoreError& error) {
  using Kind = ClientError::Kind;
  switch (error.kind) {
    case StoreError::Kind::conflict:
      throw ClientError(Kind::conflict, error.message);
    case StoreError::Kind::not_found:
    case StoreError::Kind::gone:
      throw ClientError(Kind::not_found, error.message);
    case StoreError::Kind::invalid:
      throw ClientError(Kind::invalid, error.message);
    case StoreError::Kind::lost:
    case StoreError::Kind::superseded:
    case StoreError::Kind::unavailable:
      break;
  }
  throw ClientError(Kind::unavailable, error.message);
}

RunInfo to_info(const store::InstanceView& view) {
  RunInfo info{.id = view.instance,
               .orchestration = view.code.name,
               .version = view.code.version,
               .execution = view.execution,
               .status = view.status,
               .parked_because = view.parked_because,
               .created_at = view.created_at,
               .updated_at = view.updated_at,
               .cancel_requested_at = view.cancel_requested_at};
  if (view.custom_status) info.custom_status = bodies::read<Payload>(*view.custom_status);
  if (store::has_ended(view.status) && view.status != Status::completed) {
    if (auto outcome = bodies::read<bodies::Outcome>(view.output)) info.failure = std::move(outcome->failure);
  }
  return info;
}

}  // namespace detail

namespace {

std::string seconds_text(Duration duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return ms >= 10'000 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

RunWait to_wait(const store::ActivityView& activity) {
  RunWait wait{.kind = RunWait::Kind::activity, .name = activity.name};
  const std::string attempt = ", attempt " + std::to_string(activity.attempt);
  if (activity.running) {
    wait.state = "running on " + activity.owner + attempt;
  } else if (activity.due_in > Duration::zero()) {
    wait.state = "next in " + seconds_text(activity.due_in) + attempt;
  } else {
    wait.state =
        "queued" + (activity.queue.empty() ? std::string() : " in '" + activity.queue + "'") + attempt;
  }
  if (!activity.session.empty()) wait.state += ", session '" + activity.session + "'";
  return wait;
}

RunWait to_wait(const Address& address) {
  static_assert(static_cast<int>(RunWait::Kind::session) - static_cast<int>(RunWait::Kind::event) ==
                static_cast<int>(Address::Kind::session));
  const auto kind =
      static_cast<RunWait::Kind>(static_cast<int>(RunWait::Kind::event) + static_cast<int>(address.kind));
  return {.kind = kind, .name = address.name, .state = "nothing has come yet"};
}

}  // namespace

Result<Payload> Run::wait_for_output(Duration timeout) const {
  const auto view =
      core_->watcher().wait(key_, timeout, [](const auto& v) { return store::has_ended(v.status); });
  if (!view || !store::has_ended(view->status)) {
    const auto now = core_->store().look({&key_, 1});  // once: the time is up, also when it doesn't answer
    if (now && !now->front())
      throw ClientError(ClientError::Kind::not_found, "instance '" + id_ + "' was deleted");
    return Unexpected(Failure{
        .category = Category::timeout,
        .type = "wait_timeout",
        .message = "instance '" + id_ + "' has not ended within " + seconds_text(timeout) + "; it goes on",
        .source = "orchestration " + id_});
  }
  auto outcome = bodies::read<bodies::Outcome>(view->output);
  if (!outcome) {
    return Unexpected(Failure{.category = Category::decode,
                              .type = "output_unreadable",
                              .message = "the result of instance '" + id_ + "' can't be read",
                              .source = "orchestration " + id_,
                              .retryable = false});
  }
  if (outcome->failure) return Unexpected(*std::move(outcome->failure));
  return std::move(outcome->value);
}

RunInfo Run::info() const {
  const auto views = core_->call([&] { return core_->store().look({&key_, 1}); });
  if (!views.front()) throw ClientError(ClientError::Kind::not_found, "there is no instance '" + id_ + "'");
  return detail::to_info(*views.front());
}

std::optional<RunInfo> Run::wait_for_change(Duration timeout) const {
  const auto views = core_->call([&] { return core_->store().look({&key_, 1}); });
  if (!views.front()) throw ClientError(ClientError::Kind::not_found, "there is no instance '" + id_ + "'");
  const store::InstanceView before = *views.front();
  if (store::has_ended(before.status)) return detail::to_info(before);
  const auto view = core_->watcher().wait(key_, timeout, [&](const store::InstanceView& now) {
    return store::has_ended(now.status) || now.custom_status_version != before.custom_status_version;
  });
  if (!view) return std::nullopt;
  return detail::to_info(*view);
}

RunDetail Run::describe() const {
  const store::InstanceDetail found = core_->call([&] { return core_->store().describe(id_); });
  RunDetail detail{
      .info = detail::to_info(found.view), .running_on = found.locked_by, .unread_messages = found.unread};
  for (const store::ActivityView& activity : found.activities) detail.waits.push_back(to_wait(activity));
  for (const store::NewTimer& timer : found.timers) {
    detail.waits.push_back({.kind = RunWait::Kind::timer, .state = "not due yet", .due = timer.due});
  }
  for (const Address& address : found.waits) detail.waits.push_back(to_wait(address));
  if (!store::has_ended(found.view.status) && detail.waits.empty() && found.locked_by.empty()) {
    detail.waits.push_back(
        {.kind = RunWait::Kind::worker, .name = found.view.code.name, .state = "no worker has taken it yet"});
  }
  return detail;
}

std::optional<Payload> Run::read_value(std::string_view key) const {
  const auto value = core_->call([&] { return core_->store().value(id_, key); });
  if (!value) return std::nullopt;
  return bodies::read<Payload>(*value);
}

void Run::send_to(Address address, Payload value) const {
  address.name =
      detail::checked_name(address.kind == Address::Kind::event ? "an event" : "a mailbox", address.name);
  const store::ClientMessage message{.instance = id_,
                                     .message = {.kind = store::MessageKind::delivery,
                                                 .address = std::move(address),
                                                 .body = bodies::to_bytes(value)},
                                     .request = random_token<RequestId>(core_->random()),
                                     .keep_early = Duration::zero()};
  core_->call([&] { return std::move(core_->store().send({&message, 1}).front()); });
}

namespace {

store::ClientMessage control_message(Random& random, const std::string& id, bodies::Control control) {
  return {.instance = id,
          .message = {.kind = store::MessageKind::control, .body = bodies::to_bytes(control)},
          .request = random_token<RequestId>(random)};
}

}  // namespace

void Run::cancel(CancelOptions options, std::string_view reason) const {
  std::vector<store::ClientMessage> messages{control_message(
      core_->random(), id_, {.kind = bodies::Control::Kind::cancel, .reason = std::string(reason)})};
  messages.front().cancels = true;
  if (options.terminate_after) {
    messages.push_back(control_message(
        core_->random(), id_, {.kind = bodies::Control::Kind::terminate, .reason = std::string(reason)}));
    messages.back().delay = *options.terminate_after;
  }
  // In one go: the instance may end by the first before the second is sent.
  core_->call([&] {
    std::vector<StoreResult<InstanceKey>> answers = core_->store().send(messages);
    const auto refused =
        std::find_if(answers.begin(), answers.end(), [](const auto& answer) { return !answer; });
    return std::move(refused == answers.end() ? answers.front() : *refused);
  });
}

void Run::terminate(std::string_view reason) const {
  const store::ClientMessage message = control_message(
      core_->random(), id_, {.kind = bodies::Control::Kind::terminate, .reason = std::string(reason)});
  core_->call([&] { return std::move(core_->store().send({&message, 1}).front()); });
}

}  // namespace holdfast
