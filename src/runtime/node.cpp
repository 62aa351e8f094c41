#include "runtime/node.hpp"

#include <unistd.h>

#include <array>
#include <utility>

namespace holdfast::runtime {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Node::Node(std::shared_ptr<Store> store, RuntimeOptions options, Registry registry, Executor& executor,
           Random& random, Poke poke)
    : worker_(std::move(store), std::move(options), std::move(registry), random, std::move(poke)),
      cache_(worker_.options.cached_instances, worker_.store->clock()),
      desk_(worker_, cache_, executor),
      turns_(worker_, cache_, desk_),
      fetch_(worker_, desk_),
      answers_(worker_, desk_),
      keep_(worker_, cache_, desk_, turns_) {}

StoreResult<void> Node::join() {
  const store::WorkerInfo info{.node = worker_.node,
                               .build = worker_.options.build,
                               .host = host_name(),
                               .pid = static_cast<std::uint64_t>(getpid()),
                               .slots = static_cast<std::uint32_t>(worker_.slots),
                               .abilities = worker_.abilities,
                               .code = worker_.code};
  auto key = worker_.store->join(info);
  if (!key) return Unexpected(std::move(key).error());
  worker_.key = key->value;
  worker_.accepting = true;
  // Code that could not go on may be another by now.
  if (const auto woken = worker_.store->wake_parked(worker_.code); woken && *woken > 0) {
    log(*worker_.logger, LogLevel::info, "parked instances are tried again", {{"count", *woken}});
  }
  return {};
}

Progress Node::run(Step step) {
  check_superseded();
  switch (step) {
    case Step::turns:
      return turns_.step();
    case Step::activities:
      return fetch_.step();
    case Step::answers:
      return answers_.step();
    case Step::keep:
      return keep_.step();
  }
  return {};
}

void Node::check_superseded() {
  if (!worker_.superseded || said_superseded_.exchange(true)) return;
  log(*worker_.logger, LogLevel::error,
      "another process has started under this node's name; this one takes nothing new and stops what it runs",
      {{"node", worker_.node}});
  stop_accepting();
  stop_activities();
}

void Node::hear(const store::Wake& wake) {
  if (wake.work.has(store::kTurns)) {
    turns_.want();
    worker_.poke(Step::turns);
  }
  if (wake.work.has(store::kActivities)) {
    fetch_.want();
    worker_.poke(Step::activities);
  }
  if (wake.work.has(store::kCancels)) keep_.want_cancels();
  if (wake.work.has(store::kSweep)) keep_.want_sweep();
  if (wake.work.has(store::kCancels | store::kSweep)) worker_.poke(Step::keep);
}

void Node::look_again() { hear({.work = store::kTurns | store::kActivities}); }

void Node::stop_accepting() {
  worker_.accepting = false;
  worker_.poke(Step::turns);
  worker_.poke(Step::keep);
}

void Node::stop_activities() { desk_.stop_all(CancelReason::worker_stopping); }

bool Node::quiet() const { return desk_.in_hand() == 0 && !cache_.has_ready(); }

void Node::leave() {
  keep_.release_all();
  if (const auto left = worker_.store->leave(WorkerKey{worker_.key}); !left) {
    log(*worker_.logger, LogLevel::debug, "could not say good-bye to the store",
        {{"error", left.error().message}});
  }
}

}  // namespace holdfast::runtime
