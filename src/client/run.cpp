#include "base/check_options.hpp"
#include "base/limit_failure.hpp"
#include "client/bodies.hpp"
#include "client/core.hpp"
#include "client/seconds_text.hpp"

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
    case StoreError::Kind::damaged:
      throw ClientError(Kind::damaged, error.message);
    case StoreError::Kind::lost:
    case StoreError::Kind::superseded:
    case StoreError::Kind::busy:
    case StoreError::Kind::unavailable:
      break;
  }
  throw ClientError(Kind::unavailable, error.message);
}

void ClientCore::check_size(const std::string& what, const Payload& payload) const {
  const std::uint64_t limit = options_.max_payload_bytes;
  if (limit == 0 || payload.bytes.size() <= limit) return;
  throw ClientError(ClientError::Kind::invalid, payload_too_large(what, payload.bytes.size(), limit).message);
}

store::ClientMessage ClientCore::delivery(std::string_view id, const Address& address,
                                          const MessageOptions& options, const Payload& value) {
  const bool event = address.kind == Address::Kind::event;
  check_size((event ? "the event '" : "a message for '") + address.name + "'", value);
  return {.instance = checked_name("an instance", id),
          .message = {.kind = store::MessageKind::delivery,
                      .address = {address.kind, checked_name(event ? "an event" : "a mailbox", address.name)},
                      .body = bodies::to_bytes(value)},
          .request = random_token<RequestId>(random()),
          .delay = options.delay,
          .keep_early = options.keep_for};
}

RunInfo to_info(const store::InstanceView& view) {
  RunInfo info{.id = view.instance,
               .orchestration = view.code.name,
               .version = view.code.version,
               .execution = view.execution,
               .status = view.status,
               .parked_because = view.parked_because,
               .custom_status_version = view.custom_status_version,
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

// The key is that of one life of the id: another instance may have it by now.
void Run::refuse_as_gone() const {
  const auto now = core_->store().find(id_);
  const std::string who = "instance '" + id_ + "'";
  if (now) {
    throw ClientError(ClientError::Kind::not_found,
                      who +
                          " is gone: another one was started under its id since (Reuse::after_end), and its "
                          "result went with it");
  }
  const bool deleted = now.error().kind == StoreError::Kind::not_found;
  throw ClientError(ClientError::Kind::not_found, who + (deleted ? " was deleted" : " is gone"));
}

Result<Payload> Run::wait_for_output(Duration timeout) const {
  const auto view =
      core_->watcher().wait(key_, timeout, [](const auto& v) { return store::has_ended(v.status); });
  if (!view || !store::has_ended(view->status)) {
    const auto now = core_->store().look({&key_, 1});  // once: the time is up, also when it doesn't answer
    if (now && !now->front()) refuse_as_gone();
    return Unexpected(Failure{.category = Category::timeout,
                              .type = "wait_timeout",
                              .message = "instance '" + id_ + "' has not ended within " +
                                         client::seconds_text(timeout) + "; it goes on",
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
  if (!views.front()) refuse_as_gone();
  return detail::to_info(*views.front());
}

std::optional<RunInfo> Run::wait_for_change(Duration timeout) const {
  return wait_for_change(info(), timeout);
}

std::optional<RunInfo> Run::wait_for_change(const RunInfo& since, Duration timeout) const {
  const auto changed = [&](const store::InstanceView& now) {
    return store::has_ended(now.status) || now.custom_status_version != since.custom_status_version;
  };
  const auto view = core_->watcher().wait(key_, timeout, changed);
  if (!view) return std::nullopt;
  return detail::to_info(*view);
}

std::optional<Payload> Run::read_value(std::string_view key) const {
  const auto value = core_->call([&] { return core_->store().value(id_, key); });
  if (!value) return std::nullopt;
  return bodies::read<Payload>(*value);
}

void Run::send_to(Address address, Payload value) const {
  const store::ClientMessage message = core_->delivery(id_, address, {.keep_for = Duration::zero()}, value);
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
  const std::string whose = "the request to cancel '" + id_ + "'";
  const std::string checked = detail::checked_reason(whose, reason);
  std::vector<store::ClientMessage> messages{
      control_message(core_->random(), id_, {.kind = bodies::Control::Kind::cancel, .reason = checked})};
  messages.front().cancels = true;
  if (options.terminate_after) {
    detail::check_delay(whose, "terminate_after", *options.terminate_after);
    messages.push_back(
        control_message(core_->random(), id_, {.kind = bodies::Control::Kind::terminate, .reason = checked}));
    messages.back().delay = *options.terminate_after;
  }
  // In one go: the instance may end by the first before the second is sent. Where the store took one of them
  // alone, and both are sent again, it may have ended by then, and that is what was asked for.
  core_->call([&] {
    std::vector<StoreResult<InstanceKey>> answers = core_->store().send(messages);
    const auto taken =
        std::find_if(answers.begin(), answers.end(), [](const auto& answer) { return answer.has_value(); });
    const auto refused = std::find_if(answers.begin(), answers.end(), [&](const auto& answer) {
      return !answer && (taken == answers.end() || answer.error().kind != StoreError::Kind::conflict);
    });
    return std::move(refused == answers.end() ? *taken : *refused);
  });
}

void Run::terminate(std::string_view reason) const {
  const store::ClientMessage message =
      control_message(core_->random(), id_,
                      {.kind = bodies::Control::Kind::terminate,
                       .reason = detail::checked_reason("the request to terminate '" + id_ + "'", reason)});
  core_->call([&] { return std::move(core_->store().send({&message, 1}).front()); });
}

}  // namespace holdfast
