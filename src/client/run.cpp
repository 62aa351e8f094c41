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
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace holdfast {

namespace detail {

void refuse(const StoreError& error) {
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

// The key is that of one life of the id: another instance may have it by now.
void refuse_as_gone(Store& store, const std::string& id) {
  const auto now = store.find(id);
  const std::string who = "instance '" + id + "'";
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

void ClientCore::refuse_in_callback() {
  if (!client::Callbacks::is_here()) return;
  throw std::logic_error(
      "holdfast: a callback of a client call must not wait; begin another call there (start_async, "
      "wait_async, ...), or give then() an executor");
}

void ClientCore::deliver(const std::vector<store::ClientMessage>& messages) {
  // In one go: the instance may end by the first before the second is sent.
  call([&] {
    auto answers = store_->send(messages);
    return client::outcome_of(answers);
  });
}

ClientCall<void> ClientCore::deliver_async(std::vector<store::ClientMessage> messages) {
  return ClientCall<void>([core = shared_from_this(), messages = std::move(messages)](
                              ClientCall<void>::Callback done, const std::stop_token&) mutable {
    core->notifier().send(std::move(messages),
                          [done = std::move(done)](const StoreResult<InstanceKey>& answer) {
                            return callback_with(done, answer_of([&] {
                                                   if (!answer) refuse(answer.error());
                                                 }));
                          });
  });
}

std::function<std::shared_ptr<ClientCore>()> ClientCore::successor() {
  return [weak = weak_from_this(), store = store_, options = options_] {
    auto core = weak.lock();
    return core ? core : std::make_shared<ClientCore>(store, options);
  };
}

void ClientCore::check_size(const Whose& what, const Payload& payload) const {
  const std::uint64_t limit = options_.max_payload_bytes;
  if (limit == 0 || payload.bytes.size() <= limit) return;
  throw ClientError(ClientError::Kind::invalid,
                    payload_too_large(what.text(), payload.bytes.size(), limit).message);
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

namespace {

store::ClientMessage control_message(ClientCore& core, const std::string& id, InstanceKey life,
                                     const bodies::Control& control) {
  const bool cancels = control.kind == bodies::Control::Kind::cancel;
  return {.instance = id,
          .life = life,
          .message = {.kind = bodies::kind_of(control.kind), .body = bodies::to_bytes(control)},
          .request = core.new_request(cancels ? "cancel" : "terminate", id, ""),
          .cancels = cancels};
}

}  // namespace

std::vector<store::ClientMessage> ClientCore::cancel_of(const std::string& id, InstanceKey life,
                                                        const CancelOptions& options,
                                                        std::string_view reason) {
  const std::string whose = "the request to cancel '" + id + "'";
  const std::string checked = checked_reason(whose, reason);
  std::vector<store::ClientMessage> messages{
      control_message(*this, id, life, {.kind = bodies::Control::Kind::cancel, .reason = checked})};
  if (options.terminate_after) {
    check_delay(whose, "terminate_after", *options.terminate_after);
    messages.push_back(
        control_message(*this, id, life, {.kind = bodies::Control::Kind::terminate, .reason = checked}));
    messages.back().delay = *options.terminate_after;
  }
  return messages;
}

std::vector<store::ClientMessage> ClientCore::terminate_of(const std::string& id, InstanceKey life,
                                                           std::string_view reason) {
  return {control_message(*this, id, life,
                          {.kind = bodies::Control::Kind::terminate,
                           .reason = checked_reason("the request to terminate '" + id + "'", reason)})};
}

store::ClientMessage ClientCore::delivery(std::string_view id, const Address& address,
                                          const MessageOptions& options, const Payload& value) {
  const bool event = address.kind == Address::Kind::event;
  const Whose whose(event ? "the event" : "a message for", address.name);
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
               .cancel_requested_at = view.cancel_requested_at,
               .attributes = view.attributes};
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

namespace {

[[noreturn]] void refuse_as_abandoned(const std::string& id) {
  throw ClientError(ClientError::Kind::unavailable,
                    "the client was closed while it waited for instance '" + id + "', which goes on");
}

// What a wait gave; nothing when its time was up.
std::optional<store::InstanceView> seen_in_time(Store& store, const std::string& id, client::Seen seen) {
  if (seen) return *std::move(seen);
  if (seen.error() == client::NotSeen::gone) detail::refuse_as_gone(store, id);
  if (seen.error() == client::NotSeen::abandoned) refuse_as_abandoned(id);
  if (seen.error() == client::NotSeen::given_up) {
    throw std::system_error(std::make_error_code(std::errc::operation_canceled),
                            "the wait for instance '" + id + "' was given up");
  }
  return std::nullopt;
}

bool is_over(const store::InstanceView& view) { return has_ended(view.status); }

/// How an instance ended.
struct Ended {
  Status status = Status::completed;
  Result<Payload> output;
};

Ended end_of(const store::InstanceView& view) {
  auto outcome = bodies::read<bodies::Outcome>(view.output);
  if (!outcome) {
    return Ended{view.status,
                 Unexpected(Failure{.category = Category::decode,
                                    .type = "output_unreadable",
                                    .message = "the result of instance '" + view.instance + "' can't be read",
                                    .source = "orchestration " + view.instance,
                                    .retryable = false})};
  }
  if (outcome->failure) return Ended{view.status, Unexpected(*std::move(outcome->failure))};
  return Ended{view.status, std::move(outcome->value)};
}

Failure not_ended(const std::string& id, Duration timeout) {
  return {.category = Category::timeout,
          .type = "wait_timeout",
          .message =
              "instance '" + id + "' has not ended within " + client::seconds_text(timeout) + "; it goes on"};
}

// By how the instance ended: one that fails because its child was terminated has that one's failure.
Payload output_or_throw(Ended end) {
  if (end.output) return *std::move(end.output);
  if (end.status == Status::cancelled || end.status == Status::terminated)
    throw RunCancelled(std::move(end.output).error());
  throw RunFailed(std::move(end.output).error());
}

// Without a pause: the thread that asks has others to look for.
RunInfo info_of(Store& store, const store::InstanceView& view) {
  auto infos = detail::to_infos(store, {&view, 1});
  for (int again = 0; again < 3 && !infos && may_pass(infos.error()); ++again)
    infos = detail::to_infos(store, {&view, 1});
  if (!infos) detail::refuse(infos.error());
  return std::move(infos->front());
}

/// A wait that begins with then() or future(): it gives what `convert` makes of what was seen.
template <class T, class Convert>
ClientCall<T> wait_call(std::shared_ptr<detail::ClientCore> core, InstanceKey key, Duration timeout,
                        client::Watcher::Enough enough, Convert convert) {
  return ClientCall<T>(
      [core = std::move(core), key, timeout, enough = std::move(enough), convert = std::move(convert)](
          typename ClientCall<T>::Callback done, const std::stop_token& stop) {
        // It holds the store, and not the core: the last handle ends all waits.
        auto seen_as = [convert, done = std::move(done)](client::Seen seen) {
          return detail::callback_with(done, detail::answer_of([&] { return convert(std::move(seen)); }));
        };
        core->notifier().wait_async(key, timeout, enough, std::move(seen_as), stop);
      });
}

}  // namespace

const std::shared_ptr<detail::ClientCore>& Run::own_core() const {
  if (!core_) throw std::logic_error("holdfast: this Run refers to no instance");
  return core_;
}
detail::ClientCore& Run::core() const { return *own_core(); }

Result<Payload> Run::wait_for_output(Duration timeout) const {
  detail::ClientCore::refuse_in_callback();
  const auto view = seen_in_time(core().store(), id_, core().notifier().wait(key_, timeout, is_over));
  if (!view) return Unexpected(not_ended(id_, timeout));
  return end_of(*view).output;
}

Payload Run::wait_for_output_or_throw(Duration timeout) const {
  detail::ClientCore::refuse_in_callback();
  const auto view = seen_in_time(core().store(), id_, core().notifier().wait(key_, timeout, is_over));
  if (!view) throw RunTimedOut(not_ended(id_, timeout));
  return output_or_throw(end_of(*view));
}

ClientCall<Payload> Run::output_async(Duration timeout) const {
  return wait_call<Payload>(own_core(), key_, timeout, is_over,
                            [store = core().shared_store(), id = id_, timeout](client::Seen seen) {
                              const auto view = seen_in_time(*store, id, std::move(seen));
                              if (!view) throw RunTimedOut(not_ended(id, timeout));
                              return output_or_throw(end_of(*view));
                            });
}

void Run::on_end(std::function<void(ClientAnswer<RunInfo>)> callback) const {
  wait_call<RunInfo>(own_core(), key_, never, is_over,
                     [store = core().shared_store(), id = id_](client::Seen seen) {
                       return info_of(*store, *seen_in_time(*store, id, std::move(seen)));
                     })
      .then(std::move(callback));
}

RunInfo Run::info() const {
  const auto views = core().call([&] { return core().store().look({&key_, 1}); });
  if (!views.front()) detail::refuse_as_gone(core().store(), id_);
  return core().to_infos({&*views.front(), 1}).front();
}

std::optional<Payload> Run::read_input() const {
  const RunInfo now = info();
  const auto segments =
      core().call([&] { return core().store().read_history(key_, now.execution, EventId{}, 1); });
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

namespace {

client::Watcher::Enough changed_since(const RunInfo& since) {
  return [version = since.custom_status_version](const store::InstanceView& now) {
    return has_ended(now.status) || now.custom_status_version != version;
  };
}

}  // namespace

std::optional<RunInfo> Run::wait_for_change(const RunInfo& since, Duration timeout) const {
  detail::ClientCore::refuse_in_callback();
  const auto view =
      seen_in_time(core().store(), id_, core().notifier().wait(key_, timeout, changed_since(since)));
  if (!view) return std::nullopt;
  return core().to_infos({&*view, 1}).front();
}

ClientCall<std::optional<RunInfo>> Run::wait_for_change_async(const RunInfo& since, Duration timeout) const {
  return wait_call<std::optional<RunInfo>>(
      own_core(), key_, timeout, changed_since(since),
      [store = core().shared_store(), id = id_](client::Seen seen) -> std::optional<RunInfo> {
        const auto view = seen_in_time(*store, id, std::move(seen));
        if (!view) return std::nullopt;
        return info_of(*store, *view);
      });
}

std::optional<Payload> Run::read_value(std::string_view key) const {
  const auto value = core().call([&] { return core().store().value(id_, key); });
  static_cast<void>(info());  // it lives, so the value was its own
  if (!value) return std::nullopt;
  return bodies::read<Payload>(*value);
}

namespace {

void check_options(const std::string& whose, const QueryOptions& options) {
  if (options.timeout > Duration::zero()) return;
  throw ClientError(ClientError::Kind::invalid, "the timeout of " + whose + " must be above zero");
}

QueryAnswer to_answer(client::Asker::Said said) {
  if (!said) std::rethrow_exception(std::move(said).error());
  if (said->failure) throw QueryError(*std::move(said->failure));
  return {.value = std::move(said->value),
          .execution = said->execution,
          .event = said->event,
          .behind = said->behind};
}

store::ClientMessage delivery_to(detail::ClientCore& core, const std::string& id, InstanceKey life,
                                 const Address& address, const Payload& value) {
  store::ClientMessage message = core.delivery(id, address, {.keep_for = Duration::zero()}, value);
  message.life = life;
  return message;
}

}  // namespace

void Run::send_to(Address address, Payload value) const {
  core().deliver({delivery_to(core(), id_, key_, address, value)});
}

ClientCall<void> Run::send_to_async(Address address, Payload value) const {
  return core().deliver_async({delivery_to(core(), id_, key_, address, value)});
}

ClientCall<QueryAnswer> Run::ask_async(std::string_view name, QueryOptions options, Payload arguments) const {
  detail::ClientCore& core = *own_core();
  const std::string query = detail::checked_name("a query", name);
  check_options("the query '" + query + "'", options);
  core.check_size(detail::Whose("the query", query), arguments);
  store::Ask ask{.id = random_token<store::AskId>(core.random()),
                 .key = key_,
                 .name = query,
                 .arguments = bodies::to_bytes(arguments),
                 .within = options.timeout};
  return ClientCall<QueryAnswer>([core = core_, ask = std::move(ask), id = id_](
                                     ClientCall<QueryAnswer>::Callback done, const std::stop_token& stop) {
    core->notifier().ask(
        ask, id,
        [done = std::move(done)](client::Asker::Said said) {
          return detail::callback_with(done, detail::answer_of([&] { return to_answer(std::move(said)); }));
        },
        stop);
  });
}

QueryAnswer Run::ask_and_wait(std::string_view name, QueryOptions options, Payload arguments) const {
  detail::ClientCore::refuse_in_callback();
  return ask_async(name, options, std::move(arguments)).future().get();
}

void Run::cancel(CancelOptions options, std::string_view reason) const {
  core().deliver(core().cancel_of(id_, key_, options, reason));
}
ClientCall<void> Run::cancel_async(CancelOptions options, std::string_view reason) const {
  return core().deliver_async(core().cancel_of(id_, key_, options, reason));
}

void Run::terminate(std::string_view reason) const { core().deliver(core().terminate_of(id_, key_, reason)); }
ClientCall<void> Run::terminate_async(std::string_view reason) const {
  return core().deliver_async(core().terminate_of(id_, key_, reason));
}

}  // namespace holdfast
