#include "base/check_options.hpp"
#include "base/limit_failure.hpp"
#include "client/bodies.hpp"
#include "client/calling_activity.hpp"
#include "client/core.hpp"
#include "client/seconds_text.hpp"
#include "codec/segment.hpp"

#include <holdfast/detail/enum_names.hpp>
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

void ClientCore::check_limit(std::size_t limit) {
  if (limit == 0)
    throw ClientError(ClientError::Kind::invalid, "a page's limit is 0, and must be above zero");
}

RequestId ClientCore::new_request(std::string_view what, std::string_view target, std::string_view name) {
  if (auto* const activity = client::CallingActivity::current())
    return activity->next_request(what, target, name);
  return random_token<RequestId>(random());
}

store::ClientMessage ClientCore::delivery(std::string_view id, const Address& address,
                                          const MessageOptions& options, const Payload& value) {
  const bool event = address.kind == Address::Kind::event;
  const std::string whose = (event ? "the event '" : "a message for '") + address.name + "'";
  check_delay(whose, "delay", options.delay);
  check_delay(whose, "keep_for", options.keep_for);
  check_size(whose, value);
  return {.instance = checked_name("an instance", id),
          .message = {.kind = store::MessageKind::delivery,
                      .address = {address.kind, checked_name(event ? "an event" : "a mailbox", address.name)},
                      .body = bodies::to_bytes(value)},
          .request = options.key.empty() ? new_request(event ? "raise" : "send", id, address.name)
                                         : client::request_of(id, options.key),
          .delay = options.delay,
          .keep_early = options.keep_for};
}

namespace {

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
  if (!has_ended(view.status)) return info;
  auto outcome = bodies::read<bodies::Outcome>(view.output);
  if (!outcome) return info;
  if (view.status == Status::completed) {
    info.output_payload = std::move(outcome->value);
  } else {
    info.failure = std::move(outcome->failure);
  }
  return info;
}

}  // namespace

StoreResult<std::vector<RunInfo>> to_infos(Store& store, std::span<const store::InstanceView> views) {
  std::vector<RunInfo> infos;
  std::vector<InstanceKey> parents;
  for (const store::InstanceView& view : views) {
    infos.push_back(to_info(view));
    if (view.parent != InstanceKey{}) parents.push_back(view.parent);
  }
  if (parents.empty()) return infos;
  std::ranges::sort(parents);
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  const auto found = store.look(parents);
  if (!found) return Unexpected(found.error());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto place = std::ranges::lower_bound(parents, views[i].parent);
    if (place == parents.end() || *place != views[i].parent) continue;
    const auto& parent = (*found)[static_cast<std::size_t>(place - parents.begin())];
    if (parent) infos[i].parent = parent->instance;
  }
  return infos;
}

}  // namespace detail

std::string_view to_string(RunWait::Kind kind) noexcept { return detail::enum_name(kind); }

// The key is that of one life of the id: another instance may have it by now.
void Run::refuse_as_gone() const {
  const auto now = core_->store().find(id_);
  const std::string who = "instance '" + id_ + "'";
  if (now) {
    throw ClientError(
        ClientError::Kind::not_found,
        who +
            " is gone: another one was started under its id since (StartOptions::reuse), and its "
            "result went with it");
  }
  const bool deleted = now.error().kind == StoreError::Kind::not_found;
  throw ClientError(ClientError::Kind::not_found, who + (deleted ? " was deleted" : " is gone"));
}

std::optional<Run::Ended> Run::end_within(Duration timeout) const {
  const auto view = core_->watcher().wait(key_, timeout, [](const auto& v) { return has_ended(v.status); });
  if (!view || !has_ended(view->status)) {
    const auto now = core_->store().look({&key_, 1});  // once: the time is up, also when it doesn't answer
    if (now && !now->front()) refuse_as_gone();
    return std::nullopt;
  }
  auto outcome = bodies::read<bodies::Outcome>(view->output);
  if (!outcome) {
    return Ended{view->status,
                 Unexpected(Failure{.category = Category::decode,
                                    .type = "output_unreadable",
                                    .message = "the result of instance '" + id_ + "' can't be read",
                                    .source = "orchestration " + id_,
                                    .retryable = false})};
  }
  if (outcome->failure) return Ended{view->status, Unexpected(*std::move(outcome->failure))};
  return Ended{view->status, std::move(outcome->value)};
}

