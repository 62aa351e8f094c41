#include "base/check_options.hpp"
#include "base/versions.hpp"
#include "client/bodies.hpp"
#include "client/core.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/random.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

namespace holdfast {
namespace {

// FNV-1a over both halves with different offsets: equal wishes have equal ones, on every machine.
Fingerprint fingerprint_of(std::string_view orchestration, std::string_view version, const Payload& input) {
  Fingerprint print{0xcbf29ce484222325U, 0x84222325cbf29ce4U};
  const auto mix = [&print](std::string_view part) {
    for (const char c : part) {
      const auto byte = static_cast<unsigned char>(c);
      print.high = (print.high ^ byte) * 0x100000001b3U;
      print.low = (print.low ^ byte ^ 0x5aU) * 0x9e3779b97f4a7c15U;
    }
    print.high = (print.high ^ part.size()) * 0x100000001b3U;
    print.low = (print.low ^ part.size()) * 0x9e3779b97f4a7c15U;
  };
  mix(orchestration);
  mix(version);
  mix(input.encoding.id());
  mix(input.bytes);
  return print;
}

store::StartRequest request_of(detail::ClientCore& core, std::string_view orchestration,
                               const StartOptions& options, Payload input) {
  Random& random = core.random();
  core.check_size("the input of '" + std::string(orchestration) + "'", input);
  store::StartRequest request;
  request.instance = options.id ? detail::checked_name("an instance", *options.id)
                                : to_string(core.new_request("name", orchestration, ""));
  request.code = {detail::checked_name("an orchestration", orchestration),
                  detail::wanted_version(options.version)};
  detail::check_delay("the start of '" + request.instance + "'", "delay", options.delay);
  request.fingerprint = fingerprint_of(orchestration, request.code.version, input);
  request.request = core.new_request("start", request.instance, orchestration);
  request.reuse = options.reuse;
  const Seed seed = random_token<Seed>(random);
  request.delay = options.delay;
  request.body = bodies::to_bytes(bodies::Start{{.name = request.code.name,
                                                 .version = request.code.version,
                                                 .input = std::move(input),
                                                 .seed = seed.low,
                                                 .seed_high = seed.high},
                                                std::nullopt});
  return request;
}

// "in version '2'"
std::string version_in_words(const std::string& version) {
  return version.empty() ? "in the newest version, whichever that was" : "in version '" + version + "'";
}

/// The version that was asked for when the instance was started with the same input as is wanted now; nothing
/// when the input was another. Its code may have gone on to other versions since.
std::optional<std::string> version_wanted(const store::InstanceDetail& there,
                                          const store::StartRequest& request) {
  const auto wish = bodies::read<bodies::Start>(request.body);
  for (const std::string& version : {std::string(), there.view.code.version}) {
    if (wish && fingerprint_of(request.code.name, version, wish->started.input) == there.fingerprint)
      return version;
  }
  return std::nullopt;
}

// What stands in the way of a start: the store compares wishes by their fingerprints only.
[[noreturn]] void refuse_start(const store::InstanceDetail& there, const store::StartRequest& request) {
  std::string why = "with another input";
  if (there.view.code.name != request.code.name) {
    why = "as '" + there.view.code.name + "', not as '" + request.code.name + "'";
  } else if (there.fingerprint == Fingerprint{}) {
    why = "by another instance";
  } else if (const auto version = version_wanted(there, request)) {
    why = version_in_words(*version) + ", not " + version_in_words(request.code.version);
  } else if (there.view.execution > ExecutionNumber{1}) {
    why = "with another input or version";
  }
  throw ClientError(
      ClientError::Kind::conflict,
      "instance '" + request.instance + "' exists, and was started " + why +
          "; use another id, or set StartOptions::reuse to begin a new instance once it has ended");
}

// Asked once: the thread that asks has other calls to make.
[[noreturn]] void refuse_at_once(Store& store, const store::StartRequest& request, const StoreError& error) {
  if (error.kind == StoreError::Kind::conflict) {
    if (const auto there = store.describe(request.instance)) refuse_start(*there, request);
  }
  detail::refuse(error);
}

/// `answer`: what the store said the first time.
InstanceKey started(detail::ClientCore& core, const store::StartRequest& request,
                    StoreResult<store::StartAnswer> answer) {
  bool first = true;
  try {
    return core
        .call([&] {
          return std::exchange(first, false) ? std::move(answer)
                                             : std::move(core.store().start({&request, 1}).front());
        })
        .key;
  } catch (const ClientError& e) {
    if (e.kind() == ClientError::Kind::conflict)
      refuse_start(core.call([&] { return core.store().describe(request.instance); }), request);
    throw;
  }
}

}  // namespace

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
  const store::StartRequest request = request_of(*core_, orchestration, options, std::move(input));
  return {core_, request.instance,
          started(*core_, request, std::move(core_->store().start({&request, 1}).front()))};
}

