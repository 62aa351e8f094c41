#include "server/api/namespaces.hpp"

#include <holdfast/context.hpp>
#include <holdfast/open.hpp>
#include <holdfast/store.hpp>
#include <holdfast/task.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::server {

namespace {

// A worker keeps schedules if it runs orchestrations at all: this is the one that it has. Nobody starts it.
Task<void> nothing(Context& /*ctx*/) { co_return; }

// It runs nothing but what Holdfast brings along.
RuntimeOptions housekeeping(const NamespacesOptions& options) {
  RuntimeOptions runtime;
  runtime.queues = {};
  runtime.activity_slots = 1;
  runtime.turn_threads = 1;
  runtime.session_limit = 0;
  runtime.logger = options.logger;
  runtime.metrics = options.metrics;
  return runtime;
}

}  // namespace

std::string store_address(std::string_view text) {
  const bool is_address = text.starts_with("sqlite:") || text.starts_with("memory:") ||
                          text.starts_with("postgres://") || text.starts_with("postgresql://") ||
                          text.find('=') != std::string_view::npos;
  return (is_address ? "" : "sqlite:") + std::string(text);
}

Namespaces::Namespaces(const NamespacesOptions& options) {
  const std::string address = store_address(options.store);
  for (const std::string& name : options.names) {
    if (find(name) != nullptr) continue;
    auto store = holdfast::open(address, {.ns = name, .logger = options.logger.get()});
    Served served{.name = name,
                  .client = Client(store, {.retry_for = options.store_time, .logger = options.logger})};
    if (options.schedules) {
      served.runtime = std::make_unique<Runtime>(std::move(store), housekeeping(options));
      served.runtime->orchestration("holdfast.server", nothing);
      served.runtime->start();
    }
    served_.push_back(std::move(served));
  }
}

Namespaces::~Namespaces() { stop(); }

std::vector<std::string> Namespaces::names() const {
  std::vector<std::string> names;
  for (const Served& one : served_) names.push_back(one.name);
  return names;
}

const Client* Namespaces::find(std::string_view name) const {
  const auto found = std::ranges::find(served_, name, &Served::name);
  return found == served_.end() ? nullptr : &found->client;
}

void Namespaces::probe() const {
  for (const Served& one : served_) static_cast<void>(one.client.find("holdfast.probe"));
}

void Namespaces::stop() {
  for (Served& one : served_) {
    one.client.close();
    if (one.runtime) one.runtime->drain(std::chrono::seconds(5));
  }
}

}  // namespace holdfast::server
