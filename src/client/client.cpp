#include "base/versions.hpp"
#include "client/conditions.hpp"
#include "client/core.hpp"
#include "client/starting.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/names.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

namespace holdfast {

namespace detail {

std::optional<store::InstanceFilter> ClientCore::wanted(const ListFilter& filter) {
  check_limit(filter.limit);
  for (const std::string* const name : {&filter.orchestration, &filter.prefix}) {
    if (!name->empty()) static_cast<void>(checked_name("what a list is of", *name));
  }
  store::InstanceFilter wanted{.statuses = {filter.statuses.begin(), filter.statuses.end()},
                               .orchestration = filter.orchestration,
                               .version = checked_version(filter.version),
                               .prefix = filter.prefix,
                               .created_from = filter.created_from,
                               .created_before = filter.created_before,
                               .attributes = client::checked_conditions(filter),
                               .order = client::checked_order(filter),
                               .after = filter.after,
                               .limit = filter.limit};
  if (filter.parent.empty()) return wanted;
  const std::string parent = checked_name("an instance", filter.parent);
  const auto found = call([&]() -> StoreResult<std::optional<InstanceKey>> {
    const auto there = store_->find(parent);
    if (there) return std::optional(there->key);
    if (there.error().kind == StoreError::Kind::not_found) return std::optional<InstanceKey>();
    return Unexpected(there.error());
  });
  if (!found) return std::nullopt;
  wanted.parent = *found;
  return wanted;
}

}  // namespace detail

Client::Client(std::shared_ptr<Store> store, ClientOptions options) {
  if (!store) throw std::invalid_argument("holdfast: a Client needs a store");
  core_ = std::make_shared<detail::ClientCore>(std::move(store), std::move(options));
}

void Client::close() {
  detail::ClientCore::refuse_in_callback();
  core_->notifier().close();
}

Run Client::start_with(std::string_view orchestration, StartOptions options, Payload input) {
  detail::ClientCore::refuse_in_callback();
  const store::StartRequest request = client::start_request(*core_, orchestration, options, std::move(input));
  return {core_, request.instance,
          client::start(*core_, request, std::move(core_->store().start({&request, 1}).front()))};
}

ClientCall<Run> Client::start_with_async(std::string_view orchestration, StartOptions options,
                                         Payload input) {
  return ClientCall<Run>(
      [core = core_, request = client::start_request(*core_, orchestration, options, std::move(input))](
          ClientCall<Run>::Callback done, const std::stop_token&) mutable {
        auto started_as = [successor = core->successor(), done = std::move(done)](
                              const store::StartRequest& asked, const StoreResult<InstanceKey>& answer) {
          return detail::callback_with(done, detail::answer_of([&] {
                                         const std::shared_ptr<detail::ClientCore> own = successor();
                                         if (answer) return Run(own, asked.instance, *answer);
                                         client::refuse_at_once(own->store(), asked, answer.error());
                                       }));
        };
        core->notifier().start(std::move(request), std::move(started_as));
      });
}

std::vector<Run> Client::start_all(std::string_view orchestration, const std::vector<StartItem>& items) {
  constexpr std::size_t kAtOnce = 500;  // keeps transactions short
  detail::ClientCore::refuse_in_callback();
  std::vector<store::StartRequest> requests;
  requests.reserve(items.size());
  for (const StartItem& item : items)
    requests.push_back(client::start_request(*core_, orchestration,
                                             {.id = item.id, .attributes = item.attributes}, item.input));
  std::vector<Run> runs;
  std::exception_ptr refused;
  for (std::size_t begin = 0; begin < requests.size(); begin += kAtOnce) {
    const auto batch = std::span(requests).subspan(begin, std::min(kAtOnce, requests.size() - begin));
    auto answers = core_->store().start(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      try {
        runs.emplace_back(core_, batch[i].instance, client::start(*core_, batch[i], std::move(answers[i])));
      } catch (const ClientError& error) {
        if (error.kind() == ClientError::Kind::unavailable) throw;
        if (!refused) refused = std::current_exception();
      }
    }
  }
  if (refused) std::rethrow_exception(refused);
  return runs;
}

Run Client::run(std::string_view id) const {
  const store::InstanceView view = core_->find(id);
  return {core_, view.instance, view.key};
}

Run Client::run_of(std::string_view orchestration, std::string_view id) const {
  const store::InstanceView view = core_->find(id);
  if (view.code.name != orchestration) {
    throw ClientError(ClientError::Kind::conflict, "instance '" + view.instance + "' runs '" +
                                                       view.code.name + "', not '" +
                                                       std::string(orchestration) + "'");
  }
  return {core_, view.instance, view.key};
}

std::optional<Run> Client::find(std::string_view id) const {
  try {
    return run(id);
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::not_found) throw;
    return std::nullopt;
  }
}