ClientCall<Run> Client::start_with_async(std::string_view orchestration, StartOptions options,
                                         Payload input) {
  return ClientCall<Run>(
      [core = core_, request = request_of(*core_, orchestration, options, std::move(input))](
          ClientCall<Run>::Callback done, const std::stop_token&) mutable {
        auto started_as = [successor = core->successor(), done = std::move(done)](
                              const store::StartRequest& asked, const StoreResult<InstanceKey>& answer) {
          return detail::callback_with(done, detail::answer_of([&] {
                                         const std::shared_ptr<detail::ClientCore> own = successor();
                                         if (answer) return Run(own, asked.instance, *answer);
                                         refuse_at_once(own->store(), asked, answer.error());
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
    requests.push_back(request_of(*core_, orchestration, {.id = item.id}, item.input));
  std::vector<Run> runs;
  std::exception_ptr refused;
  for (std::size_t begin = 0; begin < requests.size(); begin += kAtOnce) {
    const auto batch = std::span(requests).subspan(begin, std::min(kAtOnce, requests.size() - begin));
    auto answers = core_->store().start(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      try {
        runs.emplace_back(core_, batch[i].instance, started(*core_, batch[i], std::move(answers[i])));
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

namespace {

// Nobody would ever tell the parent.
void refuse_awaited_child(detail::ClientCore& core, const store::InstanceView& view) {
  if (view.parent == InstanceKey{} || has_ended(view.status)) return;
  const auto parents = core.call([&] { return core.store().look({&view.parent, 1}); });
  const std::optional<store::InstanceView>& parent = parents.front();
  if (!parent || has_ended(parent->status)) return;
  throw ClientError(ClientError::Kind::conflict, "instance '" + view.instance + "' is a child that '" +
                                                     parent->instance +
                                                     "' waits for: terminate it, then delete it");
}

}  // namespace

void Client::delete_instance(std::string_view id, DeleteOptions options) const {
  const store::InstanceView view = core_->find(id);
  if (options.force) refuse_awaited_child(*core_, view);
  // The second time it is another life's id, or nobody's: then the first one's answer was lost.
  bool in_doubt = false;
  core_->call([&]() -> StoreResult<void> {
    StoreResult<void> answer = core_->store().delete_instance(id, options.force, view.key);
    if (!answer && answer.error().kind == StoreError::Kind::not_found && in_doubt) return {};
    in_doubt = true;
    return answer;
  });
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
  detail::ClientCore::check_limit(filter.limit);
  for (const std::string* const name : {&filter.orchestration, &filter.prefix}) {
    if (!name->empty()) static_cast<void>(detail::checked_name("what a list is of", *name));
  }
  store::InstanceFilter wanted{.statuses = {filter.statuses.begin(), filter.statuses.end()},
                               .orchestration = filter.orchestration,
                               .version = detail::checked_version(filter.version),
                               .prefix = filter.prefix,
                               .created_from = filter.created_from,
                               .created_before = filter.created_before,
                               .after = filter.after,
                               .limit = filter.limit};
  if (!filter.parent.empty()) {
    const std::optional<Run> parent = find(filter.parent);
    if (!parent) return {};
    wanted.parent = parent->key();
  }
  const store::InstancePage page = core_->call([&] { return core_->store().list(wanted); });
  return {.runs = core_->to_infos(page.instances), .next = page.next};
}

}  // namespace holdfast
