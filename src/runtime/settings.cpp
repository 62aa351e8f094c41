#include "runtime/settings.hpp"

#include "base/check_options.hpp"

#include <holdfast/detail/names.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::runtime {
namespace {

using namespace std::chrono_literals;

std::string in_ms(Duration duration) {
  if (duration == never) return "never";
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

void require(bool fine, const std::string& message) {
  if (!fine) throw std::invalid_argument("holdfast: " + message);
}

void require_positive(const char* name, Duration value) {
  require(value > Duration::zero(), std::string(name) + " is " + in_ms(value) + ", and must be above zero");
}

void require_not_negative(const char* name, Duration value) {
  require(value >= Duration::zero(),
          std::string(name) + " is " + in_ms(value) + ", and must be zero or more");
}

// Others wait for its end when a worker dies.
void require_lease(const char* name, Duration value) {
  require(value > Duration::zero() && value != never,
          std::string(name) + " is " + in_ms(value) +
              ", and must be above zero and not `never`: when a worker dies, " +
              "others take over its work at the end of its leases");
}

std::size_t slots_of(const RuntimeOptions& options) {
  if (options.activity_slots != 0) return options.activity_slots;
  return std::max<std::size_t>(4, std::thread::hardware_concurrency());
}

store::Abilities abilities_of(const RuntimeOptions& options, const Registry& registry) {
  store::Abilities abilities{.handlers = registry.activity_names(),
                             .queues = {.any = false, .names = {}},
                             .capabilities = {options.capabilities.begin(), options.capabilities.end()},
                             .session_limit = options.session_limit,
                             .session_lease = options.session_lease,
                             .session_idle = options.session_idle_timeout};
  for (const std::string& queue : options.queues) {
    if (queue == "*") {
      abilities.queues.any = true;
    } else {
      abilities.queues.names.insert(queue);
    }
  }
  return abilities;
}

std::string node_of(const RuntimeOptions& options, Random& random) {
  if (!options.node_id.empty()) return detail::checked_name("a node", options.node_id);
  return to_string(random_token<NodeToken>(random));
}

}  // namespace

void check_options(const RuntimeOptions& options) {
  detail::check_options("RuntimeOptions", options.retry);
  require_lease("activity_lease", options.activity_lease);
  require_lease("instance_lease", options.instance_lease);
  require_lease("session_lease", options.session_lease);
  require(
      options.session_lease >= kLeastSessionLease,
      "session_lease is " + in_ms(options.session_lease) + ", and must be " + in_ms(kLeastSessionLease) +
          " or more: it is renewed every third of it, and a worker that is late for that loses the session");
  require_lease("worker_stale_after", options.worker_stale_after);
  require_positive("turn_time_limit", options.turn_time_limit);
  require_positive("query_time_limit", options.query_time_limit);
  require_not_negative("hold_instances", options.hold_instances);
  require_not_negative("cancel_grace", options.cancel_grace);
  require_not_negative("cache_idle", options.cache_idle);
  require_not_negative("session_state_retention", options.session_state_retention);
  require_not_negative("session_record_retention", options.session_record_retention);
  require_not_negative("session_log_retention", options.session_log_retention);
  require_not_negative("session_take_back", options.session_take_back);
  require_not_negative("request_retention", options.request_retention);
  require(options.turn_threads >= 1, "turn_threads is 0, and must be at least 1");
  require(options.cached_instances >= 1, "cached_instances is 0, and must be at least 1");
  require(options.max_abandoned >= 1, "max_abandoned is 0, and must be at least 1");
  require(options.poison_after >= 1, "poison_after is 0, and must be at least 1");
  require(options.hold_instances < options.instance_lease,
          "hold_instances (" + in_ms(options.hold_instances) + ") must be below instance_lease (" +
              in_ms(options.instance_lease) + "): a lock can't be kept for longer than its lease");
  require(options.session_idle_timeout > options.activity_lease / 3,
          "session_idle_timeout (" + in_ms(options.session_idle_timeout) +
              ") must be above the renewal interval of activities, a third of activity_lease (" +
              in_ms(options.activity_lease / 3) + "): otherwise a running activity could lose its session");
  require(options.worker_stale_after > options.instance_lease,
          "worker_stale_after (" + in_ms(options.worker_stale_after) + ") must be above instance_lease (" +
              in_ms(options.instance_lease) + ")");
  for (const std::string& queue : options.queues) {
    if (!queue.empty()) static_cast<void>(detail::checked_name("a queue", queue));
  }
  for (const std::string& capability : options.capabilities) {
    static_cast<void>(detail::checked_name("a capability", capability));
  }
}

std::optional<std::string> problem_of(const store::SessionPolicy& policy, Duration activity_lease) {
  if (!policy.idle_timeout || *policy.idle_timeout > activity_lease / 3) return std::nullopt;
  return "its idle timeout (" + in_ms(*policy.idle_timeout) +
         ") must be above the renewal interval of activities, a third of activity_lease (" +
         in_ms(activity_lease / 3) + "): otherwise a running activity could lose its session";
}

namespace {

// As many as the code writes: they are its own.
void write_line(Logger& logger, const std::string& node, const engine::CodeLine& line) {
  if (!logger.enabled(line.level)) return;
  std::vector<LogField> fields{{"instance", line.instance},
                               {"orchestration", line.orchestration},
                               {"execution", line.execution.value}};
  fields.insert(fields.end(), line.fields.begin(), line.fields.end());
  cut_texts(fields);
  fields.push_back({"worker", node});
  logger.write({line.level, logger.clock().calendar_now(), line.message, fields});
}

}  // namespace

Settings::Settings(std::shared_ptr<Store> store_, RuntimeOptions options_, Registry registry_, Random& random)
    : store(std::make_shared<StoreGate>(std::move(store_))),
      options(std::move(options_)),
      node(node_of(options, random)),
      slots(slots_of(options)),
      registry(std::move(registry_)),
      homes(registry),
      abilities(abilities_of(options, registry)),
      code{.orchestrations = registry.orchestrations(), .newest_build = options.build},
      metrics(options.metrics ? options.metrics : std::make_shared<Metrics>()),
      counters(*metrics),
      user_logger(options.logger ? options.logger : stderr_logger()),
      logger(std::make_shared<WorkerLog>(user_logger, node, store->clock())),
      code_log([this](const engine::CodeLine& line) { write_line(*user_logger, node, line); }) {}

void Settings::note_damage(std::string_view what, const StoreError& error) const {
  if (error.kind != StoreError::Kind::damaged) return;
  counters.store_errors.add();
  log(*logger, LogLevel::error, "the store is damaged; what it concerns is given up, the rest goes on",
      {{"what", what}, {"error", error.message}});
}

}  // namespace holdfast::runtime