void Client::send_to(std::string_view id, Address address, MessageOptions options, Payload value) const {
  core_->deliver({core_->delivery(id, address, options, value)});
}
ClientCall<void> Client::send_to_async(std::string_view id, Address address, MessageOptions options,
                                       Payload value) const {
  return core_->deliver_async({core_->delivery(id, address, options, value)});
}

void Client::cancel(std::string_view id, CancelOptions options, std::string_view reason) const {
  core_->deliver(core_->cancel_of(detail::checked_name("an instance", id), {}, options, reason));
}
ClientCall<void> Client::cancel_async(std::string_view id, CancelOptions options,
                                      std::string_view reason) const {
  return core_->deliver_async(core_->cancel_of(detail::checked_name("an instance", id), {}, options, reason));
}
void Client::terminate(std::string_view id, std::string_view reason) const {
  core_->deliver(core_->terminate_of(detail::checked_name("an instance", id), {}, reason));
}
ClientCall<void> Client::terminate_async(std::string_view id, std::string_view reason) const {
  return core_->deliver_async(core_->terminate_of(detail::checked_name("an instance", id), {}, reason));
}

void Client::send_many(std::string_view id, Address address, std::vector<Payload> values) const {
  constexpr std::size_t kAtOnce = 500;  // keeps transactions short
  std::vector<store::ClientMessage> messages;
  const auto send = [&] {
    // All of them again when one is in doubt: those that arrived are recognised by their request.
    core_->call([&] {
      std::vector<StoreResult<InstanceKey>> answers = core_->store().send(messages);
      const auto refused = std::ranges::find_if(answers, [](const auto& answer) { return !answer; });
      return std::move(refused == answers.end() ? answers.front() : *refused);
    });
    messages.clear();
  };
  for (const Payload& value : values) {
    messages.push_back(core_->delivery(id, address, {}, value));
    if (messages.size() == kAtOnce) send();
  }
  if (!messages.empty()) send();
}

bool Client::prune_execution(std::string_view id, ExecutionNumber execution) const {
  const std::string checked = detail::checked_name("an instance", id);
  return core_->call([&] { return core_->store().prune_execution(checked, execution); });
}

std::uint64_t Client::prune_executions(std::string_view id, std::uint64_t keep) const {
  const std::string checked = detail::checked_name("an instance", id);
  return core_->call([&] { return core_->store().prune_executions(checked, keep); });
}

std::vector<QueueInfo> Client::queues() const {
  std::vector<QueueInfo> infos;
  for (store::QueueDepth& depth : core_->call([&] { return core_->store().queue_depths(); })) {
    infos.push_back({.queue = std::move(depth.queue),
                     .name = std::move(depth.name),
                     .ready = depth.ready,
                     .delayed = depth.delayed,
                     .running = depth.running,
                     .oldest_wait = depth.oldest_wait,
                     .workers = depth.workers});
  }
  return infos;
}

RunPage Client::list(const ListFilter& filter) const {
  const auto wanted = core_->wanted(filter);
  if (!wanted) return {};
  const store::InstancePage page = core_->call([&] { return core_->store().list(*wanted); });
  return {.runs = core_->to_infos(page.instances), .next = page.next};
}

RunCount Client::count(const ListFilter& filter) const {
  const auto wanted = core_->wanted(filter);
  if (!wanted) return {};
  const store::InstanceCount count = core_->call([&] { return core_->store().count(*wanted); });
  return {.count = count.count, .at_least = count.at_least};
}

std::map<Status, std::uint64_t> Client::count_by_status() const {
  return core_->call([&] { return core_->store().count_by_status(); });
}

}  // namespace holdfast