Failure Run::not_ended(Duration timeout) const {
  return {.category = Category::timeout,
          .type = "wait_timeout",
          .message = "instance '" + id_ + "' has not ended within " + client::seconds_text(timeout) +
                     "; it goes on"};
}

Result<Payload> Run::wait_for_output(Duration timeout) const {
  std::optional<Ended> end = end_within(timeout);
  if (!end) return Unexpected(not_ended(timeout));
  return std::move(end->output);
}

// By how the instance ended: one that fails because its child was terminated has that one's failure.
Payload Run::output_or_throw(Duration timeout) const {
  std::optional<Ended> end = end_within(timeout);
  if (!end) throw RunTimedOut(not_ended(timeout));
  if (end->output) return *std::move(end->output);
  if (end->status == Status::cancelled || end->status == Status::terminated)
    throw RunCancelled(std::move(end->output).error());
  throw RunFailed(std::move(end->output).error());
}

RunInfo Run::info() const {
  const auto views = core_->call([&] { return core_->store().look({&key_, 1}); });
  if (!views.front()) refuse_as_gone();
  return core_->to_infos({&*views.front(), 1}).front();
}

std::optional<Payload> Run::read_input() const {
  const RunInfo now = info();
  const auto segments =
      core_->call([&] { return core_->store().read_history(key_, now.execution, EventId{}, 1); });
  if (segments.empty()) return std::nullopt;
  const auto events = history::read_segment(segments.front().bytes);
  if (!events)
    throw ClientError(ClientError::Kind::damaged, "the history of '" + id_ + "': " + events.error());
  for (const history::Event& event : *events) {
    if (const auto* started = std::get_if<history::Started>(&event.body)) return started->input;
  }
  return std::nullopt;
}

std::optional<RunInfo> Run::wait_for_change(Duration timeout) const {
  return wait_for_change(info(), timeout);
}

std::optional<RunInfo> Run::wait_for_change(const RunInfo& since, Duration timeout) const {
  const auto changed = [&](const store::InstanceView& now) {
    return has_ended(now.status) || now.custom_status_version != since.custom_status_version;
  };
  const auto view = core_->watcher().wait(key_, timeout, changed);
  if (!view) return std::nullopt;
  return core_->to_infos({&*view, 1}).front();
}

std::optional<Payload> Run::read_value(std::string_view key) const {
  const auto value = core_->call([&] { return core_->store().value(id_, key); });
  static_cast<void>(info());  // it lives, so the value was its own
  if (!value) return std::nullopt;
  return bodies::read<Payload>(*value);
}

void Run::send_to(Address address, Payload value) const {
  store::ClientMessage message = core_->delivery(id_, address, {.keep_for = Duration::zero()}, value);
  message.life = key_;
  core_->call([&] { return std::move(core_->store().send({&message, 1}).front()); });
}

namespace {

store::ClientMessage control_message(detail::ClientCore& core, const std::string& id, InstanceKey life,
                                     const bodies::Control& control) {
  const bool cancels = control.kind == bodies::Control::Kind::cancel;
  return {.instance = id,
          .life = life,
          .message = {.kind = store::MessageKind::control, .body = bodies::to_bytes(control)},
          .request = core.new_request(cancels ? "cancel" : "terminate", id, "")};
}

}  // namespace

void Run::cancel(CancelOptions options, std::string_view reason) const {
  const std::string whose = "the request to cancel '" + id_ + "'";
  const std::string checked = detail::checked_reason(whose, reason);
  std::vector<store::ClientMessage> messages{
      control_message(*core_, id_, key_, {.kind = bodies::Control::Kind::cancel, .reason = checked})};
  messages.front().cancels = true;
  if (options.terminate_after) {
    detail::check_delay(whose, "terminate_after", *options.terminate_after);
    messages.push_back(
        control_message(*core_, id_, key_, {.kind = bodies::Control::Kind::terminate, .reason = checked}));
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
      control_message(*core_, id_, key_,
                      {.kind = bodies::Control::Kind::terminate,
                       .reason = detail::checked_reason("the request to terminate '" + id_ + "'", reason)});
  core_->call([&] { return std::move(core_->store().send({&message, 1}).front()); });
}

}  // namespace holdfast
